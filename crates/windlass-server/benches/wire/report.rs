//! The figures of all engines in one table.

use paced_load::percentile::at;
use paced_load::{Load, Measured, Rounds};

use crate::engine::{Kind, Tables};
use crate::options::Options;

/// Aims for windlass-server's 99th percentile, in milliseconds.
const AIM_MEMORY: f64 = 15.0;
const AIM_PARQUET: f64 = 25.0;
const AIM_NODES: f64 = 40.0;

/// Aim for its heavy queries over several machines, as a part of plain DataFusion's.
const AIM_HEAVY: f64 = 0.95;

pub(crate) struct Table {
    rows: Vec<Row>,
    title: String,
    nodes: usize,
}

struct Row {
    kind: Kind,
    tables: Tables,
    rounds: Rounds,
}

impl Table {
    pub(crate) fn new(load: &Load, options: &Options) -> Self {
        let title = format!(
            "{} workers, {} connections with heavy queries, {} idle, a short query each {} ms for {} s: {}",
            options.nodes,
            load.clients,
            options.idle,
            load.pace.as_millis(),
            load.lasts.as_secs_f64(),
            load.short
        );
        Self {
            rows: Vec::new(),
            title,
            nodes: options.nodes,
        }
    }

    /// Adds a round, and prints it.
    pub(crate) fn add(&mut self, kind: Kind, tables: Tables, measured: Measured) {
        let same = |row: &&mut Row| row.kind == kind && row.tables == tables;
        let row = Row {
            kind,
            tables,
            rounds: measured.clone().into(),
        };
        eprintln!("{}", row.cells());
        match self.rows.iter_mut().find(same) {
            Some(row) => row.rounds.add(measured),
            None => self.rows.push(row),
        }
    }

    pub(crate) fn print_all(&self) {
        println!("{}\n", self.title);
        println!(
            "| engine | tables | p50, ms | p95 | p99 | of rounds | max | asked, not | client woke late, p99 | heavy a second | by kind | CPU / wall |"
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
        for row in &self.rows {
            println!("{}", row.cells());
        }
        println!();
        for row in self.rows.iter().filter(|row| row.kind == Kind::Windlass) {
            let (aim, place) = match (self.nodes, row.tables) {
                (0, Tables::Memory) => (AIM_MEMORY, "in memory"),
                (0, Tables::Parquet) => (AIM_PARQUET, "over Parquet"),
                _ => (AIM_NODES, "over several machines"),
            };
            let p99 = at(&row.rounds.latencies(), 0.99);
            let judged = if p99 <= aim { "met" } else { "missed" };
            println!("- windlass {place}, p99 ≤ {aim} ms: {p99:.2} ms, **{judged}**");
        }
        if self.nodes > 0 {
            self.print_heavy();
        }
    }
}

impl Table {
    fn print_heavy(&self) {
        let heavy = |kind| {
            self.rows
                .iter()
                .find(|row| row.kind == kind)
                .map(|row| row.rounds.heavy_rate())
        };
        if let (Some(ours), Some(plain)) = (heavy(Kind::Windlass), heavy(Kind::Plain)) {
            let part = ours / plain;
            let judged = if part >= AIM_HEAVY { "met" } else { "missed" };
            println!("- heavy queries ≥ {AIM_HEAVY} × plain's: {part:.2} ×, **{judged}**");
        }
    }
}

impl Row {
    fn cells(&self) -> String {
        let (latencies, wakes) = (self.rounds.latencies(), self.rounds.wakes());
        let tables = match (self.kind, self.tables) {
            (Kind::Postgres, _) => "its own",
            (_, Tables::Memory) => "memory",
            (_, Tables::Parquet) => "Parquet",
        };
        format!(
            "| {} | {tables} | {:.2} | {:.2} | {:.2} | {} | {:.2} | {}, {} | {:.2} | {:.2} | {} | {:.2} |",
            self.kind.name(),
            at(&latencies, 0.5),
            at(&latencies, 0.95),
            at(&latencies, 0.99),
            self.rounds.p99s(),
            at(&latencies, 1.0),
            latencies.len(),
            self.rounds.unasked(),
            at(&wakes, 0.99),
            self.rounds.heavy_rate(),
            self.rounds.heavy_rates(),
            self.rounds.cpus(),
        )
    }
}
