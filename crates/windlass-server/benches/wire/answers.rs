//! The answers of all engines, which are equal.

use std::collections::HashMap;

use crate::clients;
use crate::engine::Running;

/// Answers of the first engine that was asked.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: HashMap<&'static str, Vec<String>>,
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
                let found = comparable(clients::rows(&messages));
                anyhow::ensure!(
                    !found.is_empty(),
                    "{} answers {sql} without rows",
                    engine.kind.name()
                );
                let expected = self.known.entry(sql).or_insert_with(|| found.clone());
                anyhow::ensure!(
                    *expected == found,
                    "{} answers {sql} otherwise: {found:?}, not {expected:?}",
                    engine.kind.name()
                );
            }
            Ok(())
        })
    }
}

/// Sorted. Numbers with a point have 6 digits: averages of decimals are longer in PostgreSQL.
fn comparable(rows: Vec<Vec<String>>) -> Vec<String> {
    let value = |text: &String| match text.parse::<f64>() {
        Ok(number) if text.contains('.') => format!("{number:.5e}"),
        _ => text.clone(),
    };
    let mut rows: Vec<_> = rows
        .iter()
        .map(|row| row.iter().map(value).collect::<Vec<_>>().join("|"))
        .collect();
    rows.sort_unstable();
    rows
}
