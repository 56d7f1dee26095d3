//! What a CPU task may do: compute, ask whether to stop, and wait for parts of its own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use pipeline_exec::{Job, JobError, JobReport, PipelineStep, Stage, StepCx, StepError, steps};

use super::Stop;
use super::task::Computing;
use crate::error::CpuError;

/// The context of a CPU task. It has no way to block, and none to another pool.
///
/// Waiting for parts of its own work is not blocking: the worker runs them, and only them, and idle
/// workers join in. So it cannot deadlock, with one worker either, and a lock that is held
/// meanwhile meets no stranger that wants it, too.
pub struct CpuCx<'a> {
    step: &'a StepCx<'a>,
    stop: Arc<Stop>,
}

impl<'a> CpuCx<'a> {
    /// That of a slot, for steps of a job that compute as CPU tasks do.
    #[must_use]
    pub fn new(step: &'a StepCx<'a>) -> Self {
        Self {
            step,
            stop: Arc::default(),
        }
    }

    /// That of a task of a pool that says when its time is up.
    pub(super) fn of(step: &'a StepCx<'a>, stop: &Arc<Stop>) -> Self {
        Self {
            step,
            stop: Arc::clone(stop),
        }
    }

    /// Whether no party needs the result any more: the task was dropped, or the pool's time is up.
    /// It should return soon; with what, does not matter.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.stop.is_told() || self.step.is_cancelled()
    }

    /// Computes both, at the same time if a worker is idle, and gives both values.
    ///
    /// ```
    /// use pools::Pools;
    ///
    /// let pools = Pools::builder().cpu_threads(2).build()?;
    /// let both = pools.cpu().run(|cx| cx.join(|_cx| 6, |_cx| "seven"));
    /// assert_eq!(both.wait()??, (6, "seven"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If one of them panicked, or this task was cancelled.
    pub fn join<A, B>(
        &self,
        a: impl FnOnce(&CpuCx<'_>) -> A + Send + 'static,
        b: impl FnOnce(&CpuCx<'_>) -> B + Send + 'static,
    ) -> Result<(A, B), CpuError>
    where
        A: Send + 'static,
        B: Send + 'static,
    {
        let (a, a_value) = Computing::new(&self.stop, a);
        let (b, b_value) = Computing::new(&self.stop, b);
        let both: Vec<Box<dyn PipelineStep>> = vec![Box::new(a), Box::new(b)];
        self.run_job(Job::builder("join").stage(steps(both)).build())
            .map_err(CpuError::of_job)?;
        Ok((a_value.take(), b_value.take()))
    }

    /// Computes `each` for every number below `n`, at the same time as workers are idle.
    ///
    /// # Errors
    ///
    /// If one of them panicked, or this task was cancelled.
    pub fn for_each(
        &self,
        n: usize,
        each: impl Fn(usize, &CpuCx<'_>) + Send + Sync + 'static,
    ) -> Result<(), CpuError> {
        self.map(n, each).map(drop)
    }

    /// The same, and gives the values in order.
    ///
    /// ```
    /// use pools::Pools;
    ///
    /// let pools = Pools::builder().cpu_threads(2).build()?;
    /// let squares = pools.cpu().run(|cx| cx.map(5, |n, _cx| n * n));
    /// assert_eq!(squares.wait()??, [0, 1, 4, 9, 16]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If one of them panicked, or this task was cancelled.
    pub fn map<T: Send + 'static>(
        &self,
        n: usize,
        each: impl Fn(usize, &CpuCx<'_>) -> T + Send + Sync + 'static,
    ) -> Result<Vec<T>, CpuError> {
        let mapping = Arc::new(Mapping {
            stop: Arc::clone(&self.stop),
            each,
            values: (0..n).map(|_| Mutex::new(None)).collect(),
        });
        let stage: Arc<dyn Stage> = mapping.clone();
        self.run_job(Job::builder("map").stage(stage).build())
            .map_err(CpuError::of_job)?;
        let value = |place: &Mutex<Option<T>>| place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let values = mapping.values.iter().map(value);
        Ok(values
            .map(|value| value.expect("each slot of a job that completed has left its value"))
            .collect())
    }

    /// Runs a job of this task's own: [`StepCx::run`].
    ///
    /// # Errors
    ///
    /// Why it did not complete.
    pub fn run_job<T>(&self, job: Job<T>) -> Result<JobReport<T>, JobError> {
        self.step.run(job)
    }
}

impl fmt::Debug for CpuCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuCx").field("step", &self.step).finish()
    }
}

/// Values by number, each computed in a slot.
struct Mapping<F, T> {
    stop: Arc<Stop>,
    each: F,
    values: Vec<Mutex<Option<T>>>,
}

impl<F, T> Stage for Mapping<F, T>
where
    F: Fn(usize, &CpuCx<'_>) -> T + Send + Sync,
    T: Send,
{
    fn name(&self) -> &str {
        "map"
    }

    fn slots(&self) -> usize {
        self.values.len()
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.stop.check()?;
        let value = (self.each)(slot, &CpuCx::of(cx, &self.stop));
        *self.values[slot].lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        Ok(())
    }
}
