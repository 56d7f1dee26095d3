//! Shared words as plain cells.
//!
//! A word knows its name, so that a trace can be read and the oracles know the two words that they watch. The names
//! follow the order in which [`Scheduler::new`] asks for its words; a test below holds on to that.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};
use executor_core::{ExecutorConfig, Scheduler};

/// A shared word.
#[derive(Debug)]
pub struct SimWord {
    pub(crate) name: WordName,
    pub(crate) value: Cell<usize>,
}

/// Which word it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordName {
    /// The executor's gate and count.
    State,
    /// Who searches and who sleeps.
    Sleep,
    /// The source of sleepers' stamps.
    Stamps,
    /// A worker's registration as a sleeper.
    Slot(u32),
    /// Parties that wait for the count to be zero.
    Waiters,
    /// Any other word, by the order of making.
    Other(u32),
}

impl SimWord {
    pub(crate) fn new(name: WordName, value: usize) -> Self {
        Self {
            name,
            value: Cell::new(value),
        }
    }

    /// The words of an executor of `config`.
    pub(crate) fn scheduler(config: ExecutorConfig) -> Scheduler<Self> {
        let slots = 3..3 + config.workers;
        let mut made = 0;
        Scheduler::new(config, |value| {
            let name = match made {
                0 => WordName::State,
                1 => WordName::Sleep,
                2 => WordName::Stamps,
                n if slots.contains(&n) => WordName::Slot((n - slots.start) as u32),
                _ => WordName::Waiters,
            };
            made += 1;
            Self::new(name, value)
        })
    }
}

impl fmt::Display for WordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::State => f.write_str("state word"),
            Self::Sleep => f.write_str("sleep word"),
            Self::Stamps => f.write_str("stamps"),
            Self::Slot(worker) => write!(f, "slot of worker {worker}"),
            Self::Waiters => f.write_str("waiters"),
            Self::Other(n) => write!(f, "word {n}"),
        }
    }
}

/// Reads words without anybody noticing: the oracles' eye.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glass;

impl Memory for Glass {
    type Word = SimWord;

    fn load(&self, word: &SimWord, _order: Ordering) -> usize {
        word.value.get()
    }

    fn store(&self, word: &SimWord, _value: usize, _order: Ordering) {
        unreachable!("an oracle does not write {}", word.name);
    }

    fn fetch(&self, word: &SimWord, _fetch: Fetch, _order: Ordering) -> usize {
        unreachable!("an oracle does not write {}", word.name);
    }

    fn compare_exchange(
        &self,
        word: &SimWord,
        _current: usize,
        _new: usize,
        _order: Ordering,
    ) -> Result<usize, usize> {
        unreachable!("an oracle does not write {}", word.name);
    }

    fn fence(&self, _order: Ordering) {}
}
