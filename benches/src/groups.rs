//! GROUP BY with few and with many groups, evenly spread and with one hot key, in our engine and in
//! others.
//!
//! Engines have the same rows in memory, SQL and number of threads. A query keeps about a hundred
//! groups with the largest sums, so that it measures grouping and not how rows reach Python.

mod rows;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use columnar::TableSource;
use query::QueryResult;
use serde::Deserialize;

use crate::THREADS;
use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome};
use crate::engine::Engine;
use crate::options::Options;
use crate::peer::{self, ENGINES, OURS, Python};
use crate::workload::{Column, Workload};
use rows::{Query, Rows};

/// Runs of a query in a round.
const RUNS: usize = 5;
/// About as many rows as `lineitem` has at scale 1.
const ROWS: usize = 6_000_000;
const ROWS_QUICK: usize = 60_000;

const PEERS: [(&str, &str); 3] = [
    ("duckdb", "DuckDB"),
    ("datafusion", "DataFusion"),
    ("polars", "Polars, streaming"),
];
const SCRIPT: &str = "group_by.py";

pub(crate) struct Groups;

#[derive(Debug, Deserialize)]
struct Measured {
    times_ms: Vec<f64>,
}

impl Bench for Groups {
    fn about(&self) -> &'static About {
        &About {
            name: "groups",
            question: "GROUP BY of keys of many kinds, here and in DuckDB, DataFusion and Polars",
            page: "benches/groups.md",
            plots: "",
            rounds: 3,
            knobs: &[ENGINES],
        }
    }

    fn peers(&self, options: &Options) -> Result<Vec<String>> {
        let peers = Python::new(options, SCRIPT).peers(&PEERS, options)?;
        Ok(peers.iter().map(peer::Peer::versioned).collect())
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let python = Python::new(options, SCRIPT);
        let peers = python.peers(&PEERS, options)?;
        let count = if options.quick { ROWS_QUICK } else { ROWS };
        let rows = Rows::new(count)?;
        let folder = Rc::new(tempfile::tempdir()?);
        let mut workloads = Vec::new();
        for (number, query) in rows.queries.iter().enumerate() {
            let mut contenders = Vec::new();
            if peer::is_wanted(options, OURS) {
                contenders.push(ours(Arc::clone(&rows.table) as _, query));
            }
            if !peers.is_empty() {
                let told = Rc::new(rows.write(query, &folder.path().join(number.to_string()))?);
                for peer in peers.clone() {
                    let (python, told, folder) = (python.clone(), Rc::clone(&told), Rc::clone(&folder));
                    let arguments = ["--threads", &THREADS.to_string(), "--runs", &RUNS.to_string()];
                    let arguments = arguments.map(str::to_owned);
                    let row = Contender::peer(peer.name, move || {
                        let (python, peer, told) = (python.clone(), peer.clone(), Rc::clone(&told));
                        let (arguments, folder) = (arguments.clone(), Rc::clone(&folder));
                        move || {
                            ensure!(folder.path().exists(), "the peers' files are gone");
                            let mut all: Vec<Measured> = python.run(&peer, &told, &arguments)?;
                            ensure!(all.len() == 1, "{} told of {} queries", peer.name, all.len());
                            Ok(measured(all.remove(0).times_ms))
                        }
                    });
                    contenders.push(row);
                }
            }
            let story = format!(
                "{count} rows in memory, {RUNS} runs a round behind one that is not counted. The \
                 median of all; in brackets that of the least and of the greatest round."
            );
            let workload = Workload::new(format!("GROUP BY: {}", query.name), story)
                .columns([Column::percentile("ms", 50.0)])
                .cold()
                .rows(contenders)
                .elsewhere()
                .pivot("GROUP BY", "groups", query.name, &[0]);
            workloads.push(workload);
        }
        Ok(workloads)
    }
}

fn ours(table: Arc<dyn TableSource>, query: &Query) -> Contender {
    let query = query.clone();
    Contender::ours(OURS, move || {
        let (engine, query) = (Engine::new([Arc::clone(&table)]), query.clone());
        move || {
            let engine = engine.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
            let mut times_ms = Vec::new();
            for _ in 0..=RUNS {
                let start = Instant::now();
                let result = engine.run(&query.sql)?.result;
                times_ms.push(start.elapsed().as_secs_f64() * 1e3);
                ensure!(
                    answer(&result) == query.answer,
                    "{} gave another answer",
                    query.name
                );
            }
            Ok(measured(times_ms.split_off(1)))
        }
    })
}

fn measured(times_ms: Vec<f64>) -> Outcome {
    Outcome {
        samples: times_ms,
        ..Outcome::verified(Vec::new())
    }
}

fn answer(result: &QueryResult) -> Vec<[i64; 3]> {
    let mut rows = Vec::new();
    for batch in &result.batches {
        let column = |column: usize| batch.column(column).as_primitive::<Int64Type>().values();
        rows.extend((0..batch.num_rows()).map(|row| [0, 1, 2].map(|at| column(at)[row])));
    }
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_answers_are_those_of_the_plain_loop_and_another_is_an_error() {
        let rows = Rows::new(ROWS_QUICK).unwrap();
        assert_eq!(rows.queries.len(), 9);
        let run = |query: &Query| ours(Arc::clone(&rows.table) as _, query).start()();
        for query in &rows.queries {
            assert_eq!(run(query).unwrap().samples.len(), RUNS);
        }
        let mut wrong = rows.queries[0].clone();
        wrong.answer[0][1] += 1;
        assert!(run(&wrong).is_err());
    }
}
