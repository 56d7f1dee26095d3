//! Core's queue ports by windlass's injector and crossbeam's Chase-Lev deques.
//!
//! Sources: Chase and Lev, "Dynamic Circular Work-Stealing Deque", SPAA 2005; Lê, Pop, Cohen and
//! Zappa Nardelli, "Correct and Efficient Work-Stealing for Weak Memory Models", PPoPP 2013.

use crossbeam_deque::Steal as Stolen;
use executor_core::ports::{Inject, LocalQueue, Memory, Run, Steal, Stealing};
use injector::Next;

use super::arrival::Arrival;
use super::{Shared, ThreadPorts};

impl<T, M: Memory> Inject<T> for Shared<T, M> {
    #[inline]
    fn inject(&self, task: T) {
        self.injector.push(Arrival::one(task, || self.now_ns()));
    }

    fn inject_batch(&self, batch: Vec<T>) {
        self.injector.push(Arrival::batch(batch, || self.now_ns()));
    }
}

impl<T, M: Memory> Inject<T> for ThreadPorts<T, M> {
    #[inline]
    fn inject(&self, task: T) {
        self.shared.inject(task);
    }

    fn inject_batch(&self, batch: Vec<T>) {
        self.shared.inject_batch(batch);
    }
}

impl<T, M: Memory> LocalQueue<T> for ThreadPorts<T, M> {
    #[inline]
    fn push(&self, task: T) {
        self.queue.push(task);
    }

    #[inline]
    fn pop(&self) -> Option<T> {
        self.queue.pop()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

impl<T, M: Memory> Stealing<T> for ThreadPorts<T, M> {
    fn steal_injected(&self, most: usize, run: &mut Run<T>) -> Steal<()> {
        let Shared { injector, waits, .. } = &*self.shared;
        // A worker asks at every tick, and mostly there is nothing.
        if injector.is_empty() {
            return Steal::Empty;
        }
        let waited = |since_ns| waits.add(self.shared.now_ns().saturating_sub(since_ns));
        let before = run.len();
        injector.take(|arrival| {
            match arrival {
                Arrival::Task(task) => run.push(task),
                Arrival::Watched(watched) => {
                    let (task, since_ns) = *watched;
                    waited(since_ns);
                    run.push(task);
                }
                Arrival::Batch(batch) if run.len() > before => return Next::PutBack(Arrival::Batch(batch)),
                Arrival::Batch(mut batch) => {
                    let since_ns = batch.take(most, run);
                    since_ns.into_iter().for_each(waited);
                    return if batch.is_empty() {
                        Next::Enough
                    } else {
                        Next::PutBack(Arrival::Batch(batch))
                    };
                }
            }
            if run.len() < before + most {
                Next::More
            } else {
                Next::Enough
            }
        });
        let taken = run.len() - before;
        if taken > 0 {
            Steal::Task(())
        } else if injector.is_empty() {
            Steal::Empty
        } else {
            // A producer has claimed a place and has not finished. It may have seen no sleeper, so
            // no worker may fall asleep.
            Steal::Retry
        }
    }

    fn injector_is_empty(&self) -> bool {
        self.shared.injector.is_empty()
    }

    fn victim_is_empty(&self, victim: usize) -> bool {
        self.shared.stealers[victim].is_empty()
    }

    fn steal_from(&self, victim: usize) -> Steal<T> {
        let stealer = &self.shared.stealers[victim];
        ported(stealer.steal_batch_and_pop(&self.queue), |task| task)
    }
}

fn ported<T, F>(stolen: Stolen<T>, what: impl Fn(T) -> F) -> Steal<F> {
    match stolen {
        Stolen::Empty => Steal::Empty,
        Stolen::Success(taken) => Steal::Task(what(taken)),
        Stolen::Retry => Steal::Retry,
    }
}
