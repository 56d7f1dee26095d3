//! The jobs of a load: slots of equal length, one of which may panic or fail.

use std::panic::resume_unwind;
use std::sync::Arc;

use pipeline_exec::policy::JobSpec;
use pipeline_exec::{JobId, Stage, StageGraph, StepCx, StepError};

use crate::fault::InjectedPanic;
use crate::oracle::Kind;

struct Work {
    slots: usize,
    /// The slot, and whether it panics instead of failing.
    breaks: Option<(usize, bool)>,
}

pub(super) fn job(kind: Kind, slots: usize, cost: Option<u64>, breaks: Option<(usize, bool)>) -> JobSpec {
    let stages = StageGraph::from(vec![Arc::new(Work { slots, breaks }) as Arc<dyn Stage>]);
    JobSpec {
        cost,
        ..JobSpec::new(name(kind), JobId::new(0), stages)
    }
}

pub(super) fn is(spec: &JobSpec, kind: Kind) -> bool {
    spec.table_name == name(kind)
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Short => "short",
        Kind::Heavy => "heavy",
        Kind::Middle => "middle",
    }
}

impl Stage for Work {
    fn slots(&self) -> usize {
        self.slots
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        match self.breaks {
            Some((broken, true)) if broken == slot => resume_unwind(Box::new(InjectedPanic)),
            Some((broken, false)) if broken == slot => Err("as planned".into()),
            _ => Ok(()),
        }
    }
}
