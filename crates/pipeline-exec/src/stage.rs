//! The parts of a job: stages cut into slots, and single steps.

use std::borrow::Cow;
use std::sync::Arc;

use crate::error::StepError;
use crate::step_cx::StepCx;

/// A part of a job, cut into slots that run in parallel and in any order. Results do not depend on
/// timing if each slot writes to its own place and [`Stage::finish`] merges them in order.
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
    /// Name in messages, events and errors.
    fn name(&self) -> &str {
        "stage"
    }

    /// The slot's name in messages and errors. Default: the stage's name.
    fn slot_name(&self, slot: usize) -> Cow<'_, str> {
        let _ = slot;
        Cow::Borrowed(self.name())
    }

    /// Number of slots; 0 for a stage that only finishes. Called once, when the stage starts: on
    /// the submitting thread for first stages, else on a worker.
    fn slots(&self) -> usize;

    /// Runs one slot. Called once per slot below [`Stage::slots`], on any worker.
    ///
    /// # Errors
    ///
    /// Any error or panic fails the job.
    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError>;

    /// Runs once after the last slot, and sees what every slot wrote. It does not run in a failed
    /// or closed job.
    ///
    /// # Errors
    ///
    /// Any error or panic fails the job.
    fn finish(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        let _ = cx;
        Ok(())
    }
}

/// A slot of a job from [`Job::from_steps`](crate::Job::from_steps). Every closure of this
/// signature is one.
pub trait PipelineStep: Send + Sync {
    /// Name in messages and errors.
    fn name(&self) -> &str {
        "step"
    }

    /// Does the work.
    ///
    /// # Errors
    ///
    /// Any error or panic fails the job.
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

/// Boxes a closure as a step, and lets the compiler infer its parameters.
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

/// Makes a stage with a slot per step.
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
