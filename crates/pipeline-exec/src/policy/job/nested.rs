//! A job on its way from a slot's context to the executor that runs it inside the slot.
//!
//! A job has stages, and a stage's slots get a [`StepCx`]. If the context named the job's type, its
//! module would import itself; so the job passes through it without a type. Both ends are here.

use std::any::Any;

use super::spec::JobSpec;
use crate::report::JobEnd;
use crate::step_cx::StepCx;

pub(crate) fn run(cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
    cx.nest(cx, &mut Some(spec))
}

/// The job that [`run`] passed.
///
/// # Panics
///
/// If it was taken before.
pub(crate) fn taken(passed: &mut dyn Any) -> JobSpec {
    let passed = passed.downcast_mut::<Option<JobSpec>>();
    passed.and_then(Option::take).expect("`run` passes one job")
}
