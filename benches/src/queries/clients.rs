//! The clients of our engine: each runs a query and verifies its answer.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use arrow::array::{Array as _, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use arrow::util::display::array_value_to_string;
use columnar::TableSource;
use query::QueryResult;

use super::tables::{Answers, Group, SHORT};
use crate::engine::{Engine, Phases};
use crate::tpch;

#[derive(Debug)]
pub(super) struct Clients {
    engine: Engine,
    answers: Answers,
}

impl Clients {
    pub(super) fn new(tables: Vec<Arc<dyn TableSource>>, answers: &Answers) -> Result<Self> {
        Ok(Self {
            engine: Engine::new(tables)?,
            answers: answers.clone(),
        })
    }

    /// Returns the moment of its answer, and the phases.
    pub(super) fn short(&self) -> Result<(Instant, Phases)> {
        let answered = self.engine.run(SHORT)?;
        let count = match answered.result.batches.as_slice() {
            [batch] if batch.num_rows() == 1 => integer(batch, 0, 0)?,
            _ => None,
        };
        let known = self.answers.short;
        ensure!(
            count == Some(known),
            "the short query counted {count:?}, not {known}"
        );
        Ok((answered.end, answered.phases))
    }

    /// Returns the moment of its answer.
    pub(super) fn heavy(&self) -> Result<Instant> {
        let answered = self.engine.run(tpch::Q1)?;
        let (groups, known) = (groups(&answered.result)?, &self.answers.heavy);
        ensure!(
            is_close(&groups, known),
            "the heavy query gave {groups:?}, not {known:?}"
        );
        Ok(answered.end)
    }
}

fn groups(result: &QueryResult) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for batch in &result.batches {
        ensure!(
            batch.num_columns() == 10,
            "Q1 has ten columns: {:?}",
            batch.schema()
        );
        for row in 0..batch.num_rows() {
            let text = |column: usize| array_value_to_string(batch.column(column), row);
            let number = |column: usize| {
                let values = batch.column(column).as_primitive_opt::<Float64Type>();
                values
                    .map(|values| values.value(row))
                    .context("an average is a double")
            };
            groups.push((
                [text(0)?, text(1)?],
                [text(2)?, text(3)?, text(4)?, text(5)?],
                [number(6)?, number(7)?, number(8)?],
                integer(batch, 9, row)?.context("a count is not NULL")?,
            ));
        }
    }
    Ok(groups)
}

fn integer(batch: &RecordBatch, column: usize, row: usize) -> Result<Option<i64>> {
    let values = batch.column(column).as_primitive_opt::<Int64Type>();
    let values = values.context("a count is an integer")?;
    Ok(values.is_valid(row).then(|| values.value(row)))
}

/// Averages as far as doubles allow.
fn is_close(ours: &[Group], known: &[Group]) -> bool {
    let close = |(ours, known): (&f64, &f64)| (ours - known).abs() <= 1e-9 * known.abs();
    let same = |(ours, known): (&Group, &Group)| {
        (&ours.0, &ours.1, ours.3) == (&known.0, &known.1, known.3) && ours.2.iter().zip(&known.2).all(close)
    };
    ours.len() == known.len() && ours.iter().zip(known).all(same)
}

#[cfg(test)]
mod tests {
    use super::super::tables::Tables;
    use super::*;
    use crate::engine;

    #[test]
    fn our_answers_are_those_of_the_plain_loop_and_others_are_noticed() {
        let work = engine::work().unwrap();
        let generated = Tables::generate(0.01, &work).unwrap();
        let answers = generated.answers().unwrap();
        let folder = tempfile::tempdir().unwrap();
        generated.write_for_peers(folder.path(), &answers).unwrap();
        let tables = generated.loaded();
        for tables in [tables.clone(), generated.written(folder.path(), &work).unwrap()] {
            let clients = Clients::new(tables, &answers).unwrap();
            clients.short().unwrap();
            clients.heavy().unwrap();
        }

        let mut wrong = answers.clone();
        wrong.short += 1;
        wrong.heavy[0].2[0] += 1e-3;
        let doubting = Clients::new(tables.clone(), &wrong).unwrap();
        assert!(doubting.short().is_err());
        assert!(doubting.heavy().is_err());
        wrong.heavy = answers.heavy[1..].to_vec();
        assert!(Clients::new(tables.clone(), &wrong).unwrap().heavy().is_err());
    }
}
