//! Where jobs stand on the board, for oracles, without going down its orders.
//!
//! The board's sets are looked at beside the policy; which keys a job may have in the order of service is noted as they are put in
//! and taken out, so that a look is a search and not a walk. A key counts only if it is this job's in the set itself.

use std::cell::RefCell;
use std::collections::HashMap;

use pipeline_exec::JobHandle;

use crate::ports::SimSet;

/// A view of the board's orders.
pub(super) struct Standing {
    heaviest: SimSet<JobHandle>,
    served: SimSet<JobHandle>,
    /// Keys in the order of service by the job's number.
    keys: RefCell<HashMap<usize, Vec<JobHandle>>>,
}

impl Standing {
    /// A view of these two orders.
    pub(super) fn of(heaviest: &SimSet<JobHandle>, served: &SimSet<JobHandle>) -> Self {
        Self {
            heaviest: heaviest.twin(),
            served: served.twin(),
            keys: RefCell::default(),
        }
    }

    /// `key` was put into the set with this number.
    pub(super) fn put_in(&self, set: u32, key: JobHandle) {
        if set == self.served.number() {
            self.keys.borrow_mut().entry(key.seq).or_default().push(key);
        }
    }

    /// `key` was taken out of the set with this number.
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

    /// In which of the orders `job` stands: heaviest first, least served first.
    pub(super) fn of_job(&self, job: JobHandle) -> (bool, bool) {
        (is_in(&self.heaviest, &job), self.tag(job).is_some())
    }

    /// The tag with which `job` stands in the order of service: the lower, if it has two keys for a moment.
    pub(super) fn tag(&self, job: JobHandle) -> Option<usize> {
        let keys = self.keys.borrow();
        let of_job = keys.get(&job.seq)?.iter();
        of_job
            .filter(|key| is_in(&self.served, key))
            .map(|key| key.tag())
            .min()
    }
}

/// Whether the key in the set is this very job's, and not another's that counts as equal.
fn is_in(set: &SimSet<JobHandle>, key: &JobHandle) -> bool {
    set.peek(key).is_some_and(|found| found.seq == key.seq)
}
