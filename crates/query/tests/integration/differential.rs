//! Generated queries over small tables full of NULLs, against an evaluator that goes row by row.
//!
//! Every query runs with 1, 2, 3 and 8 threads; answers agree to the bit with each other, and by
//! value with the evaluator's. A failure prints the seed, which runs again by:
//!
//! ```text
//! WINDLASS_DIFFERENTIAL_SEED=17 cargo test -p query --test integration differential
//! ```

mod aggregates;
mod drawn_file;
pub(crate) mod generator;
mod reference;
pub(crate) mod tiny_table;

use columnar::AggregateFunction;
use query::QueryError;

use self::aggregates::FUNCTIONS;
use self::generator::Case;
use self::reference::{DivisionByZero, Fault, answer};
use crate::folder::Folder;
use crate::inputs::open;
use crate::run::{assert_same_bits, catalog, executors, query, rows};

const QUERIES: u64 = 400;
const FILES: u64 = 2_000;

#[test]
fn generated_queries_agree_with_a_row_at_a_time_evaluator() {
    let executors = executors();
    let replay = std::env::var("WINDLASS_DIFFERENTIAL_SEED")
        .ok()
        .map(|seed| seed.parse().expect("a seed"));
    let seeds = replay.map_or(0..QUERIES, |seed: u64| seed..seed + 1);
    let (mut answered, mut failed) = (0, 0);
    for seed in seeds {
        let case = Case::generate(seed);
        let what = format!("seed {seed}: {}", case.sql);
        let tables = catalog(case.source());
        let mut outcomes = executors
            .iter()
            .map(|executor| query(&case.sql, &tables, executor));
        let first = outcomes.next().expect("one executor at least");
        match (answer(&case.sql, &case.table, Fault::None), &first) {
            (Ok(expected), Ok(result)) => {
                assert_eq!(rows(result), expected, "{what}");
                answered += 1;
            }
            (Err(DivisionByZero), Err(QueryError::DivisionByZero { .. })) => failed += 1,
            (expected, found) => panic!("{what}\nexpected {expected:?}\nfound {found:?}"),
        }
        for outcome in outcomes {
            match (&first, outcome) {
                (Ok(first), Ok(other)) => assert_same_bits(first, &other, &what),
                (Err(first), Err(other)) => assert_eq!(first.to_string(), other.to_string(), "{what}"),
                (first, other) => panic!("{what}\none thread: {first:?}\nmore: {other:?}"),
            }
        }
    }
    if replay.is_none() {
        assert!(
            answered > QUERIES * 9 / 10 && failed > 0,
            "{answered} answered, {failed} divided by zero"
        );
    }
}

#[test]
fn generated_queries_over_generated_files_agree_with_a_row_at_a_time_evaluator() {
    let executor = &executors()[1];
    let folder = Folder::new();
    for seed in 0..FILES {
        let case = Case::generate(seed);
        let path = case.file(folder.root());
        let what = format!("seed {seed}: {}", case.sql);
        let table = open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
        let result = query(&case.sql, &catalog(table), executor);
        match (answer(&case.sql, &case.table, Fault::None), result) {
            (Ok(expected), Ok(result)) => assert_eq!(rows(&result), expected, "{what}"),
            (Err(DivisionByZero), Err(QueryError::DivisionByZero { .. })) => {}
            (expected, found) => panic!("{what}\nexpected {expected:?}\nfound {found:?}"),
        }
    }
}

#[test]
fn every_aggregate_function_is_drawn() {
    for name in AggregateFunction::names() {
        assert!(FUNCTIONS.iter().any(|row| row.0 == name), "{name} has no row");
    }
}

#[test]
fn the_comparison_finds_planted_faults() {
    let executor = &executors()[1];
    for fault in [Fault::NotOfNullIsTrue, Fault::EmptySumIsZero] {
        let found = (0..QUERIES).find(|&seed| {
            let case = Case::generate(seed);
            let result = query(&case.sql, &catalog(case.source()), executor);
            match (answer(&case.sql, &case.table, fault), result) {
                (Ok(expected), Ok(result)) => rows(&result) != expected,
                _ => false,
            }
        });
        assert!(found.is_some(), "no query tells {fault:?} from the truth");
    }
}
