//! Tokio's multi-threaded runtime: a task is a future that never waits, and its handle is dropped.

use std::marker::PhantomData;
use std::sync::Arc;

use ::tokio::runtime::{Builder, Runtime};

use super::{Pool, Work};
use crate::THREADS;
use crate::tally::{self, Meter, Tally};

pub(crate) struct Tokio<T, W> {
    runtime: Runtime,
    work: W,
    meter: Meter,
    task: PhantomData<fn(T)>,
}

pub(crate) fn tokio_runtime(tally: Arc<Tally>) -> Runtime {
    let idle = Arc::clone(&tally);
    Builder::new_multi_thread()
        .worker_threads(THREADS)
        .on_thread_start(move || tally.enter())
        .on_thread_park(move || idle.ran_out())
        .build()
        .expect("tokio starts")
}

impl<T: Send + 'static, W: Work<T>> Tokio<T, W> {
    pub(crate) fn start(work: W) -> Self {
        let tally = Arc::new(Tally::default());
        Self {
            runtime: tokio_runtime(Arc::clone(&tally)),
            work,
            meter: Meter::new(tally),
            task: PhantomData,
        }
    }
}

fn run<T: Send + 'static>(work: &impl Work<T>, task: T) {
    tally::add_task_here(work(task, &mut |child| {
        let work = work.clone();
        drop(::tokio::spawn(async move { run(&work, child) }));
    }));
}

impl<T: Send + 'static, W: Work<T>> Pool<T> for Tokio<T, W> {
    fn spawn(&self, task: T) {
        let work = self.work.clone();
        drop(self.runtime.spawn(async move { run(&work, task) }));
    }

    fn wait(&mut self, tasks: u64) -> u64 {
        self.meter.wait(tasks)
    }
}
