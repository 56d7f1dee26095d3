//! Filters over rows whose selectivity flips in the middle, beside the halves alone.
//!
//! ```text
//!   rows      first half                second half
//!   a < X     true for one in 100       true for all
//!   b < X     true for all              true for one in 100
//! ```
//!
//! Over a half, one order of the two conditions is best from its beginning to its end. No fixed order
//! of the whole is as fast as both halves together.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use arrow::array::{ArrayRef, AsArray as _, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use columnar::MemoryTable;
use query::QueryResult;

use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome};
use crate::engine::Engine;
use crate::options::Options;
use crate::peer::OURS;
use crate::random::Random;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const ROWS: usize = 16_000_000;
const ROWS_QUICK: usize = 200_000;
/// Runs of a query in a round.
const RUNS: usize = 9;

/// Values for each one that a selective condition keeps.
const ONE_IN: i64 = 100;
const BELOW: i64 = 1_000;

/// The greatest ratio of the time of the whole to that of its halves.
const AIM: f64 = 1.05;
const HALVES: &str = "one half, then the other";

pub(crate) struct Flipped;

impl Bench for Flipped {
    fn about(&self) -> &'static About {
        &About {
            name: "flipped",
            question: "filters over rows whose selectivity flips in the middle",
            page: "benches/flipped.md",
            plots: "",
            rounds: 5,
            knobs: &[],
        }
    }

    fn workloads(&self, options: &Options) -> Result<Vec<Workload>> {
        let rows = if options.quick { ROWS_QUICK } else { ROWS };
        let halves = [half(rows / 2, 0)?, half(rows / 2, 1)?];
        let whole = halves.to_vec();
        let counts = halves.each_ref().map(count);
        let ours = asking(OURS, vec![(whole, counts.iter().sum())]);
        let alone = halves
            .into_iter()
            .zip(counts)
            .map(|(half, count)| (vec![half], count));
        let apart = asking(HALVES, alone.collect());
        let story = format!(
            "{rows} rows in memory, {RUNS} runs a round behind one that is not counted. The time of \
             both halves is that of two queries, one after another."
        );
        let workload = Workload::new("selectivity that flips", story)
            .columns([Column::percentile("ms", 50.0)])
            .cold()
            .rows([ours, apart])
            .targets([Target::at_most(AIM, Of::Row(HALVES))]);
        Ok(vec![workload])
    }
}

/// Rows in which the condition on column `selective` keeps few.
fn half(rows: usize, selective: usize) -> Result<RecordBatch> {
    let mut random = Random::new(selective as u64);
    let mut column = |is_selective: bool| -> ArrayRef {
        let below = if is_selective { BELOW * ONE_IN } else { BELOW };
        let values = (0..rows).map(|_| random.below(below as u64) as i64);
        Arc::new(Int64Array::from_iter_values(values))
    };
    let columns = [
        ("a", column(selective == 0)),
        ("b", column(selective == 1)),
        ("v", column(false)),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn count(half: &RecordBatch) -> i64 {
    let [a, b] = [0, 1].map(|at| half.column(at).as_primitive::<Int64Type>().values());
    let is_kept = |(a, b): &(&i64, &i64)| **a < BELOW && **b < BELOW;
    a.iter().zip(b).filter(is_kept).count() as i64
}

/// Asks for the count of each table in turn.
fn asking(name: &'static str, tables: Vec<(Vec<RecordBatch>, i64)>) -> Contender {
    let is_ours = name == OURS;
    let start = move || {
        let engines: Result<Vec<(Engine, i64)>> = tables.iter().cloned().map(engine).collect();
        move || {
            let engines = engines.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
            let sql = format!("select count(*), sum(v) from t where a < {BELOW} and b < {BELOW}");
            let mut times_ms = Vec::new();
            for _ in 0..=RUNS {
                let start = Instant::now();
                for (engine, count) in engines {
                    let result = engine.run(&sql)?.result;
                    ensure!(first(&result) == *count, "another count than {count}");
                }
                times_ms.push(start.elapsed().as_secs_f64() * 1e3);
            }
            Ok(Outcome {
                samples: times_ms.split_off(1),
                ..Outcome::verified(Vec::new())
            })
        }
    };
    match is_ours {
        true => Contender::ours(name, start),
        false => Contender::baseline(name, start),
    }
}

fn engine((batches, count): (Vec<RecordBatch>, i64)) -> Result<(Engine, i64)> {
    let table = MemoryTable::try_new("t", batches[0].schema(), batches)?;
    Ok((Engine::new([Arc::new(table) as _])?, count))
}

fn first(result: &QueryResult) -> i64 {
    result.batches[0].column(0).as_primitive::<Int64Type>().value(0)
}
