//! Shared words as plain cells.
//!
//! A word knows its name, for traces and oracles. Names follow the order in which
//! [`Scheduler::new`] makes its words.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};
use executor_core::{ExecutorConfig, Scheduler};

/// The name of a shared word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordName {
    /// The state word.
    State,
    /// The sleep word.
    Sleep,
    /// The source of sleepers' stamps.
    Stamps,
    /// A worker's slot in the set of sleepers.
    Slot(u32),
    /// The number of parties that wait until nothing is in flight.
    Waiters,
    /// Any other word, in order of creation.
    Other(u32),
}

const FIRST_SLOT: usize = 3;

impl WordName {
    /// Returns the name of the word that [`Scheduler::new`] makes after `made` others.
    #[must_use]
    pub fn of_scheduler(made: usize, workers: usize) -> Self {
        match made {
            0 => Self::State,
            1 => Self::Sleep,
            2 => Self::Stamps,
            n if n < FIRST_SLOT + workers => Self::Slot((n - FIRST_SLOT) as u32),
            _ => Self::Waiters,
        }
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

/// A shared word.
#[derive(Debug)]
pub struct SimWord {
    pub(crate) name: WordName,
    pub(crate) value: Cell<usize>,
}

impl SimWord {
    pub(crate) fn new(name: WordName, value: usize) -> Self {
        Self {
            name,
            value: Cell::new(value),
        }
    }

    pub(crate) fn scheduler(config: ExecutorConfig) -> Scheduler<Self> {
        let workers = config.workers;
        let mut made = 0;
        Scheduler::new(config, |value| {
            made += 1;
            Self::new(WordName::of_scheduler(made - 1, workers), value)
        })
    }
}

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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use executor_core::Park;
    use executor_core::ports::{Parking, Unpark, Waiting};

    use super::*;

    #[derive(Default)]
    struct Note(RefCell<Vec<WordName>>);

    impl Note {
        fn on(&self, word: &SimWord) -> usize {
            self.0.borrow_mut().push(word.name);
            word.value.get()
        }

        fn take(&self) -> Vec<WordName> {
            let mut names = self.0.take();
            names.dedup();
            names
        }
    }

    impl Memory for Note {
        type Word = SimWord;

        fn load(&self, word: &SimWord, _order: Ordering) -> usize {
            self.on(word)
        }

        fn store(&self, word: &SimWord, value: usize, _order: Ordering) {
            self.on(word);
            word.value.set(value);
        }

        fn fetch(&self, word: &SimWord, fetch: Fetch, _order: Ordering) -> usize {
            let before = self.on(word);
            word.value.set(fetch.apply(before));
            before
        }

        fn compare_exchange(
            &self,
            word: &SimWord,
            current: usize,
            new: usize,
            _order: Ordering,
        ) -> Result<usize, usize> {
            let before = self.on(word);
            assert_eq!(before, current, "nothing comes between");
            word.value.set(new);
            Ok(before)
        }

        fn fence(&self, _order: Ordering) {}
    }

    impl Unpark for Note {
        fn unpark(&self, _worker: usize) {}

        fn signal_waiters(&self) {}
    }

    impl Parking for Note {
        fn park(&self, _timeout: Option<Duration>) {
            unreachable!("work is found in the last look");
        }

        fn spin(&self, _times: u32) {}

        fn yield_now(&self) {}
    }

    impl Waiting for Note {
        fn ticket(&self) -> u64 {
            0
        }

        fn wait_past(&self, _ticket: u64) {
            unreachable!("nothing is in flight");
        }
    }

    #[test]
    fn the_names_are_those_of_the_words_that_core_uses() {
        use WordName::{Sleep, Slot, Stamps, State, Waiters};

        let scheduler = SimWord::scheduler(ExecutorConfig::new(2));
        let note = Note::default();
        scheduler.wait_idle(&note);
        assert_eq!(note.take(), [Waiters, State, Waiters]);
        assert!(scheduler.sleep().begin_search(&note));
        assert_eq!(note.take(), [Sleep]);
        scheduler
            .sleep()
            .sleep(&note, 1, true, Park::default(), || Some(()));
        assert_eq!(note.take(), [Stamps, Slot(1), Sleep, Slot(1)]);
        scheduler.close(&note);
        assert_eq!(note.take(), [State, Sleep, Slot(0), Slot(1)]);
    }
}
