//! How a CPU task computes parts of its own work.

use std::sync::{Arc, Mutex};

use executor_threaded::lock;
use pipeline_exec::{Job, PipelineStep, Stage, StepCx, StepError, steps};

use super::computing::Computing;
use super::cx::CpuCx;
use super::state::Stop;
use crate::error::CpuError;

impl CpuCx<'_> {
    /// Computes both closures, in parallel if a worker is idle.
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
        let (a, a_value) = Computing::new(self.stop(), a);
        let (b, b_value) = Computing::new(self.stop(), b);
        let both: Vec<Box<dyn PipelineStep>> = vec![Box::new(a), Box::new(b)];
        self.run_job(Job::builder("join").stage(steps(both)).build())
            .map_err(CpuError::of_job)?;
        Ok((a_value.take(), b_value.take()))
    }

    /// Calls `each` for every number below `n`, in parallel on idle workers.
    ///
    /// # Errors
    ///
    /// If a call panicked, or this task was cancelled.
    pub fn for_each(
        &self,
        n: usize,
        each: impl Fn(usize, &CpuCx<'_>) + Send + Sync + 'static,
    ) -> Result<(), CpuError> {
        self.map(n, each).map(drop)
    }

    /// As [`for_each`](Self::for_each), and returns the values in order.
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
    /// As [`for_each`](Self::for_each).
    pub fn map<T: Send + 'static>(
        &self,
        n: usize,
        each: impl Fn(usize, &CpuCx<'_>) -> T + Send + Sync + 'static,
    ) -> Result<Vec<T>, CpuError> {
        let mapping = Arc::new(Mapping {
            stop: Arc::clone(self.stop()),
            each,
            values: (0..n).map(|_| Mutex::new(None)).collect(),
        });
        let stage: Arc<dyn Stage> = mapping.clone();
        self.run_job(Job::builder("map").stage(stage).build())
            .map_err(CpuError::of_job)?;
        let value = |place: &Mutex<Option<T>>| lock(place).take();
        let values = mapping.values.iter().map(value);
        Ok(values
            .map(|value| value.expect("each slot of a job that completed has left its value"))
            .collect())
    }
}

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
        *lock(&self.values[slot]) = Some(value);
        Ok(())
    }
}
