//! The words that everybody shares, and what anybody may do with them from outside.
//!
//! A producer is let in by the state word, pushes, and wakes; a closer shuts the gate; an aborter shuts it and
//! tells the workers to hand back instead of run; whoever brings the word to "closed and zero" wakes everybody
//! for the last time. The phases are told in the shutdown chapter:
#![doc = include_str!("shutdown.md")]

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;

use crate::config::ExecutorConfig;
use crate::credit::LocalCredits;
use crate::error::Rejected;
use crate::mutant;
use crate::ports::{Fetch, Memory, ProducerPorts, Unpark, Waiting};
use crate::run_state::{Closed, RunState, Released};
use crate::sleep::Sleep;

/// State word, sleep word and those who wait, of one executor.
#[derive(Debug)]
pub struct Scheduler<W> {
    state: RunState<W>,
    sleep: Sleep<W>,
    waiters: CachePadded<W>,
    config: ExecutorConfig,
}

impl<W> Scheduler<W> {
    /// An open, idle executor of `config.workers` workers; words are made by `word`.
    ///
    /// # Panics
    ///
    /// If `config` is not valid; see [`ExecutorConfig::validate`].
    pub fn new(config: ExecutorConfig, mut word: impl FnMut(usize) -> W) -> Self {
        if let Err(error) = config.validate() {
            panic!("{error}");
        }
        let headroom = config
            .workers
            .saturating_mul(LocalCredits::held_max(config.credit_block, config.private_tasks));
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

    /// Who searches and who sleeps.
    pub fn sleep(&self) -> &Sleep<W> {
        &self.sleep
    }

    /// What was set.
    pub fn config(&self) -> &ExecutorConfig {
        &self.config
    }

    /// Hands over one task from outside. Gives the number of workers woken for it.
    ///
    /// # Errors
    ///
    /// The task, when the gate is closed.
    pub fn spawn_external<T, P>(&self, ports: &P, task: T) -> Result<usize, Rejected<T>>
    where
        P: ProducerPorts<T> + Memory<Word = W>,
    {
        if self.state.increment_count(ports).is_err() {
            return Err(Rejected(task));
        }
        ports.inject(task);
        if mutant::m39_timeout_instead_of_wake() && self.config.park_timeout.is_some() {
            return Ok(0);
        }
        Ok(self.sleep.notify_of_injected(ports, 1))
    }

    /// Hands over many tasks from outside, all or none. Gives the number of workers woken for them.
    ///
    /// # Errors
    ///
    /// All the tasks, when the gate is closed or the count would overflow.
    pub fn spawn_external_batch<T, P>(&self, ports: &P, tasks: Vec<T>) -> Result<usize, Rejected<Vec<T>>>
    where
        P: ProducerPorts<T> + Memory<Word = W>,
    {
        let count = tasks.len();
        if mutant::m36_large_batch_refused() && count > self.config.workers {
            return Err(Rejected(tasks));
        }
        if mutant::m10_half_a_batch() {
            return self.spawn_one_by_one(ports, tasks);
        }
        let counted = if mutant::m11_batch_counted_as_one() {
            count.min(1)
        } else {
            count
        };
        if self.state.accept(ports, counted).is_err() {
            return Err(Rejected(tasks));
        }
        if count == 0 {
            return Ok(0);
        }
        ports.inject_batch(tasks);
        let woken = self.sleep.notify_of_injected(ports, count);
        assert!(
            !mutant::m43_batch_takes_for_granted() || count > 1,
            "a batch of one"
        );
        Ok(woken)
    }

    /// What [`mutant::m10_half_a_batch`] makes of a batch: gives back only what the gate kept out.
    fn spawn_one_by_one<T, P>(&self, ports: &P, tasks: Vec<T>) -> Result<usize, Rejected<Vec<T>>>
    where
        P: ProducerPorts<T> + Memory<Word = W>,
    {
        let mut woken = 0;
        let mut tasks = tasks.into_iter();
        while let Some(task) = tasks.next() {
            match self.spawn_external(ports, task) {
                Ok(more) => woken += more,
                Err(Rejected(task)) => return Err(Rejected(std::iter::once(task).chain(tasks).collect())),
            }
        }
        Ok(woken)
    }

    /// Closes the gate: what is in flight, and what that spawns, still runs. Then the executor ends.
    pub fn close<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        if self.state.close_gate(ports) == Closed::Ended {
            self.end(ports);
        }
    }

    /// Closes the gate, and lets workers hand back every task from now on instead of running it.
    pub fn abort<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        // The gate first: nothing may be accepted that nobody will run.
        let closed = self.state.close_gate(ports);
        self.sleep.abort(ports);
        if closed == Closed::Ended {
            self.end(ports);
        }
    }

    /// Puts back `n` counts, and tells whoever must know what that came to.
    pub fn release<P: Memory<Word = W> + Unpark>(&self, ports: &P, n: usize) {
        match self.state.release(ports, n) {
            Released::InFlight => {}
            Released::Idle => self.tell_waiters(ports),
            Released::Ended => self.end(ports),
        }
    }

    /// Blocks until nothing is in flight, whether the gate is open or closed.
    pub fn wait_idle<P: Memory<Word = W> + Waiting>(&self, ports: &P) {
        // Ordering: Relaxed. Ordered by the fence.
        ports.fetch(&self.waiters, Fetch::Add(1), Ordering::Relaxed);
        // Ordering: SeqCst fence. Edge `idle/wait`: pairs with the fence in `tell_waiters`. Whichever comes second,
        // its side sees the other's write: the count at zero, or the waiter.
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

    /// The word is closed and zero, and this caller is the one that brought it there.
    fn end<P: Memory<Word = W> + Unpark>(&self, ports: &P) {
        self.sleep.finish(ports);
        if !mutant::m38_end_tells_no_waiters() {
            ports.signal_waiters();
        }
    }
}
