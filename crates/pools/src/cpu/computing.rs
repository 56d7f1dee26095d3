//! A computation as a step, with a place for its value.

use std::sync::{Arc, Mutex};

use executor_threaded::lock;
use pipeline_exec::{PipelineStep, StepCx, StepError};

use super::cx::CpuCx;
use super::state::Stop;

pub(super) struct Computing<F, T> {
    stop: Arc<Stop>,
    compute: Mutex<Option<F>>,
    value: Value<T>,
}

pub(super) struct Value<T>(Arc<Mutex<Option<T>>>);

impl<F, T> Computing<F, T> {
    pub(super) fn new(stop: &Arc<Stop>, compute: F) -> (Self, Value<T>) {
        let value = Value::empty();
        let computing = Self {
            stop: Arc::clone(stop),
            compute: Mutex::new(Some(compute)),
            value: Value(Arc::clone(&value.0)),
        };
        (computing, value)
    }
}

impl<T> Value<T> {
    pub(super) fn empty() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    fn put(&self, value: T) {
        *lock(&self.0) = Some(value);
    }

    pub(super) fn take(&self) -> T {
        let value = lock(&self.0).take();
        value.expect("a computation that has ended well has left its value")
    }
}

impl<F, T> PipelineStep for Computing<F, T>
where
    F: FnOnce(&CpuCx<'_>) -> T + Send,
    T: Send,
{
    fn name(&self) -> &str {
        "compute"
    }

    fn execute(&self, cx: &StepCx<'_>) -> Result<(), StepError> {
        self.stop.check()?;
        let compute = lock(&self.compute).take();
        let compute = compute.ok_or("a computation runs once")?;
        let value = compute(&CpuCx::of(cx, &self.stop));
        self.value.put(value);
        Ok(())
    }
}
