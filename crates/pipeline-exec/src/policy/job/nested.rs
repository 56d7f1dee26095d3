//! Passes a job from a slot's context to the executor that runs it inside the slot.
//!
//! The job passes without its type: if the context named that, its module would import itself.

use std::any::Any;

use super::spec::JobSpec;
use crate::report::JobEnd;
use crate::step_cx::StepCx;

pub(crate) fn run(cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
    cx.nest(cx, &mut Some(spec))
}

pub(crate) fn taken(passed: &mut dyn Any) -> JobSpec {
    let passed = passed.downcast_mut::<Option<JobSpec>>();
    passed.and_then(Option::take).expect("`run` passes one job")
}
