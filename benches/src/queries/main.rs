//! A short query beside heavy ones, in our engine and in others: what its latency is when all threads are busy.
//!
//! `cargo xtask bench --queries` runs it. Engines take turns, round by round, each under the same loads with the same rows, the same
//! SQL and the same number of threads; every answer is compared with the known one. `benches/queries.md` says how it is measured and keeps
//! the latest figures.
//!
//! ```text
//!   workload ──► windlass ──► load ──► figures ──► report ──► terminal
//!   rows, SQL,      peer ── a script ────┘            └─────► page, plot
//!   answers
//! ```

mod figures;
mod load;
mod peer;
mod plot;
mod report;
mod windlass;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use benches::number::short;
use benches::peer::{Peer, Python};
use benches::{machine, program};
use lexopt::{Arg, ValueExt as _};
use query::pipeline_exec::PipelineExecutor;

use figures::{Figures, Measured, Percentiles};
use load::Load;
use peer::Loads;
use windlass::{Phases, Windlass};
use workload::Tables;

/// Threads that every engine gets.
const THREADS: usize = 2;
/// Time between two short queries.
const PACE: Duration = Duration::from_millis(50);
const SCALE: f64 = 1.0;

const ROUNDS: usize = 2;
const SECONDS: f64 = 20.0;
const SECONDS_QUICK: f64 = 4.0;
const CLIENTS: [usize; 3] = [0, 2, 8];

const USAGE: &str = "usage: queries [--rounds N] [--seconds S] [--quick] [--clients H,H] [--engine NAME]... [--from-files] \
[--python PROGRAM] [--write FOLDER]

  --rounds N        rounds of each engine, 1 or more (2)
  --seconds S       how long short queries become due, for each load (20)
  --quick           a first look: one round of 4 seconds
  --clients H,H     numbers of clients with heavy queries (0,2,8)
  --engine NAME     only this one, can be given more than once: windlass, duckdb, datafusion, datafusion-1024, polars
  --from-files      each query reads the tables' Parquet files; without it they are loaded beforehand
  --python PROGRAM  the Python that has the peers (python3)
  --write FOLDER    also write the generated part of queries.md and the plot in this folder; of all engines in full";

fn main() -> ExitCode {
    program::run(Options::read(lexopt::Parser::from_env()), USAGE, run)
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    rounds: usize,
    seconds: f64,
    clients: Vec<usize>,
    engines: Vec<String>,
    from_files: bool,
    python: PathBuf,
    folder: Option<PathBuf>,
}

impl Options {
    fn read(mut parser: lexopt::Parser) -> Result<Self, lexopt::Error> {
        let mut options = Self {
            rounds: ROUNDS,
            seconds: SECONDS,
            clients: CLIENTS.to_vec(),
            engines: Vec::new(),
            from_files: false,
            python: "python3".into(),
            folder: None,
        };
        let mut is_full = true;
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                Arg::Long("seconds") => options.seconds = parser.value()?.parse()?,
                Arg::Long("quick") => {
                    (options.rounds, options.seconds) = (1, SECONDS_QUICK);
                    is_full = false;
                }
                Arg::Long("clients") => {
                    options.clients = program::numbers("--clients", &parser.value()?.string()?)?;
                    is_full = false;
                }
                Arg::Long("engine") => {
                    options.engines.push(parser.value()?.string()?);
                    is_full = false;
                }
                Arg::Long("from-files") => {
                    options.from_files = true;
                    is_full = false;
                }
                Arg::Long("python") => options.python = parser.value()?.into(),
                Arg::Long("write") => options.folder = Some(parser.value()?.into()),
                other => return Err(other.unexpected()),
            }
        }
        if options.rounds == 0 {
            return Err("--rounds takes a number from 1 on".into());
        }
        if !(1.0..=3_600.0).contains(&options.seconds) {
            return Err("--seconds takes a number from 1 to 3600".into());
        }
        if options.folder.is_some() && !is_full {
            return Err("--write is for all engines and loads in full".into());
        }
        let known = |name: &String| name == report::OURS || peer::PEERS.iter().any(|(key, _)| key == name);
        if let Some(unknown) = options.engines.iter().find(|name| !known(name)) {
            return Err(format!("there is no engine {unknown:?}").into());
        }
        Ok(options)
    }

    fn asks_for(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.iter().any(|name| name == engine)
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let python = Python::new(&options.python, peer::SCRIPT);
    let (mut peers, missing) = python.peers(&peer::PEERS);
    peers.retain(|peer| options.asks_for(peer.key));
    if let Some(missing) = missing {
        eprintln!("{missing}");
    }
    eprintln!("generating TPC-H rows at scale {SCALE}");
    let executor = PipelineExecutor::new(THREADS)?;
    let generated = Tables::generate(SCALE, &executor)?;
    let answers = generated.answers()?;
    let folder = tempfile::tempdir()?;
    let workload = generated.write_for_peers(folder.path(), &answers)?;
    let tables = if options.from_files {
        generated.written(folder.path(), &executor)?
    } else {
        generated.loaded()
    };
    drop((generated, executor));
    let loads = Loads {
        clients: &options.clients,
        threads: THREADS,
        seconds: options.seconds,
        pace_ms: PACE.as_secs_f64() * 1e3,
        from_files: options.from_files,
    };

    let mut measured: Vec<(&str, Measured)> = Vec::new();
    let mut phases: Vec<(usize, Vec<Phases>)> = Vec::new();
    for round in 1..=options.rounds {
        if options.asks_for(report::OURS) {
            eprintln!("round {round}: {}", report::OURS);
            let windlass = Windlass::new(tables.clone(), &answers, THREADS)?;
            windlass.short()?;
            windlass.heavy()?;
            for &clients in &options.clients {
                let load = Load {
                    clients,
                    pace: PACE,
                    lasts: Duration::from_secs_f64(options.seconds),
                };
                let (one, more) = load::run(&windlass, load)?;
                measured.push((report::OURS, one));
                phases.push((clients, more));
            }
        }
        for peer in &peers {
            eprintln!("round {round}: {} {}", peer.name, peer.version);
            let all = peer::run(&python, peer, &workload, &loads)?;
            measured.extend(all.into_iter().map(|one| (peer.name, one)));
        }
    }

    let figures = summed_up(&measured);
    println!("{}", report::markdown(&figures));
    println!("{}", phase_table(&options.clients, &phases));
    if let Some(folder) = &options.folder {
        report::write(folder, &figures, &about(options, &peers)?)?;
    }
    Ok(())
}

/// The figures of each engine and load, in the order in which they were first measured.
fn summed_up(measured: &[(&str, Measured)]) -> Vec<Figures> {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    for (engine, one) in measured {
        if !keys.contains(&(engine, one.clients)) {
            keys.push((engine, one.clients));
        }
    }
    let figures = keys.into_iter().filter_map(|(engine, clients)| {
        let rounds = measured
            .iter()
            .filter(|(name, one)| *name == engine && one.clients == clients);
        Figures::of(engine, &rounds.map(|(_, one)| one).collect::<Vec<_>>())
    });
    figures.collect()
}

/// Where the time of our short query went.
fn phase_table(clients: &[usize], phases: &[(usize, Vec<Phases>)]) -> String {
    type Phase = (&'static str, fn(&Phases) -> Duration);
    const PHASES: [Phase; 5] = [
        ("plan", |phases| phases.plan),
        ("submit", |phases| phases.submit),
        ("wait for a worker", |phases| phases.wait),
        ("run", |phases| phases.run),
        ("wake the client", |phases| phases.wake),
    ];
    let mut text = "where our short query's time goes, ms: p50 / p99 / max\n\n| phase |".to_owned();
    for heavy in clients {
        text += &format!(" H = {heavy} |");
    }
    text += &format!("\n|---|{}\n", "--:|".repeat(clients.len()));
    for (name, phase) in PHASES {
        text += &format!("| {name} |");
        for heavy in clients {
            let all = phases.iter().filter(|(clients, _)| clients == heavy);
            let times = all.flat_map(|(_, phases)| phases).map(phase);
            let cell = Percentiles::of(times.map(|time| time.as_secs_f64() * 1e3).collect());
            let cell = cell.map_or_else(
                || "–".to_owned(),
                |at| format!("{} / {} / {}", short(at.p50), short(at.p99), short(at.max)),
            );
            text += &format!(" {cell} |");
        }
        text.push('\n');
    }
    text
}

/// When, where and with what a run was made.
fn about(options: &Options, peers: &[Peer]) -> anyhow::Result<String> {
    let versions: Vec<String> = peers
        .iter()
        .map(|peer| format!("{} {}", peer.name, peer.version))
        .collect();
    Ok(format!(
        "{}, {}, {} cores, {THREADS} threads each, {} rounds of {} s for each load, `cargo xtask bench --queries --write`. Peers: {}.",
        machine::date(),
        machine::processor(),
        std::thread::available_parallelism()?,
        options.rounds,
        options.seconds,
        if versions.is_empty() {
            "none".to_owned()
        } else {
            versions.join("; ")
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, lexopt::Error> {
        Options::read(lexopt::Parser::from_args(words))
    }

    #[test]
    fn only_a_run_of_everything_in_full_is_written() {
        let full = read(&["--write", "benches", "--rounds", "3"]).unwrap();
        assert_eq!((full.rounds, full.seconds), (3, SECONDS));
        for narrowed in [
            &["--quick"][..],
            &["--clients", "0,2"],
            &["--engine", "duckdb"],
            &["--from-files"],
        ] {
            assert!(read(narrowed).is_ok(), "{narrowed:?}");
            assert!(
                read(&[narrowed, &["--write", "benches"]].concat()).is_err(),
                "{narrowed:?}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            &["--rounds", "0"][..],
            &["--seconds", "0"],
            &["--clients", "two"],
            &["--engine", "abacus"],
            &["more"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rounds_of_an_engine_under_a_load_come_together() {
        let one = |clients: usize, latency: f64| Measured {
            clients,
            latencies_ms: vec![latency],
            ..Measured::default()
        };
        let measured = [
            ("a", one(0, 1.0)),
            ("a", one(2, 2.0)),
            ("b", one(0, 3.0)),
            ("a", one(0, 4.0)),
        ];
        let figures = summed_up(&measured);
        let keys: Vec<_> = figures
            .iter()
            .map(|one| (one.engine.as_str(), one.clients, one.p99_by_round.len()))
            .collect();
        assert_eq!(keys, [("a", 0, 2), ("a", 2, 1), ("b", 0, 1)]);
    }
}
