//! What a job is made of: stages that are cut into slots, and single steps.
//!
//! These two traits are the seam to whoever brings the work. This crate knows neither columns nor rows; a slot is
//! a number, and what it stands for is the stage's affair.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::StepError;
use crate::step_cx::StepCx;

/// A part of a job that is cut into slots, which run at the same time and in any order.
///
/// A stage starts when those before it are finished. What a slot produces belongs into a place of that slot's own (a
/// `OnceLock` or a `Mutex` in a row of them); [`Stage::finish`] then merges the places in the slots' order, so
/// that results do not depend on who ran what when.
///
/// ```
/// use std::sync::{Arc, OnceLock};
/// use pipeline_exec::{Job, PipelineExecutor, Stage, StepCx, StepError};
///
/// /// Sums the numbers below `rows`, a thousand a slot.
/// struct Sum { rows: u64, parts: Vec<OnceLock<u64>>, total: OnceLock<u64> }
///
/// impl Stage for Sum {
///     fn slots(&self) -> usize { self.parts.len() }
///     fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
///         let from = slot as u64 * 1_000;
///         let part = (from..self.rows.min(from + 1_000)).sum();
///         self.parts[slot].set(part).map_err(|_| StepError::from("a slot ran twice"))
///     }
///     fn finish(&self, _cx: &StepCx<'_>) -> Result<(), StepError> {
///         let total = self.parts.iter().filter_map(OnceLock::get).sum();
///         self.total.set(total).map_err(|_| StepError::from("finished twice"))
///     }
/// }
///
/// let stage = Arc::new(Sum { rows: 10_500, parts: vec![OnceLock::new(); 11], total: OnceLock::new() });
/// let executor = PipelineExecutor::new(2)?;
/// executor.submit(Job::builder("numbers").stage(stage.clone()).build())?.wait()?;
/// assert_eq!(stage.total.get(), Some(&(10_499 * 10_500 / 2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Stage: Send + Sync {
    /// What messages, events and errors call it.
    fn name(&self) -> &str {
        "stage"
    }

    /// What messages and errors call the slot. By default the stage's name.
    fn slot_name(&self, slot: usize) -> Cow<'_, str> {
        let _ = slot;
        Cow::Borrowed(self.name())
    }

    /// Number of slots. Asked once, when the stage starts: for stages that start with the job on the thread that submits it,
    /// for later ones on a worker. 0 is a stage that only finishes.
    fn slots(&self) -> usize;

    /// Runs one slot. Called once for each slot below [`Stage::slots`], on any worker, while other slots run.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong; it fails the job. So does a panic.
    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError>;

    /// Runs once, after the last slot, and sees what every slot wrote. It is not called when a slot failed, or when the
    /// job was cancelled before.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong; it fails the job. So does a panic.
    fn finish(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        let _ = cx;
        Ok(())
    }
}

/// A piece of work that is not cut any further: one slot of a job made by [`Job::from_steps`](crate::Job::from_steps).
///
/// Every closure of the right shape is one; [`step`] boxes it.
pub trait PipelineStep: Send + Sync {
    /// What messages and errors call it.
    fn name(&self) -> &str {
        "step"
    }

    /// Does the work.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong; it fails the job. So does a panic.
    fn execute(&self, cx: &StepCx<'_>) -> Result<(), StepError>;
}

impl<F> PipelineStep for F
where
    F: Fn(&StepCx<'_>) -> Result<(), StepError> + Send + Sync,
{
    fn execute(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        self(cx)
    }
}

/// Boxes a closure as a step, with the types of its parameters inferred.
///
/// ```
/// use pipeline_exec::{Job, PipelineExecutor, step};
///
/// let executor = PipelineExecutor::new(2)?;
/// let job = Job::from_steps("cities", vec![
///     step(|cx| { assert!(cx.worker_id() < 2); Ok(()) }),
///     step(|_cx| Ok(std::fs::metadata(".").map(drop)?)),
/// ]);
/// assert_eq!(executor.submit(job)?.wait()?.slots, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn step<F>(step: F) -> Box<dyn PipelineStep>
where
    F: Fn(&StepCx<'_>) -> Result<(), StepError> + Send + Sync + 'static,
{
    Box::new(step)
}

/// A step as a stage: its only slot.
#[derive(Clone)]
pub(crate) struct OneStep(pub(crate) Arc<dyn PipelineStep>);

impl Stage for OneStep {
    fn slot_name(&self, _slot: usize) -> Cow<'_, str> {
        Cow::Borrowed(self.0.name())
    }

    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0.execute(cx)
    }
}

/// Makes a stage of steps, each one a slot: for a job that has more to say than [`Job::from_steps`](crate::Job::from_steps) takes, or
/// has other stages.
///
/// ```
/// use pipeline_exec::{Class, Job, PipelineExecutor, step, steps};
///
/// let job = Job::builder("cities")
///     .stage(steps(vec![step(|_cx| Ok(())), step(|_cx| Ok(()))]))
///     .stage(steps(vec![step(|_cx| Ok(()))]))
///     .class(Class::Interactive)
///     .build();
/// let executor = PipelineExecutor::new(2)?;
/// assert_eq!(executor.submit(job)?.wait()?.slots, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn steps(steps: Vec<Box<dyn PipelineStep>>) -> Arc<dyn Stage> {
    Arc::new(Steps(steps))
}

/// Steps as a stage: each one a slot.
pub(crate) struct Steps(pub(crate) Vec<Box<dyn PipelineStep>>);

impl Stage for Steps {
    fn slot_name(&self, slot: usize) -> Cow<'_, str> {
        Cow::Borrowed(self.0[slot].name())
    }

    fn slots(&self) -> usize {
        self.0.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.0[slot].execute(cx)
    }
}
