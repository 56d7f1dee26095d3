//! Calls into foreign code: a user's stage, and whatever else may panic. What it returns, or how it
//! failed. A panic goes no further than here, nor does one of what such a panic carries.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

use super::claim::SLOTS_MAX;
use super::grow::STAGE;
use super::ledger::Failure;
use crate::error::{StepError, panic_message};
use crate::output::JobOutput;
use crate::stage::Stage;
use crate::step_cx::StepCx;
use crate::task::{Task, Turn};

/// Asks stage number `number` for its slots.
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

/// Runs a slot.
pub(crate) fn run(stage: &dyn Stage, number: usize, slot: usize, cx: &StepCx<'_>) -> Result<(), Failure> {
    let name = || stage.slot_name(slot).into_owned();
    guarded(number, Some(slot), name, || stage.run(slot, cx))
}

/// Runs a turn of task number `number`.
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

/// Finishes a stage.
pub(crate) fn finish(stage: &dyn Stage, number: usize, cx: &StepCx<'_>) -> Result<(), Failure> {
    guarded(number, None, || stage.name().to_owned(), || stage.finish(cx))
}

/// Makes what the job gives, after its `stages` stages. A failure counts as one behind them all.
pub(crate) fn output(output: &JobOutput, stages: usize, cx: &StepCx<'_>) -> Result<(), Failure> {
    guarded(stages, None, || "output".to_owned(), || output.make(cx))
}

/// What stage number `number` is called.
pub(crate) fn name(stage: &dyn Stage, number: usize) -> String {
    named(number, || stage.name().to_owned())
}

/// What a user's error says of itself.
pub(crate) fn text(error: &impl fmt::Display) -> String {
    catch_unwind(AssertUnwindSafe(|| error.to_string())).unwrap_or_else(|payload| {
        discard(payload);
        "an error whose text panicked".to_owned()
    })
}

/// Calls what nothing here depends on: if it panics, that is all.
pub(crate) fn quietly(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        discard(payload);
    }
}

/// Drops what a panic carried. If that panics in its turn, what comes of it is leaked, since no
/// party could ever drop it in peace.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(endless) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(endless);
    }
}

fn named(number: usize, name: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(name)).unwrap_or_else(|payload| {
        discard(payload);
        format!("stage {number}, whose name panicked")
    })
}

fn guarded<R>(
    number: usize,
    slot: Option<usize>,
    name: impl FnOnce() -> String,
    call: impl FnOnce() -> Result<R, StepError>,
) -> Result<R, Failure> {
    // Unwind safety: the job fails, and nothing of it is run or read by this crate after that.
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
