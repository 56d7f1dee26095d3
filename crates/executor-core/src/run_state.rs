//! The state word: is the gate open, and how much is in flight, in one atomic word.
//!
//! Two separate words would race: a producer checks the gate, the gate closes, the count is found to be zero
//! and everybody goes home, and only then does the producer add its task. In one word the check and the
//! addition are one operation:
//!
//! ```text
//!   63                                   1   0
//!  ┌──────────────────────────────────────┬───┐
//!  │ in-flight count                      │ A │   A = the gate is open
//!  └──────────────────────────────────────┴───┘
//! ```
//!
//! | word | phase | who leaves it |
//! |---|---|---|
//! | `A = 1`, count 0 | open, idle | a producer adds; or the gate closes, and that ends the executor |
//! | `A = 1`, count > 0 | open, busy | the last completion; or the gate closes |
//! | `A = 0`, count > 0 | draining | the last completion, and that ends the executor |
//! | `A = 0`, count 0 | done | nobody, for ever |
//!
//! Whoever brings the word to "closed and zero" is told so by [`Closed::Ended`] or [`Released::Ended`]; exactly
//! one is. The count never under-counts: it covers every task that is queued or running, every producer that
//! was let in and has not pushed yet, and the credits that workers hold (see [`crate::WorkerState`]).

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;

use crate::mutant;
use crate::ports::{Fetch, Memory};

/// Bit of the word that is set while the gate is open.
pub const ACCEPTING_BIT: usize = 1;

/// What one task in flight adds to the word.
pub const COUNT_UNIT: usize = 2;

/// The count that `word` holds.
#[must_use]
#[inline]
pub fn in_flight(word: usize) -> usize {
    word / COUNT_UNIT
}

/// Whether the gate is open in `word`.
#[must_use]
#[inline]
pub fn is_accepting(word: usize) -> bool {
    word & ACCEPTING_BIT != 0
}

/// The state word and the largest count that producers may bring it to.
#[derive(Debug)]
pub struct RunState<W> {
    word: CachePadded<W>,
    count_max: usize,
}

/// Why a producer was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The gate is closed, for good.
    Closed,
    /// The count would overflow into nothing good.
    CountOverflow,
}

/// What closing the gate came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It was closed before; nothing changed.
    Already,
    /// Closed, and there is work in flight: the last completion ends the executor.
    Draining,
    /// Closed, and nothing was in flight: the caller has ended the executor and must tell everybody.
    Ended,
}

/// What putting back counts came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Something is still in flight.
    InFlight,
    /// Nothing is in flight and the gate is open: whoever waits for that must be told.
    Idle,
    /// Nothing is in flight and the gate is closed: the caller has ended the executor and must tell everybody.
    Ended,
}

impl<W> RunState<W> {
    /// An open gate and a count of zero, on a word made by `word`.
    ///
    /// `headroom` is the count that is kept back for what workers borrow without asking.
    pub fn new(headroom: usize, mut word: impl FnMut(usize) -> W) -> Self {
        let count_max = (usize::MAX / COUNT_UNIT).saturating_sub(headroom);
        Self {
            word: CachePadded::new(word(ACCEPTING_BIT)),
            count_max,
        }
    }

    /// The largest count that producers may bring it to; workers may borrow beyond that.
    pub fn count_max(&self) -> usize {
        self.count_max
    }

    /// Lets a producer in: checks the gate and adds `n`, as one operation. With `n` = 0 it only checks.
    ///
    /// # Errors
    ///
    /// Why it was refused; the word is as it was.
    pub fn accept<M: Memory<Word = W>>(&self, mem: &M, n: usize) -> Result<(), Refused> {
        // Ordering: Relaxed. The count is accounting on a single word; the task itself is published by its queue.
        let mut word = mem.load(&self.word, Ordering::Relaxed);
        let n = if mutant::m00_canary() { n + 1 } else { n };
        loop {
            if !is_accepting(word) && !mutant::m01_accept_after_close() {
                return Err(Refused::Closed);
            }
            if in_flight(word)
                .checked_add(n)
                .is_none_or(|count| count > self.count_max)
                && !mutant::m26_count_overflows()
            {
                return Err(Refused::CountOverflow);
            }
            if mutant::m02_gate_and_count_split() {
                // Ordering: Relaxed. As the compare below, of which this is the bad half.
                mem.fetch(&self.word, Fetch::Add(n * COUNT_UNIT), Ordering::Relaxed);
                return Ok(());
            }
            // Ordering: Relaxed. As above; that the gate is still open is the compare, not an order.
            match mem.compare_exchange(&self.word, word, word + n * COUNT_UNIT, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// Adds one for a task from outside; [`RunState::accept`] of 1.
    ///
    /// # Errors
    ///
    /// See [`RunState::accept`].
    pub fn increment_count<M: Memory<Word = W>>(&self, mem: &M) -> Result<(), Refused> {
        self.accept(mem, 1)
    }

    /// Adds `n` for a worker that holds a task or a credit already, whatever the gate says.
    ///
    /// # Panics
    ///
    /// When nothing is in flight (then the caller holds nothing), or when the count would overflow.
    #[inline]
    pub fn acquire<M: Memory<Word = W>>(&self, mem: &M, n: usize) {
        // Ordering: Relaxed. The borrower's own task keeps the count above zero, so no end can be missed.
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

    /// Puts back `n`: tasks that ran or were handed back, or credits.
    ///
    /// # Panics
    ///
    /// When fewer than `n` are in flight.
    pub fn release<M: Memory<Word = W>>(&self, mem: &M, n: usize) -> Released {
        self.release_and_free(mem, n).0
    }

    /// [`RunState::release`], and whether producers were refused for want of room until now: then whoever waits for room must be told.
    ///
    /// Nobody who waits is forgotten if it registers before it is refused for the last time, and whoever is told `true` looks for
    /// those who wait: what refused it was the largest count, and the next to change that word is told.
    ///
    /// # Panics
    ///
    /// When fewer than `n` are in flight.
    pub fn release_and_free<M: Memory<Word = W>>(&self, mem: &M, n: usize) -> (Released, bool) {
        // Ordering: AcqRel. Edge `state/release`: the Release half publishes what the settled tasks wrote; the
        // Acquire half lets whoever reaches zero, here, in `close_gate` or in `is_idle`, see all of it.
        let sound = Ordering::AcqRel;
        let order = if mutant::m24_completion_relaxed() {
            // Ordering: Relaxed. The planted bug: neither half.
            Ordering::Relaxed
        } else {
            sound
        };
        let before = mem.fetch(&self.word, Fetch::Sub(n * COUNT_UNIT), order);
        assert!(
            in_flight(before) >= n,
            "{n} counts were put back, but only {} were out",
            in_flight(before)
        );
        let released = match before - n * COUNT_UNIT {
            0 if mutant::m21_last_completion_ends_nothing() => Released::InFlight,
            0 => Released::Ended,
            ACCEPTING_BIT => Released::Idle,
            _ => Released::InFlight,
        };
        (released, in_flight(before) >= self.count_max)
    }

    /// Closes the gate.
    pub fn close_gate<M: Memory<Word = W>>(&self, mem: &M) -> Closed {
        // Ordering: AcqRel. Edge `state/release`: when nothing is in flight the closer is the one that ends the
        // executor, so it must see what the settled tasks wrote; the Release half lets whoever ends it otherwise see what
        // was written before the close.
        match mem.fetch(&self.word, Fetch::And(!ACCEPTING_BIT), Ordering::AcqRel) {
            ACCEPTING_BIT => Closed::Ended,
            before if is_accepting(before) => Closed::Draining,
            _ => Closed::Already,
        }
    }

    /// How much is in flight. Other parties may change it at once; it over-counts by workers' credits.
    pub fn in_flight<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. A number for people and tests, not a synchronisation.
        in_flight(mem.load(&self.word, Ordering::Relaxed))
    }

    /// Whether the gate is open. It may close at once.
    pub fn is_accepting<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. Advice only; `accept` decides.
        is_accepting(mem.load(&self.word, Ordering::Relaxed))
    }

    /// Whether nothing is in flight; if so, the caller sees what every settled task wrote.
    pub fn is_idle<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Acquire. Edge `state/release`: pairs with the Release half of `release`.
        in_flight(mem.load(&self.word, Ordering::Acquire)) == 0
    }
}

#[cfg(test)]
mod tests;
