//! Our engine as a client uses it: text in, checked answer out, planned anew each time as the peers do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use arrow::array::{Array as _, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type};
use arrow::util::display::array_value_to_string;
use benches::lineitem;
use columnar::TableSource;
use query::pipeline_exec::PipelineExecutor;
use query::{Catalog, PipelineBuilder, QueryPlanner, QueryResult};

use super::workload::{Answers, Group, SHORT};

/// The executor with the tables.
#[derive(Debug)]
pub(crate) struct Windlass {
    executor: PipelineExecutor,
    tables: Catalog,
    answers: Answers,
}

/// Where the time of a query went, from the client's call to its answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phases {
    /// Parsing and planning.
    pub(crate) plan: Duration,
    /// Making a job of the plan and handing it over.
    pub(crate) submit: Duration,
    /// Until a worker claimed the first slot.
    pub(crate) wait: Duration,
    /// From the first claim to the end of the job.
    pub(crate) run: Duration,
    /// From the end of the job until the client had the answer: mostly its wake-up.
    pub(crate) wake: Duration,
}

impl Windlass {
    /// Over these tables, with `threads` threads.
    pub(crate) fn new(
        tables: Vec<Arc<dyn TableSource>>,
        answers: &Answers,
        threads: usize,
    ) -> anyhow::Result<Self> {
        let mut catalog = Catalog::new();
        for table in tables {
            catalog.register(table)?;
        }
        Ok(Self {
            executor: PipelineExecutor::new(threads)?,
            tables: catalog,
            answers: answers.clone(),
        })
    }

    /// Runs the short query, checks it, and says when its answer was there and where the time went.
    pub(crate) fn short(&self) -> anyhow::Result<(Instant, Phases)> {
        let (result, end, phases) = self.run(SHORT)?;
        let count = match result.batches.as_slice() {
            [batch] if batch.num_rows() == 1 => integer(batch, 0, 0)?,
            _ => None,
        };
        ensure!(
            count == Some(self.answers.short),
            "the short query counted {count:?}, not {}",
            self.answers.short
        );
        Ok((end, phases))
    }

    /// Runs the heavy query and checks it; when its answer was there.
    pub(crate) fn heavy(&self) -> anyhow::Result<Instant> {
        let (result, end, _) = self.run(lineitem::Q1)?;
        let groups = groups(&result)?;
        ensure!(
            is_close(&groups, &self.answers.heavy),
            "the heavy query gave {groups:?}, not {:?}",
            self.answers.heavy
        );
        Ok(end)
    }

    fn run(&self, sql: &str) -> anyhow::Result<(QueryResult, Instant, Phases)> {
        let called = Instant::now();
        let plan = QueryPlanner::plan(sql, &self.tables)?;
        let planned = Instant::now();
        let (job, _run) = PipelineBuilder::new(plan).build();
        let ticket = self.executor.submit(job).context("the executor took no job")?;
        let submitted = Instant::now();
        let report = ticket.wait()?;
        let result = report.output;
        let end = Instant::now();
        let phases = Phases {
            plan: planned - called,
            submit: submitted - planned,
            wait: report.wait,
            run: report.run,
            // The job's own times begin inside the call that submits it.
            wake: (end - planned).saturating_sub(report.wait + report.run),
        };
        Ok((result, end, phases))
    }
}

/// The rows of Q1.
fn groups(result: &QueryResult) -> anyhow::Result<Vec<Group>> {
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
            groups.push(Group {
                flag: text(0)?,
                status: text(1)?,
                sum_qty: text(2)?,
                sum_base_price: text(3)?,
                sum_disc_price: text(4)?,
                sum_charge: text(5)?,
                avg_qty: number(6)?,
                avg_price: number(7)?,
                avg_disc: number(8)?,
                count: integer(batch, 9, row)?.context("a count is not NULL")?,
            });
        }
    }
    Ok(groups)
}

fn integer(batch: &RecordBatch, column: usize, row: usize) -> anyhow::Result<Option<i64>> {
    let values = batch.column(column).as_primitive_opt::<Int64Type>();
    let values = values.context("a count is an integer")?;
    Ok(values.is_valid(row).then(|| values.value(row)))
}

/// Whether all is equal, and averages as far as doubles go.
fn is_close(ours: &[Group], known: &[Group]) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    ours.len() == known.len()
        && ours.iter().zip(known).all(|(ours, known)| {
            close(ours.avg_qty, known.avg_qty)
                && close(ours.avg_price, known.avg_price)
                && close(ours.avg_disc, known.avg_disc)
                && Group {
                    avg_qty: known.avg_qty,
                    avg_price: known.avg_price,
                    avg_disc: known.avg_disc,
                    ..ours.clone()
                } == *known
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Tables;

    #[test]
    fn our_answers_are_those_of_the_plain_loop_and_others_are_noticed() {
        let executor = PipelineExecutor::new(2).unwrap();
        let generated = Tables::generate(0.01, &executor).unwrap();
        let answers = generated.answers().unwrap();
        let folder = tempfile::tempdir().unwrap();
        generated.write_for_peers(folder.path(), &answers).unwrap();
        let tables = generated.loaded();
        for tables in [
            tables.clone(),
            generated.written(folder.path(), &executor).unwrap(),
        ] {
            let windlass = Windlass::new(tables, &answers, 2).unwrap();
            windlass.short().unwrap();
            windlass.heavy().unwrap();
        }

        let mut wrong = answers.clone();
        wrong.short += 1;
        wrong.heavy[0].avg_qty += 1e-3;
        let doubting = Windlass::new(tables.clone(), &wrong, 2).unwrap();
        assert!(doubting.short().is_err());
        assert!(doubting.heavy().is_err());
        wrong.heavy = answers.heavy[1..].to_vec();
        assert!(Windlass::new(tables.clone(), &wrong, 2).unwrap().heavy().is_err());
    }
}
