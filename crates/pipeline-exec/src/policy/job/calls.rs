//! Calls into a user's stages, tasks and output. An error or a panic becomes a [`Failure`].

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use executor_core::panic_message;

use super::claim::SLOTS_MAX;
use super::ledger::Failure;
use super::tasks::STAGE;
use crate::error::StepError;
use crate::output::JobOutput;
use crate::policy::guard::{discard, named};
use crate::stage::Stage;
use crate::step_cx::StepCx;
use crate::task::{Task, Turn};

pub(crate) fn slots(stage: &dyn Stage, number: usize) -> Result<usize, Failure> {
    guarded(
        number,
        None,
        || stage.name().to_owned(),
        || match stage.slots() {
            slots if slots <= SLOTS_MAX => Ok(slots),
            slots => Err(StepError::from(format!(
                "it has {slots} slots, but a stage can have at most {SLOTS_MAX}"
            ))),
        },
    )
}

pub(crate) fn run(stage: &dyn Stage, number: usize, slot: usize, cx: &StepCx<'_>) -> Result<(), Failure> {
    let name = || stage.slot_name(slot).into_owned();
    guarded(number, Some(slot), name, || stage.run(slot, cx))
}

pub(crate) fn turn(
    task: &mut dyn Task,
    number: usize,
    cx: &StepCx<'_>,
    waker: &Waker,
) -> Result<Turn, Failure> {
    let task = RefCell::new(task);
    let name = || task.borrow().name().to_owned();
    guarded(STAGE, Some(number), name, || task.borrow_mut().turn(cx, waker))
}

pub(crate) fn finish(stage: &dyn Stage, number: usize, cx: &StepCx<'_>) -> Result<(), Failure> {
    guarded(number, None, || stage.name().to_owned(), || stage.finish(cx))
}

/// A failure counts as one of stage number `stages`, behind the last.
pub(crate) fn output(output: &JobOutput, stages: usize, cx: &StepCx<'_>) -> Result<(), Failure> {
    guarded(stages, None, || "output".to_owned(), || output.make(cx))
}

fn guarded<R>(
    number: usize,
    slot: Option<usize>,
    name: impl FnOnce() -> String,
    call: impl FnOnce() -> Result<R, StepError>,
) -> Result<R, Failure> {
    // Unwind safety: the job fails, and this crate neither runs nor reads its parts afterwards.
    let (panicked, error) = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => (false, error),
        Err(payload) => {
            let error = StepError::from(panic_message(&*payload));
            discard(payload);
            (true, error)
        }
    };
    Err(Failure {
        stage: number,
        slot,
        name: named(number, name),
        panicked,
        error,
    })
}
