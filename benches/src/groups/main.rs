//! GROUP BY with few and with many groups, evenly spread and with one hot key, in our engine and in others.
//!
//! `cargo xtask bench --groups` runs it. Engines take turns, round by round, each in a process of its own but for ours, with the same rows in memory, the same SQL
//! and the same number of threads. A query keeps the groups with the largest sums, about a hundred, so that what is measured is the
//! grouping and not how rows reach Python; its answer is compared with that of a plain loop.

mod workload;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use benches::generated;
use benches::number::short;
use benches::peer::{Peer, Python};
use benches::{machine, program};
use lexopt::{Arg, ValueExt as _};
use query::pipeline_exec::PipelineExecutor;
use query::{Catalog, PipelineBuilder, QueryPlanner};
use serde::Deserialize;

use workload::{Query, Workload};

const THREADS: usize = 2;
const ROUNDS: usize = 3;
/// Runs of each query in a round.
const RUNS: usize = 5;
const OURS: &str = "windlass";
const PEERS: [(&str, &str); 3] = [
    ("duckdb", "DuckDB"),
    ("datafusion", "DataFusion"),
    ("polars", "Polars, streaming"),
];

const USAGE: &str = "usage: groups [FILTER] [--rounds N] [--runs N] [--threads N] [--rows N] [--engine NAME]... [--python PROGRAM] [--write FOLDER]

  FILTER            only queries whose name has this in it
  --rounds N        rounds of each engine (3)
  --runs N          runs of each query in a round, behind one that is not counted (5)
  --threads N       threads of each engine (2)
  --rows N          rows of the table (6000000)
  --engine NAME     only this one, can be given more than once: windlass, duckdb, datafusion, polars
  --python PROGRAM  the Python that has the peers (python3)
  --write FOLDER    also put the figures into groups.md of this folder; of all queries and engines
  --explain         also print how our engine ran each query";

fn main() -> ExitCode {
    program::run(Options::read(lexopt::Parser::from_env()), USAGE, run)
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    filter: String,
    rounds: usize,
    runs: usize,
    threads: usize,
    rows: usize,
    engines: Vec<String>,
    python: PathBuf,
    explains: bool,
    write: Option<PathBuf>,
}

impl Options {
    fn read(mut parser: lexopt::Parser) -> Result<Self, lexopt::Error> {
        let mut options = Self {
            filter: String::new(),
            rounds: ROUNDS,
            runs: RUNS,
            threads: THREADS,
            rows: workload::ROWS,
            engines: Vec::new(),
            python: "python3".into(),
            explains: false,
            write: None,
        };
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                Arg::Long("runs") => options.runs = parser.value()?.parse()?,
                Arg::Long("threads") => options.threads = parser.value()?.parse()?,
                Arg::Long("rows") => options.rows = parser.value()?.parse()?,
                Arg::Long("engine") => options.engines.push(parser.value()?.string()?),
                Arg::Long("python") => options.python = parser.value()?.into(),
                Arg::Long("write") => options.write = Some(parser.value()?.into()),
                Arg::Long("explain") => options.explains = true,
                Arg::Value(filter) if options.filter.is_empty() => options.filter = filter.string()?,
                other => return Err(other.unexpected()),
            }
        }
        if [options.rounds, options.runs, options.threads, options.rows].contains(&0) {
            return Err("a number is 0, and should be 1 or more".into());
        }
        if options.write.is_some() && !(options.filter.is_empty() && options.engines.is_empty()) {
            return Err("--write is for all queries and engines".into());
        }
        let known = |name: &String| name == OURS || PEERS.iter().any(|(key, _)| key == name);
        if let Some(unknown) = options.engines.iter().find(|name| !known(name)) {
            return Err(format!("there is no engine {unknown:?}").into());
        }
        Ok(options)
    }

    fn asks_for(&self, engine: &str) -> bool {
        self.engines.is_empty() || self.engines.iter().any(|name| name == engine)
    }
}

/// The times of one query on one engine in one round. Peers print it as a line of JSON.
#[derive(Debug, Deserialize)]
struct Measured {
    name: String,
    times_ms: Vec<f64>,
}

fn run(options: &Options) -> anyhow::Result<()> {
    let python = Python::new(&options.python, "group_by.py");
    let (mut peers, missing) = python.peers(&PEERS);
    peers.retain(|peer| options.asks_for(peer.key));
    if let Some(missing) = missing {
        eprintln!("{missing}");
    }
    eprintln!("making {} rows", options.rows);
    let workload = Workload::new(options.rows, &options.filter)?;
    ensure!(
        !workload.queries.is_empty(),
        "no query is called {:?}",
        options.filter
    );
    let folder = tempfile::tempdir()?;
    let told = match peers.as_slice() {
        [] => PathBuf::new(),
        _ => workload.write(folder.path())?,
    };
    let arguments: Vec<OsString> = vec![
        "--threads".into(),
        options.threads.to_string().into(),
        "--runs".into(),
        options.runs.to_string().into(),
    ];
    let mut times: BTreeMap<(String, &str), Vec<f64>> = BTreeMap::new();
    for round in 1..=options.rounds {
        let mut keep = |engine, all: Vec<Measured>| {
            for one in all {
                times.entry((one.name, engine)).or_default().extend(one.times_ms);
            }
        };
        if options.asks_for(OURS) {
            eprintln!("round {round}: {OURS}");
            keep(OURS, ours(&workload, options, round == 1 && options.explains)?);
        }
        for peer in &peers {
            eprintln!("round {round}: {} {}", peer.name, peer.version);
            keep(peer.name, python.run(peer, &told, arguments.clone())?);
        }
    }
    let text = format!(
        "{} rows, {} threads, {}, {} rounds of {} runs, {}\n\n{}",
        options.rows,
        options.threads,
        machine::processor(),
        options.rounds,
        options.runs,
        machine::date(),
        table(&workload.queries, &peers, &times)
    );
    println!("{text}");
    if let Some(folder) = &options.write {
        ensure!(
            peers.len() == PEERS.len(),
            "not all peers are there, so nothing is written"
        );
        generated::write(
            &folder.join("groups.md"),
            "cargo xtask bench --groups --write",
            &text,
        )?;
    }
    Ok(())
}

/// All queries on our engine.
fn ours(workload: &Workload, options: &Options, explains: bool) -> anyhow::Result<Vec<Measured>> {
    let executor = PipelineExecutor::new(options.threads)?;
    let mut tables = Catalog::new();
    tables.register(workload.table.clone())?;
    let mut measured = Vec::new();
    for query in &workload.queries {
        let mut times_ms = Vec::new();
        for at in 0..=options.runs {
            let start = Instant::now();
            let plan = QueryPlanner::plan(&query.sql, &tables)?;
            let (job, run) = PipelineBuilder::new(plan).build();
            let report = executor.submit(job).context("the executor took no job")?.wait()?;
            times_ms.push(start.elapsed().as_secs_f64() * 1e3);
            if explains && at == options.runs {
                println!("{}\n{}{}", query.name, run.explain(), run.statistics(&report));
            }
            let mut rows = Vec::new();
            for batch in &report.output.batches {
                let column = |column: usize| batch.column(column).as_primitive::<Int64Type>().values();
                rows.extend((0..batch.num_rows()).map(|row| [0, 1, 2].map(|at| column(at)[row])));
            }
            rows.sort_unstable();
            ensure!(rows == query.answer, "{} gave another answer", query.name);
        }
        measured.push(Measured {
            name: query.name.to_owned(),
            times_ms: times_ms.split_off(1),
        });
    }
    Ok(measured)
}

/// A row for each query: medians with the spread, and ours as a ratio to the best peer.
fn table(queries: &[Query], peers: &[Peer], times: &BTreeMap<(String, &str), Vec<f64>>) -> String {
    let mut text = format!("| groups | {OURS} |");
    for peer in peers {
        text += &format!(" {} {} |", peer.name, peer.version);
    }
    text += &format!(" ratio to the best |\n|---|{}\n", "--:|".repeat(peers.len() + 2));
    for query in queries {
        text += &format!("| {} |", query.name);
        let mut medians = Vec::new();
        for engine in std::iter::once(OURS).chain(peers.iter().map(|peer| peer.name)) {
            let Some(times) = times.get(&(query.name.to_owned(), engine)) else {
                text += " – |";
                medians.push(None);
                continue;
            };
            let mut times = times.clone();
            times.sort_by(f64::total_cmp);
            let median = times[times.len() / 2];
            medians.push(Some(median));
            text += &format!(
                " {} ({} – {}) |",
                short(median),
                short(times[0]),
                short(times[times.len() - 1])
            );
        }
        let best = medians[1..].iter().flatten().copied().min_by(f64::total_cmp);
        match (medians[0], best) {
            (Some(ours), Some(best)) => text += &format!(" {} |\n", short(ours / best)),
            _ => text += " – |\n",
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_answers_are_those_of_the_plain_loop() {
        let options = Options::read(lexopt::Parser::from_args(["--rows", "60000", "--runs", "1"])).unwrap();
        let workload = Workload::new(options.rows, "").unwrap();
        assert_eq!(
            ours(&workload, &options, false).unwrap().len(),
            workload.queries.len()
        );
        let mut wrong = workload;
        wrong.queries[0].answer[0][1] += 1;
        assert!(ours(&wrong, &options, false).is_err());
    }

    #[test]
    fn a_table_has_the_ratio_to_the_best_peer() {
        let peer = |name| Peer {
            key: name,
            name,
            version: "1".to_owned(),
        };
        let times = [("a", OURS, 3.0), ("a", "X", 2.0), ("a", "Y", 1.5)];
        let times = times.map(|(query, engine, ms)| ((query.to_owned(), engine), vec![ms]));
        let query = Query {
            name: "a",
            sql: String::new(),
            answer: vec![],
        };
        let text = table(&[query], &[peer("X"), peer("Y")], &times.into());
        assert!(text.ends_with("| 2.00 |\n"), "{text}");
    }
}
