//! The job board: which jobs have slots that nobody has claimed.
//!
//! The board holds small keys, and a key never changes. A job's body lives in a table at [`JobHandle::index`]: what a skip list
//! removes is freed late, and a user's job must not be. What changes while a job waits, the service that it has received, is a
//! word in its state and not part of any key; re-keying would make a job vanish for an instant.
//!
//! The same jobs stand in two orders, heaviest first and oldest first:
//!
//! ```text
//!   insert ──► oldest ──► heaviest        by `settle`, when there is something to claim
//!   remove ◄── oldest ◄── heaviest        by `settle`, when there is not
//! ```
//!
//! Each order is a set of its own, and a job enters them one after the other. One party at a time changes a job's keys, see
//! [`standing`](super::standing), so the board agrees with the claims but for the moment in which that party is at it: a job with
//! unclaimed slots may not be on yet, and one without may still be, and whoever finds it then looks further.

use std::cmp::Ordering;

use executor_core::ports::OrderedSet;

use crate::mutant;

/// What the board knows of a job. The greatest is the heaviest, and of equally heavy ones the one submitted first.
///
/// ```
/// use pipeline_exec::JobHandle;
///
/// let heavy = JobHandle { cost: 9, seq: 7, index: 0 };
/// let light = JobHandle { cost: 2, seq: 1, index: 1 };
/// let light_and_later = JobHandle { cost: 2, seq: 3, index: 2 };
/// assert!(heavy > light && light > light_and_later);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobHandle {
    /// Estimated work.
    pub cost: u64,
    /// Number in the order of submission. No two jobs of an executor have the same.
    pub seq: usize,
    /// Place of the job's body in the table.
    pub index: usize,
}

impl Ord for JobHandle {
    fn cmp(&self, other: &Self) -> Ordering {
        if mutant::m16_tie_break_inverted() || mutant::m17_sequence_not_in_the_key() {
            return self.misordered(other);
        }
        self.cost
            .cmp(&other.cost)
            .then_with(|| other.seq.cmp(&self.seq))
            .then_with(|| other.index.cmp(&self.index))
    }
}

impl PartialOrd for JobHandle {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl JobHandle {
    /// The key of the same job where everything weighs the same, so that submission is the order.
    fn weightless(self) -> Self {
        Self { cost: 0, ..self }
    }

    /// The order with one of the two bugs that can be planted in it.
    fn misordered(&self, other: &Self) -> Ordering {
        let by_cost = self.cost.cmp(&other.cost);
        if mutant::m17_sequence_not_in_the_key() {
            return by_cost;
        }
        by_cost.then_with(|| self.seq.cmp(&other.seq))
    }
}

/// The board, on a kind of ordered set.
#[derive(Debug, Default)]
pub struct JobBoard<B> {
    heaviest: B,
    oldest: B,
}

impl<B> JobBoard<B> {
    /// An empty board of two empty sets.
    pub fn new(heaviest: B, oldest: B) -> Self {
        Self { heaviest, oldest }
    }

    /// Puts a job on the board.
    pub fn insert<E: OrderedSet<JobHandle, Set = B>>(&self, env: &E, job: JobHandle) {
        env.insert(&self.oldest, job.weightless());
        let new = env.insert(&self.heaviest, job);
        assert!(new, "job {} was put on the board twice", job.seq);
    }

    /// Takes a job off the board. `false` if it was not on it.
    pub fn remove<E: OrderedSet<JobHandle, Set = B>>(&self, env: &E, job: JobHandle) -> bool {
        let was_there = env.remove(&self.heaviest, &job);
        env.remove(&self.oldest, &job.weightless());
        was_there
    }

    /// The heaviest job, or the heaviest of those that come after `below` in this order.
    pub fn heaviest<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        below: Option<JobHandle>,
    ) -> Option<JobHandle> {
        env.last(&self.heaviest, below.as_ref())
    }

    /// The job submitted first, or the first of those after `below` in this order. The cost in it is not the job's.
    pub fn oldest<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        below: Option<JobHandle>,
    ) -> Option<JobHandle> {
        env.last(&self.oldest, below.as_ref())
    }
}
