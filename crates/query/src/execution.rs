//! Runs a query: one job over a table in memory, or windows over a table that is read meanwhile.

use std::ops::Range;
use std::sync::Arc;

use columnar::NestedScan;
use pipeline_exec::{JobReport, Stage, StepCx, StepError};

use crate::error::QueryError;
use crate::pipeline_builder::PipelineBuilder;
use crate::reading::{OnClose, Reading, SlotRun};
use crate::result::QueryResult;
use crate::run::Run;
use crate::windows::{Window, Windows};

#[derive(Debug)]
pub(crate) struct ReadAhead {
    pub(crate) bytes: usize,
    pub(crate) requests: usize,
    pub(crate) on_close: OnClose,
}

/// Dropping the future cancels the query. An error is the first failure in the order of the input,
/// or why the run is stopped; no slot runs any more then.
pub(crate) async fn execute(
    query: &PipelineBuilder,
    reads: ReadAhead,
    run: &Run,
) -> Result<JobReport<QueryResult>, QueryError> {
    let stage = query.stage();
    let _release = GiveUp(Arc::clone(query.scan()));
    if !stage.is_stored() {
        return run.job(run.limited(query.whole_job()).build()).await;
    }
    let windows = Windows {
        table: query.table().to_owned(),
        run,
        bytes_max: reads.bytes / 2,
    };
    let slots = stage.slots();
    run.progress.expect(slots);
    let reading = Reading::of(
        Arc::clone(stage),
        &run.mixed,
        reads.bytes,
        reads.requests,
        reads.on_close,
    );
    let rows: usize = (0..slots).map(|slot| stage.rows(slot)).sum();
    let make = |batches: Vec<SlotRun>| {
        let range = batches[0].slots.start..batches[batches.len() - 1].slots.end;
        let share: usize = range.clone().map(|slot| stage.rows(slot)).sum();
        let cost = stage.cost() as f64 * share as f64 / rows.max(1) as f64;
        Window {
            first_slot: range.start,
            stage: Arc::new(Part {
                whole: query.metered_stage(),
                slots: range,
            }),
            cost: cost as u64,
        }
    };
    let is_enough = || stage.is_enough_before(slots.saturating_sub(1));
    let effort = windows
        .run(reading, |batch| batch.slots.len(), make, is_enough)
        .await?;
    let last = run.job(run.limited(query.last_job()).build()).await?;
    Ok(effort.report(last))
}

struct GiveUp(Arc<NestedScan>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

struct Part {
    whole: Arc<dyn Stage>,
    slots: Range<usize>,
}

impl Stage for Part {
    fn name(&self) -> &str {
        self.whole.name()
    }

    fn slots(&self) -> usize {
        self.slots.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.whole.run(self.slots.start + slot, cx)
    }
}
