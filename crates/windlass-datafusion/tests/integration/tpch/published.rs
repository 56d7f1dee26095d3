//! Published answers to the 22 queries.

use std::env;
use std::fs;
use std::path::PathBuf;

use super::queries::Query;
use crate::rows::{Rows, assert_same};

/// Absolute or as a fraction: the kit rounds answers to two places, and their quotients earlier.
const TOLERANCE: f64 = 0.01;
const TOLERANCE_PART: f64 = 1e-6;

/// The kit cuts off its longest answers there.
const LIMIT: usize = 100;

pub(crate) trait Published {
    fn scale(&self) -> f64;

    fn assert_answer(&self, query: Query, answer: &Rows, what: &str);
}

#[derive(Debug)]
pub(crate) struct AtTenth;

impl Published for AtTenth {
    fn scale(&self) -> f64 {
        0.1
    }

    fn assert_answer(&self, query: Query, answer: &Rows, what: &str) {
        assert_same(&query.published(), &answer.text_to_12_digits(), what);
    }
}

/// The TPC's kit, at scale 1: files `qN.out` with a line of names, then a line per row.
#[derive(Debug)]
pub(crate) struct AtOne {
    folder: PathBuf,
}

impl AtOne {
    /// From the folder named by the variable `WINDLASS_TPCH_ANSWERS`.
    pub(crate) fn from_environment() -> Self {
        let folder = env::var_os("WINDLASS_TPCH_ANSWERS").expect("WINDLASS_TPCH_ANSWERS names a folder");
        Self {
            folder: folder.into(),
        }
    }
}

impl Published for AtOne {
    fn scale(&self) -> f64 {
        1.0
    }

    fn assert_answer(&self, query: Query, answer: &Rows, what: &str) {
        let number = query.name().trim_start_matches(['Q', '0']);
        let file = self.folder.join(format!("q{number}.out"));
        let published =
            fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let published: Vec<Vec<&str>> = published
            .lines()
            .skip(1)
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        let found = answer.cells();
        // Limits here differ from those of the specification, so only the first rows agree.
        let limited = (query.sql().contains("limit") || published.len() == LIMIT) && !found.is_empty();
        assert!(
            found.len() == published.len() || limited,
            "{what}: {} rows, not {}",
            found.len(),
            published.len()
        );
        for (number, (found, published)) in found.iter().zip(&published).enumerate() {
            let same = found.len() == published.len()
                && found
                    .iter()
                    .zip(published)
                    .all(|(found, published)| is_same(found, published));
            assert!(same, "{what}, row {number}: {found:?}, not {published:?}");
        }
    }
}

fn is_same(found: &str, published: &str) -> bool {
    let near = || {
        let (found, published): (f64, f64) = (found.parse().ok()?, published.parse().ok()?);
        Some((found - published).abs() < TOLERANCE.max(TOLERANCE_PART * published.abs()))
    };
    found.trim() == published || near() == Some(true)
}
