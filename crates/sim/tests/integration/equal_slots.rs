//! Jobs of equal slots: only their number and weight matter.

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

pub(crate) fn job(name: &str, cost: impl Into<Option<u64>>, slots: usize) -> JobSpec {
    JobSpec {
        cost: cost.into(),
        ..job_of_stages(name, &[slots])
    }
}

pub(crate) fn job_of_stages(name: &str, slots: &[usize]) -> JobSpec {
    let stages = slots
        .iter()
        .map(|&slots| Arc::new(Slots(slots)) as Arc<dyn Stage>);
    let stages = StageGraph::from(stages.collect::<Vec<_>>());
    JobSpec::new(name.to_owned(), JobId::new(0), stages)
}

pub(crate) fn executor(workers: usize, quantum: Duration) -> PipelineConfig {
    let (main, reserve) = split_threads(NonZeroUsize::new(workers).expect("there are workers"));
    PipelineConfig {
        main,
        reserve,
        quantum,
        capacity: 64,
    }
}
