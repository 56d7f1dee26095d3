//! Jobs of one stage whose slots are alike: nothing but their number and their weight matters.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use pipeline_exec::policy::{JobSpec, PipelineConfig};
use pipeline_exec::{JobId, Stage, StageGraph, StepCx, StepError, split_threads};

struct Slots(usize);

impl Stage for Slots {
    fn slots(&self) -> usize {
        self.0
    }

    fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        Ok(())
    }
}

/// A job of `slots` slots.
pub(crate) fn job(name: &str, cost: u64, slots: usize) -> JobSpec {
    let stages = StageGraph::from(vec![Arc::new(Slots(slots)) as Arc<dyn Stage>]);
    JobSpec {
        cost,
        ..JobSpec::new(name.to_owned(), JobId::new(0), stages)
    }
}

/// An executor of `workers` workers with the roles that they have by default.
pub(crate) fn executor(workers: usize, quantum: Duration) -> PipelineConfig {
    let (main, reserve) = split_threads(NonZeroUsize::new(workers).expect("there are workers"));
    PipelineConfig {
        main,
        reserve,
        quantum,
        capacity: 64,
    }
}
