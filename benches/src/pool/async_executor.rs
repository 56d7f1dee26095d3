//! The executor of smol, run by threads of ours, as its documentation shows it.

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread::JoinHandle;

use ::async_executor::Executor;
use ::tokio::sync::Semaphore;

use super::{Pool, Work};
use crate::THREADS;
use crate::tally::{self, Meter, Tally};

thread_local! {
    /// The current thread's executor, so that a task need not carry it.
    static EXECUTOR: OnceCell<Arc<Executor<'static>>> = const { OnceCell::new() };
}

pub(crate) struct Async<T, W> {
    executor: Arc<Executor<'static>>,
    /// Without permits; closing it ends the threads.
    stop: Arc<Semaphore>,
    threads: Vec<JoinHandle<()>>,
    work: W,
    meter: Meter,
    task: PhantomData<fn(T)>,
}

impl<T: Send + 'static, W: Work<T>> Async<T, W> {
    pub(crate) fn start(work: W) -> Self {
        let tally = Arc::new(Tally::default());
        let executor = Arc::new(Executor::new());
        let stop = Arc::new(Semaphore::new(0));
        let thread = |_| {
            let (tally, executor, stop) = (Arc::clone(&tally), Arc::clone(&executor), Arc::clone(&stop));
            std::thread::spawn(move || {
                tally.enter();
                EXECUTOR.with(|here| {
                    let here = here.get_or_init(|| executor);
                    let stopped = pollster::block_on(here.run(stop.acquire()));
                    assert!(stopped.is_err(), "it is closed, and never gives a permit");
                });
            })
        };
        let threads = (0..THREADS).map(thread).collect();
        Self {
            executor,
            stop,
            threads,
            work,
            meter: Meter::new(tally),
            task: PhantomData,
        }
    }
}

fn run<T: Send + 'static>(work: &impl Work<T>, task: T) {
    tally::add_and_count(work(task, &mut |child| {
        let work = work.clone();
        EXECUTOR.with(|here| {
            let executor = here.get().expect("a task runs on a thread of the executor");
            executor.spawn(async move { run(&work, child) }).detach();
        });
    }));
}

impl<T: Send + 'static, W: Work<T>> Pool<T> for Async<T, W> {
    fn spawn(&self, task: T) {
        let work = self.work.clone();
        self.executor.spawn(async move { run(&work, task) }).detach();
    }

    fn wait(&mut self, tasks: u64) -> u64 {
        self.meter.wait(tasks)
    }
}

impl<T, W> Drop for Async<T, W> {
    fn drop(&mut self) {
        self.stop.close();
        for thread in self.threads.drain(..) {
            thread.join().expect("no thread panics");
        }
    }
}
