//! Spare threads: parked until the policy wakes one, which then stands in for workers in long turns.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use executor_core::ports::Clock;

use super::Hub;
use crate::error::panic_message;
use crate::policy::{PipelinePorts, guard, stand_in};

/// An executor's spare threads.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    threads: OnceLock<Box<[Thread]>>,
    joins: Mutex<Vec<JoinHandle<()>>>,
    ended: AtomicBool,
}

impl Spares {
    /// Starts the threads of `hub`, named `{name}-spare-{number}`; each calls `on_start` with its worker's number first.
    ///
    /// # Errors
    ///
    /// When a thread cannot be had. Those that were started end.
    pub(crate) fn start(
        hub: &Arc<Hub>,
        name: &str,
        stack_size: Option<usize>,
        on_start: &(impl Fn(usize) + Clone + Send + 'static),
    ) -> io::Result<()> {
        let mut threads = Vec::new();
        for spare in 0..hub.shared().spares() {
            let mut builder = thread::Builder::new().name(format!("{name}-spare-{spare}"));
            if let Some(bytes) = stack_size {
                builder = builder.stack_size(bytes);
            }
            let (own, on_start) = (Arc::clone(hub), on_start.clone());
            let join = builder.spawn(move || own.run_spare(spare, on_start));
            let join = match join {
                Ok(join) => join,
                Err(error) => {
                    hub.spares.end(true);
                    return Err(error);
                }
            };
            threads.push(join.thread().clone());
            hub.spares.lock().push(join);
        }
        let first = hub.spares.threads.set(threads.into()).is_ok();
        debug_assert!(first, "an executor is built once");
        Ok(())
    }

    /// Wakes one from its park.
    pub(super) fn wake(&self, spare: usize) {
        if let Some(threads) = self.threads.get() {
            threads[spare].unpark();
        }
    }

    /// Ends the threads after what they run now; waits for that if `joins`.
    #[expect(
        clippy::disallowed_methods,
        reason = "for the owner's thread, never on a worker"
    )]
    pub(crate) fn end(&self, joins: bool) {
        // Ordering: Relaxed. The unpark orders it.
        self.ended.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut *self.lock());
        for join in &threads {
            join.thread().unpark();
        }
        for join in threads.into_iter().filter(|_| joins) {
            // What user code panics with is caught in its job.
            guard::quietly(|| drop(join.join()));
        }
    }

    fn is_ended(&self) -> bool {
        // Ordering: Relaxed. As in `end`.
        self.ended.load(Ordering::Relaxed)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.joins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hub {
    /// The life of spare thread number `spare`.
    fn run_spare(self: Arc<Self>, spare: usize, on_start: impl Fn(usize)) {
        let number = self.shared().workers() + 1 + spare;
        guard::quietly(|| on_start(number));
        self.as_worker(number, || {
            loop {
                let life =
                    || stand_in::run_spare(&*self, spare, |until_ns| self.spare_sleeps(spare, until_ns));
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(life)) {
                    Ok(()) => return,
                    // Foreign code that is not expected to panic, such as a subscriber's.
                    Err(payload) => {
                        let message = panic_message(&*payload);
                        guard::discard(payload);
                        guard::quietly(|| tracing::error!(message, spare, "a spare thread's visit panicked"));
                        stand_in::recover(&*self, spare);
                    }
                }
            }
        });
    }

    /// Blocks until a time, or until the thread is awake. `false` when the executor ends.
    #[expect(
        clippy::disallowed_methods,
        reason = "a spare thread sleeps until it is needed"
    )]
    fn spare_sleeps(&self, spare: usize, until_ns: Option<u64>) -> bool {
        match until_ns {
            None => {
                while !self.spares.is_ended() && !self.shared().spare_is_awake(self, spare) {
                    thread::park();
                }
            }
            Some(until_ns) => {
                let left_ns = until_ns.saturating_sub(self.now_ns());
                if left_ns > 0 && !self.spares.is_ended() {
                    thread::park_timeout(Duration::from_nanos(left_ns));
                }
            }
        }
        !self.spares.is_ended()
    }
}
