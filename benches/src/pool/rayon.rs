//! Rayon's `spawn`, which counts nothing itself: cheaper than a `scope` that lasts as long as its
//! caller hands over.

use std::marker::PhantomData;
use std::sync::Arc;

use ::rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Pool, Work};
use crate::THREADS;
use crate::tally::{self, Meter, Tally};

/// Bytes of stack for the deepest recursion of a workload; rayon runs stolen work on top of waiting
/// frames.
const STACK_BYTES: usize = 64 << 20;

pub(crate) struct Rayon<T, W> {
    pool: ThreadPool,
    work: W,
    meter: Meter,
    task: PhantomData<fn(T)>,
}

pub(crate) fn rayon_pool(tally: Arc<Tally>) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(THREADS)
        .stack_size(STACK_BYTES)
        .start_handler(move |_| tally.enter())
        .build()
        .expect("rayon starts")
}

impl<T: Send + 'static, W: Work<T>> Rayon<T, W> {
    pub(crate) fn start(work: W) -> Self {
        let tally = Arc::new(Tally::default());
        Self {
            pool: rayon_pool(Arc::clone(&tally)),
            work,
            meter: Meter::new(tally),
            task: PhantomData,
        }
    }
}

fn run<T: Send + 'static>(work: &impl Work<T>, task: T) {
    tally::add_and_count(work(task, &mut |child| {
        let work = work.clone();
        ::rayon::spawn(move || run(&work, child));
    }));
}

impl<T: Send + 'static, W: Work<T>> Pool<T> for Rayon<T, W> {
    fn spawn(&self, task: T) {
        let work = self.work.clone();
        self.pool.spawn(move || run(&work, task));
    }

    fn wait(&mut self, tasks: u64) -> u64 {
        self.meter.wait(tasks)
    }
}
