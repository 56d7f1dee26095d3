//! The answers of all engines, which are equal.

use std::collections::HashMap;

use tokio_postgres::SimpleQueryMessage;

use crate::clients;
use crate::engine::Running;

/// Relative difference of two decimal numbers that counts as none.
const TOLERANCE: f64 = 1e-4;

/// Answers of the first engine that was asked.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: HashMap<&'static str, Vec<Vec<String>>>,
}

impl Answers {
    /// Asks `engine` each query, and compares.
    ///
    /// # Errors
    ///
    /// If an answer is another than before, or an error.
    pub(crate) fn compare(
        &mut self,
        engine: &Running,
        queries: impl Iterator<Item = &'static str>,
    ) -> anyhow::Result<()> {
        let runtime = clients::runtime()?;
        runtime.block_on(async {
            let client = clients::connect(engine).await?;
            for sql in queries {
                let messages = client.simple_query(sql).await?;
                let found = sorted(clients::rows(&messages));
                let expected = self.known.entry(sql).or_insert_with(|| found.clone());
                anyhow::ensure!(
                    are_equal(expected, &found),
                    "{} answers {sql} otherwise: {found:?}, not {expected:?}",
                    engine.kind.name()
                );
            }
            Ok(())
        })
    }

    /// # Errors
    ///
    /// If these rows are not the known answer.
    pub(crate) fn ensure_right(&self, sql: &str, messages: &[SimpleQueryMessage]) -> anyhow::Result<()> {
        let found = sorted(clients::rows(messages));
        let is_right = self.known.get(sql).is_some_and(|known| are_equal(known, &found));
        anyhow::ensure!(is_right, "a wrong answer to {sql}: {found:?}");
        Ok(())
    }
}

/// Sorted by what is no number with a point: names, keys and counts.
fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort_by_cached_key(|row| {
        let keys = row.iter().filter(|text| !is_decimal(text));
        keys.cloned().collect::<Vec<_>>()
    });
    rows
}

fn is_decimal(text: &str) -> bool {
    text.contains('.') && text.parse::<f64>().is_ok()
}

fn are_equal(some: &[Vec<String>], others: &[Vec<String>]) -> bool {
    let rows = || some.iter().zip(others);
    some.len() == others.len()
        && rows().all(|(row, other)| {
            row.len() == other.len() && row.iter().zip(other).all(|(text, other)| is_equal(text, other))
        })
}

/// Averages of decimals have four digits fewer in DataFusion than in PostgreSQL.
fn is_equal(text: &str, other: &str) -> bool {
    match (text.parse::<f64>(), other.parse::<f64>()) {
        (Ok(number), Ok(other)) if is_decimal(text) => (number - other).abs() <= number.abs() * TOLERANCE,
        _ => text == other,
    }
}
