//! The state word: one atomic word says whether the executor accepts tasks and how many are in
//! flight.
//!
//! With two words, a producer could read *accepting* and add its task after the executor has closed
//! and found a count of zero. One word makes the check and the addition one operation:
//! ```text
//!   63                                   1   0
//!  ┌──────────────────────────────────────┬───┐
//!  │ in-flight count                      │ A │   A = tasks are accepted
//!  └──────────────────────────────────────┴───┘
//! ```
//!
//! | word | phase | left by |
//! |---|---|---|
//! | `A = 1`, count 0 | open, idle | an accepted task; the close, which ends the executor |
//! | `A = 1`, count > 0 | open, busy | the last release; the close |
//! | `A = 0`, count > 0 | draining | the last release, which ends the executor |
//! | `A = 0`, count 0 | done | never |
//!
//! Exactly one caller brings the word to "closed and zero", and gets [`Closed::Ended`] or
//! [`Released::Ended`]. The count covers tasks that are queued or running, accepted producers that
//! have not pushed yet, and workers' credits.

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;

use crate::ports::memory::{Fetch, Memory};

/// Bit that is set while tasks are accepted.
pub const ACCEPTING_BIT: usize = 1;

/// What one task in flight adds to the word.
pub const COUNT_UNIT: usize = 2;

/// The count that `word` holds.
#[must_use]
#[inline]
pub fn in_flight(word: usize) -> usize {
    word / COUNT_UNIT
}

/// Whether `word` accepts tasks.
#[must_use]
#[inline]
pub fn is_accepting(word: usize) -> bool {
    word & ACCEPTING_BIT != 0
}

/// The state word, and its largest count.
#[derive(Debug)]
pub struct RunState<W> {
    word: CachePadded<W>,
    count_max: usize,
}

/// Why a producer was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The executor is closed.
    Closed,
    /// The count would overflow.
    CountOverflow,
}

/// The effect of closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The executor was closed already.
    Already,
    /// Work is in flight; the last release ends the executor.
    Draining,
    /// Nothing was in flight: the caller has ended the executor and must wake all workers.
    Ended,
}

/// The effect of releasing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Something is still in flight.
    InFlight,
    /// Nothing is in flight and tasks are accepted; the caller must signal waiters.
    Idle,
    /// Nothing is in flight and the executor is closed; see [`Closed::Ended`].
    Ended,
}

impl<W> RunState<W> {
    /// An accepting word with a count of zero. `headroom` is kept back for counts that workers
    /// acquire unchecked.
    pub fn new(headroom: usize, mut word: impl FnMut(usize) -> W) -> Self {
        let count_max = (usize::MAX / COUNT_UNIT).saturating_sub(headroom);
        Self {
            word: CachePadded::new(word(ACCEPTING_BIT)),
            count_max,
        }
    }

    /// Largest count for producers; workers may acquire beyond it.
    pub fn count_max(&self) -> usize {
        self.count_max
    }

    /// Checks the bit and adds `n` tasks of a producer, as one operation. `n` = 0 only checks.
    ///
    /// # Errors
    ///
    /// The reason of the rejection; the word is unchanged.
    pub fn accept<M: Memory<Word = W>>(&self, mem: &M, n: usize) -> Result<(), Refused> {
        // Ordering: Relaxed. The count is accounting on one word; a queue publishes the task
        // itself.
        let mut word = mem.load(&self.word, Ordering::Relaxed);
        loop {
            if !is_accepting(word) {
                return Err(Refused::Closed);
            }
            if in_flight(word)
                .checked_add(n)
                .is_none_or(|count| count > self.count_max)
            {
                return Err(Refused::CountOverflow);
            }
            // Ordering: Relaxed. As above; the compare checks the bit.
            match mem.compare_exchange(&self.word, word, word + n * COUNT_UNIT, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// [`RunState::accept`] of one task.
    pub fn increment_count<M: Memory<Word = W>>(&self, mem: &M) -> Result<(), Refused> {
        self.accept(mem, 1)
    }

    /// Adds `n` for a worker that holds a task or a credit, even if the executor is closed.
    ///
    /// # Panics
    ///
    /// If nothing is in flight, or if the count would overflow.
    #[inline]
    pub fn acquire<M: Memory<Word = W>>(&self, mem: &M, n: usize) {
        // Ordering: Relaxed. The worker's own task keeps the count above zero, so no end can be
        // missed.
        let before = mem.fetch(&self.word, Fetch::Add(n * COUNT_UNIT), Ordering::Relaxed);
        assert!(
            before >= COUNT_UNIT,
            "a worker acquired {n} counts while it held none"
        );
        assert!(
            before <= usize::MAX - n * COUNT_UNIT,
            "the in-flight count overflowed"
        );
    }

    /// Subtracts `n` counts of tasks or credits.
    ///
    /// # Panics
    ///
    /// If fewer than `n` are in flight.
    pub fn release<M: Memory<Word = W>>(&self, mem: &M, n: usize) -> Released {
        self.release_and_free(mem, n).0
    }

    /// [`RunState::release`], and whether the count was at its largest.
    ///
    /// A waiter that registers before its final rejection is not missed: the next caller to lower
    /// the count gets `true` and must notify waiters.
    ///
    /// # Panics
    ///
    /// If fewer than `n` are in flight.
    pub fn release_and_free<M: Memory<Word = W>>(&self, mem: &M, n: usize) -> (Released, bool) {
        // Ordering: AcqRel. Edge `state/release`: the Release half publishes what the released
        // tasks wrote; the Acquire half lets the caller that reaches zero, here, in `close_gate` or
        // in `is_idle`, see all of it.
        let before = mem.fetch(&self.word, Fetch::Sub(n * COUNT_UNIT), Ordering::AcqRel);
        assert!(
            in_flight(before) >= n,
            "{n} counts were put back, but only {} were out",
            in_flight(before)
        );
        let released = match before - n * COUNT_UNIT {
            0 => Released::Ended,
            ACCEPTING_BIT => Released::Idle,
            _ => Released::InFlight,
        };
        (released, in_flight(before) >= self.count_max)
    }

    /// Closes the executor: it accepts no more tasks.
    pub fn close_gate<M: Memory<Word = W>>(&self, mem: &M) -> Closed {
        // Ordering: AcqRel. Edge `state/release`: if nothing is in flight this caller ends the
        // executor and must see what the released tasks wrote; the Release half shows the caller
        // that ends it otherwise what was written before the close.
        match mem.fetch(&self.word, Fetch::And(!ACCEPTING_BIT), Ordering::AcqRel) {
            ACCEPTING_BIT => Closed::Ended,
            before if is_accepting(before) => Closed::Draining,
            _ => Closed::Already,
        }
    }

    /// The count in flight, with workers' credits.
    pub fn in_flight<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A number for people and tests, not a synchronisation.
        in_flight(mem.load(&self.word, Ordering::Relaxed))
    }

    /// Whether tasks are accepted.
    pub fn is_accepting<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Advice only; `accept` decides.
        is_accepting(mem.load(&self.word, Ordering::Relaxed))
    }

    /// Whether nothing is in flight; if so, the caller sees what every released task wrote.
    pub fn is_idle<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Acquire. Edge `state/release`: pairs with the Release half of `release`.
        in_flight(mem.load(&self.word, Ordering::Acquire)) == 0
    }
}

#[cfg(test)]
mod tests;
