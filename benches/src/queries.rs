//! A short query beside heavy ones, in our engine and in others: its latency when all threads are
//! busy.
//!
//! Each engine has the same rows, SQL and number of threads. `benches/queries.md` describes the
//! measurement.

mod clients;
mod load;
mod tables;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use columnar::TableSource;

use crate::THREADS;
use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome};
use crate::engine;
use crate::options::{Knob, Options};
use crate::peer::{self, ENGINES, OURS, Peer, Python};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};
use clients::Clients;
use load::{Load, Measured};
use tables::{Answers, Tables};

/// Time between two short queries.
const PACE: Duration = Duration::from_millis(50);
/// Seconds in which short queries become due, in a first look.
const SECONDS_QUICK: f64 = 2.0;
const SCALE_QUICK: f64 = 0.05;

/// Greatest ratio of our p99 to DuckDB's, by the number of heavy clients.
const AIMS: [(usize, f64); 2] = [(2, 0.6), (8, 0.4)];
const AIM_PEER: &str = "DuckDB";
/// Least ratio of heavy throughput beside the short query to that alone.
const HEAVY_KEPT: f64 = 0.95;

const PEERS: [(&str, &str); 4] = [
    ("duckdb", AIM_PEER),
    ("datafusion", "DataFusion"),
    ("datafusion-1024", "DataFusion, batches of 1,024"),
    ("polars", "Polars, streaming"),
];
const SCRIPT: &str = "short_beside_heavy.py";

/// Index of a column.
const P99: usize = 2;
const KEPT: usize = 9;

const KNOBS: &[Knob] = &[
    ENGINES,
    Knob::new("clients", "0,2,8", "numbers of clients with heavy queries"),
    Knob::new(
        "seconds",
        "20",
        "how long short queries become due, for each number of clients",
    ),
    Knob::new(
        "tables",
        "memory",
        "`files`: each query reads the tables' Parquet files",
    ),
];

pub(crate) struct Queries;

impl Bench for Queries {
    fn about(&self) -> &'static About {
        &About {
            name: "queries",
            question: "a short query beside heavy ones, here and in DuckDB, DataFusion and Polars",
            page: "benches/queries.md",
            plots: "queries",
            rounds: 2,
            knobs: KNOBS,
        }
    }

    fn peers(&self, options: &Options) -> Result<Vec<String>> {
        let peers = Python::new(options, SCRIPT).peers(&PEERS, options)?;
        Ok(peers.iter().map(Peer::versioned).collect())
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let python = Python::new(options, SCRIPT);
        let peers = python.peers(&PEERS, options)?;
        let setup = Rc::new(Setup::new(options, python)?);
        let clients: Vec<usize> = options.numbers("clients")?;
        let workload = |&clients: &usize| setup.workload(clients, &peers, options);
        Ok(clients.iter().map(workload).collect())
    }
}

struct Setup {
    tables: Vec<Arc<dyn TableSource>>,
    answers: Answers,
    python: Python,
    /// The peers' input.
    told: PathBuf,
    from_files: bool,
    seconds: f64,
    /// Holds the files for peers.
    _folder: tempfile::TempDir,
}

impl Setup {
    fn new(options: &Options, python: Python) -> Result<Self> {
        let (scale, seconds) = match options.quick {
            true => (SCALE_QUICK, SECONDS_QUICK),
            false => (1.0, options.number("seconds")?),
        };
        let from_files = match options.text("tables") {
            "memory" => false,
            "files" => true,
            other => anyhow::bail!("--tables takes `memory` or `files`, not {other:?}"),
        };
        let work = engine::work()?;
        let generated = Tables::generate(scale, &work)?;
        let answers = generated.answers()?;
        let folder = tempfile::tempdir()?;
        let told = generated.write_for_peers(folder.path(), &answers)?;
        let tables = if from_files {
            generated.written(folder.path(), &work)?
        } else {
            generated.loaded()
        };
        Ok(Self {
            tables,
            answers,
            python,
            told,
            from_files,
            seconds,
            _folder: folder,
        })
    }

    fn workload(self: &Rc<Self>, clients: usize, peers: &[Peer], options: &Options) -> Workload {
        let mut rows = Vec::new();
        if peer::is_wanted(options, OURS) {
            let setup = Rc::clone(self);
            rows.push(Contender::ours(OURS, move || {
                let setup = Rc::clone(&setup);
                move || setup.ours(clients)
            }));
        }
        for peer in peers {
            let (setup, peer) = (Rc::clone(self), peer.clone());
            rows.push(Contender::peer(peer.name, move || {
                let (setup, peer) = (Rc::clone(&setup), peer.clone());
                move || setup.peer(clients, &peer)
            }));
        }
        let has = |name: &str| rows.iter().any(|row| row.name == name);
        let mut targets = Vec::new();
        if has(OURS) && has(AIM_PEER) {
            let aim = AIMS.iter().find(|(heavy, _)| *heavy == clients);
            targets.extend(aim.map(|(_, at_most)| Target::at_most(*at_most, Of::Row(AIM_PEER)).column(P99)));
        }
        if has(OURS) && clients > 0 {
            targets.push(Target::at_least(HEAVY_KEPT, Of::Number(1.0)).column(KEPT));
        }
        Workload::new(
            format!("short query beside {clients} heavy clients"),
            format!(
                "A short query is due every {} ms for {} s, from when it was due to its answer, \
                 beside clients with heavy ones.",
                PACE.as_millis(),
                self.seconds
            ),
        )
        .columns([
            Column::percentile("p50, ms", 50.0),
            Column::percentile("p95, ms", 95.0),
            Column::percentile("p99, ms", 99.0),
            Column::percentile("max, ms", 100.0),
            Column::told("client woke late: p50", 0),
            Column::told("p99", 1),
            Column::told("not asked", 2),
            Column::told("heavy/s alone", 3),
            Column::gained("heavy/s beside", 4),
            Column::told("kept", 5),
        ])
        .cold()
        .rows(rows)
        .targets(targets)
        .elsewhere()
        .family(
            "short query beside heavy clients",
            "heavy clients",
            clients as f64,
        )
    }

    fn ours(&self, clients: usize) -> Result<Outcome> {
        let engine = Clients::new(self.tables.clone(), &self.answers)?;
        // Costs of the first time are not measured.
        engine.short()?;
        engine.heavy()?;
        let lasts = Duration::from_secs_f64(self.seconds);
        let (measured, phases) = load::run(
            &engine,
            Load {
                clients,
                pace: PACE,
                lasts,
            },
        )?;
        eprintln!("{}", load::where_time_went(&phases));
        Ok(measured.outcome())
    }

    fn peer(&self, clients: usize, peer: &Peer) -> Result<Outcome> {
        let pace_ms = PACE.as_millis();
        let mut words = format!(
            "--threads {THREADS} --seconds {} --pace-ms {pace_ms} --clients {clients}",
            self.seconds
        );
        words += if self.from_files { " --from-files" } else { "" };
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let mut measured: Vec<Measured> = self.python.run(peer, &self.told, &words)?;
        ensure!(
            measured.len() == 1,
            "{} told of {} loads",
            peer.name,
            measured.len()
        );
        Ok(measured.remove(0).outcome())
    }
}
