//! Places of jobs on the board, for oracles.
//!
//! It reads the board's sets without a step. Keys in service order are recorded as they change, to
//! avoid scans; a key counts only if the set's own key is this job's.

use std::cell::RefCell;
use std::collections::HashMap;

use pipeline_exec::policy::JobHandle;

use crate::ports::SimSet;

pub(super) struct Membership {
    heaviest: SimSet<JobHandle>,
    served: SimSet<JobHandle>,
    keys: RefCell<HashMap<usize, Vec<JobHandle>>>,
}

impl Membership {
    pub(super) fn of(heaviest: &SimSet<JobHandle>, served: &SimSet<JobHandle>) -> Self {
        Self {
            heaviest: heaviest.twin(),
            served: served.twin(),
            keys: RefCell::default(),
        }
    }

    pub(super) fn put_in(&self, set: u32, key: JobHandle) {
        if set == self.served.number() {
            self.keys.borrow_mut().entry(key.seq).or_default().push(key);
        }
    }

    pub(super) fn taken_out(&self, set: u32, key: JobHandle) {
        if set != self.served.number() {
            return;
        }
        let mut keys = self.keys.borrow_mut();
        if let Some(of_job) = keys.get_mut(&key.seq) {
            of_job.retain(|other| other.tag() != key.tag());
            if of_job.is_empty() {
                keys.remove(&key.seq);
            }
        }
    }

    pub(super) fn of_job(&self, job: JobHandle) -> (bool, bool) {
        (is_in(&self.heaviest, &job), self.tag(job).is_some())
    }

    pub(super) fn tag(&self, job: JobHandle) -> Option<usize> {
        let keys = self.keys.borrow();
        let of_job = keys.get(&job.seq)?.iter();
        of_job
            .filter(|key| is_in(&self.served, key))
            .map(|key| key.tag())
            .min()
    }
}

/// Not merely equal to `key`.
fn is_in(set: &SimSet<JobHandle>, key: &JobHandle) -> bool {
    set.peek(key).is_some_and(|found| found.seq == key.seq)
}
