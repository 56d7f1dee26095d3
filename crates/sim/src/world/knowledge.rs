//! What the world lets a [`History`] know, beside the operations themselves, and how it comes to have one.

use std::hash::Hasher;

use super::World;
use crate::fault::Fault;
use crate::history::{History, StateHasher, Thing};
use crate::oracle::TaskId;

impl World {
    /// Nothing takes time and nobody pauses, and states are known if `history` says so. Before any party has joined.
    pub(crate) fn stop_time(&mut self, history: bool) {
        debug_assert!(self.parties.is_empty());
        self.timeless = true;
        self.history = history.then(Box::default);
    }

    /// A number below `bound`, for whoever goes.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let number = self.schedule.below(bound);
        if bound > 1 {
            self.knows(|history| history.answered(number as u64));
        }
        number
    }

    /// Parties outside tell each other something beside the ports.
    pub(crate) fn meets(&mut self, changes: bool) {
        self.knows(|history| history.meets(Thing::Meeting, changes));
    }

    /// Tickets of a job have fired.
    pub(crate) fn tickets_fired(&mut self) {
        self.knows(|history| history.meets(Thing::Tickets, true));
    }

    /// What tells `task` from others, if states are known.
    pub(crate) fn identity(&self, task: TaskId) -> u64 {
        self.history.as_ref().map_or(0, |history| history.identity(task))
    }

    /// Whoever goes has come to a place from where what it does next follows from `state` and nothing else.
    pub(crate) fn at_rest(&mut self, state: impl FnOnce(&mut StateHasher)) {
        self.knows(|history| {
            let mut hasher = StateHasher::default();
            state(&mut hasher);
            history.at_rest(hasher.finish());
        });
    }

    /// Whoever goes has seen whether its own queue is empty.
    pub(crate) fn looked_home(&mut self, empty: bool) {
        self.knows(|history| history.looked_home(empty));
    }

    /// Lets the history know, if there is one.
    #[inline]
    pub(super) fn knows(&mut self, tell: impl FnOnce(&mut History)) {
        if let Some(history) = &mut self.history {
            tell(history);
        }
    }

    /// It was asked whether a fault strikes. `false` is as if there were none left.
    pub(super) fn knows_of_fault(&mut self, fault: Fault, strikes: bool) {
        let left = self.faults.left(fault);
        self.knows(|history| {
            history.answered(u64::from(strikes));
            if strikes {
                history.changes(Thing::Faults(fault as usize), left.into());
            } else {
                history.looks_at(Thing::Faults(fault as usize), u64::from(left));
            }
        });
    }

    /// It is `party`'s turn.
    #[cold]
    pub(super) fn begins(&mut self, party: usize) {
        if let Some(history) = &mut self.history {
            history.begins(party);
            if history.is_over() {
                self.history = None;
            }
        }
    }
}
