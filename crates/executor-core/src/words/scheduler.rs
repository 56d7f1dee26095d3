//! The shared words of an executor, and how producers and owners use them.
#![doc = include_str!("shutdown.md")]

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;

use super::credits::LocalCredits;
use super::run_state::{Closed, Released, RunState};
use super::sleep::Sleep;
use crate::config::ExecutorConfig;
use crate::error::Rejected;
use crate::ports::memory::{Fetch, Memory};
use crate::ports::parking::{Unpark, Waiting};
use crate::ports::queues::Inject;

/// The shared words of one executor.
#[derive(Debug)]
pub struct Scheduler<W> {
    state: RunState<W>,
    sleep: Sleep<W>,
    waiters: CachePadded<W>,
    config: ExecutorConfig,
}

impl<W> Scheduler<W> {
    /// An open, idle executor; `word` makes words.
    ///
    /// # Panics
    ///
    /// If `config` is not valid.
    pub fn new(config: ExecutorConfig, mut word: impl FnMut(usize) -> W) -> Self {
        if let Err(error) = config.validate() {
            panic!("{error}");
        }
        let headroom = config.workers.saturating_mul(LocalCredits::held_max(
            config.tuning.credit_block,
            config.tuning.private_tasks,
        ));
        Self {
            state: RunState::new(headroom, &mut word),
            sleep: Sleep::new(config.workers, config.searchers_max(), &mut word),
            waiters: CachePadded::new(word(0)),
            config,
        }
    }

    /// The state word.
    pub fn state(&self) -> &RunState<W> {
        &self.state
    }

    /// The sleep word.
    pub fn sleep(&self) -> &Sleep<W> {
        &self.sleep
    }

    /// The settings.
    pub fn config(&self) -> &ExecutorConfig {
        &self.config
    }

    /// Adds one task from outside, and returns the number of workers woken.
    ///
    /// # Errors
    ///
    /// The task, if the executor is closed.
    pub fn spawn_external<T, P>(&self, ports: &P, task: T) -> Result<usize, Rejected<T>>
    where
        P: Memory<Word = W> + Inject<T> + Unpark,
    {
        if self.state.increment_count(ports).is_err() {
            return Err(Rejected(task));
        }
        ports.inject(task);
        Ok(self.sleep.notify_of_injected(ports, 1))
    }

    /// Adds all tasks or none, and returns the number of workers woken.
    ///
    /// # Errors
    ///
    /// All tasks, if the executor is closed or the count would overflow.
    pub fn spawn_external_batch<T, P>(&self, ports: &P, tasks: Vec<T>) -> Result<usize, Rejected<Vec<T>>>
    where
        P: Memory<Word = W> + Inject<T> + Unpark,
    {
        let count = tasks.len();
        if self.state.accept(ports, count).is_err() {
            return Err(Rejected(tasks));
        }
        if count == 0 {
            return Ok(0);
        }
        ports.inject_batch(tasks);
        Ok(self.sleep.notify_of_injected(ports, count))
    }

    /// Closes the executor: it ends when all tasks in flight, and those they spawn, have run.
    pub fn close<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        if self.state.close_gate(ports) == Closed::Ended {
            self.end(ports);
        }
    }

    /// Closes the executor; from now on workers return tasks instead of running them.
    pub fn abort<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        // Closing comes first: a task accepted after ABORT would not run.
        let closed = self.state.close_gate(ports);
        self.sleep.abort(ports);
        if closed == Closed::Ended {
            self.end(ports);
        }
    }

    /// Releases `n` counts; if none is left, signals waiters or ends the executor.
    pub fn release<P: Memory<Word = W> + Unpark>(&self, ports: &P, n: usize) {
        match self.state.release(ports, n) {
            Released::InFlight => {}
            Released::Idle => self.tell_waiters(ports),
            Released::Ended => self.end(ports),
        }
    }

    /// Blocks until nothing is in flight, even if the executor is open.
    pub fn wait_idle<P: Memory<Word = W> + Waiting>(&self, ports: &P) {
        // Ordering: Relaxed. Ordered by the fence.
        ports.fetch(&self.waiters, Fetch::Add(1), Ordering::Relaxed);
        // Ordering: SeqCst fence. Edge `idle/wait`: pairs with the fence in `tell_waiters`. The
        // side of the later fence sees the other's write: the count at zero, or the waiter.
        ports.fence(Ordering::SeqCst);
        loop {
            let ticket = ports.ticket();
            if self.state.is_idle(ports) {
                break;
            }
            ports.wait_past(ticket);
        }
        // Ordering: Relaxed. A waiter too many only costs a signal.
        ports.fetch(&self.waiters, Fetch::Sub(1), Ordering::Relaxed);
    }

    fn tell_waiters<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        // Ordering: SeqCst fence. Edge `idle/wait`: pairs with the fence in `wait_idle`.
        ports.fence(Ordering::SeqCst);
        // Ordering: Relaxed. Ordered by the fence.
        if ports.load(&self.waiters, Ordering::Relaxed) > 0 {
            ports.signal_waiters();
        }
    }

    fn end<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        self.sleep.finish(ports);
        ports.signal_waiters();
    }
}
