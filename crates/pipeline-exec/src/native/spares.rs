//! Wakes and ends the spare threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread::{JoinHandle, Thread};

use executor_threaded::lock;

use crate::policy::guard;

#[derive(Debug, Default)]
pub(crate) struct Spares {
    threads: OnceLock<Box<[Thread]>>,
    joins: Mutex<Vec<JoinHandle<()>>>,
    ended: AtomicBool,
}

impl Spares {
    pub(super) fn keep(&self, join: JoinHandle<()>) {
        lock(&self.joins).push(join);
    }

    pub(super) fn set_threads(&self, threads: Box<[Thread]>) {
        let first = self.threads.set(threads).is_ok();
        debug_assert!(first, "an executor is built once");
    }

    pub(super) fn wake(&self, spare: usize) {
        if let Some(threads) = self.threads.get() {
            threads[spare].unpark();
        }
    }

    /// With `joins`, waits for each thread's current visit.
    #[expect(
        clippy::disallowed_methods,
        reason = "for the owner's thread, never on a worker"
    )]
    pub(crate) fn end(&self, joins: bool) {
        // Ordering: Relaxed. The unpark orders it.
        self.ended.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut *lock(&self.joins));
        for join in &threads {
            join.thread().unpark();
        }
        for join in threads.into_iter().filter(|_| joins) {
            guard::quietly(|| drop(join.join()));
        }
    }

    pub(super) fn is_ended(&self) -> bool {
        // Ordering: Relaxed. As in `end`.
        self.ended.load(Ordering::Relaxed)
    }
}
