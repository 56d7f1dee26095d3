//! Reports to a search's [`Fingerprints`], besides operations.

use std::hash::Hasher;

use super::World;
use crate::fault::Fault;
use crate::fingerprint::{Fingerprints, Resource, StateHasher};
use crate::oracle::TaskId;

impl World {
    /// Must come before the first actor joins.
    pub(crate) fn stop_time(&mut self, fingerprints: bool) {
        debug_assert!(self.actors.is_empty());
        self.timeless = true;
        self.fingerprints = fingerprints.then(Box::default);
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let number = self.schedule.below(bound);
        if bound > 1 {
            self.note(|fingerprints| fingerprints.answered(number as u64));
        }
        number
    }

    /// For what environment actors share beside the ports.
    pub(crate) fn meets(&mut self, changes: bool) {
        self.note(|fingerprints| fingerprints.meets(Resource::Meeting, changes));
    }

    pub(crate) fn tickets_fired(&mut self) {
        self.note(|fingerprints| fingerprints.meets(Resource::Tickets, true));
    }

    pub(crate) fn identity(&self, task: TaskId) -> u64 {
        self.fingerprints
            .as_ref()
            .map_or(0, |fingerprints| fingerprints.identity(task))
    }

    pub(crate) fn at_rest(&mut self, state: impl FnOnce(&mut StateHasher)) {
        self.note(|fingerprints| {
            let mut hasher = StateHasher::default();
            state(&mut hasher);
            fingerprints.at_rest(hasher.finish());
        });
    }

    pub(crate) fn looked_home(&mut self, empty: bool) {
        self.note(|fingerprints| fingerprints.looked_home(empty));
    }

    #[inline]
    pub(super) fn note(&mut self, tell: impl FnOnce(&mut Fingerprints)) {
        if let Some(fingerprints) = &mut self.fingerprints {
            tell(fingerprints);
        }
    }

    /// `false` is as if no such fault were left.
    pub(super) fn note_fault(&mut self, fault: Fault, strikes: bool) {
        let left = self.faults.left(fault);
        self.note(|fingerprints| {
            fingerprints.answered(u64::from(strikes));
            if strikes {
                fingerprints.changes(Resource::Faults(fault as usize), left.into());
            } else {
                fingerprints.looks_at(Resource::Faults(fault as usize), u64::from(left));
            }
        });
    }

    #[cold]
    pub(super) fn begins(&mut self, actor: usize) {
        if let Some(fingerprints) = &mut self.fingerprints {
            fingerprints.begins(actor);
            if fingerprints.is_over() {
                self.fingerprints = None;
            }
        }
    }
}
