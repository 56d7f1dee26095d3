//! The job board: which jobs have slots that nobody has claimed.
//!
//! The board holds small keys, and a key never changes. A job's body lives in a table at [`JobHandle::index`]: what a skip list
//! removes is freed late, and a user's job must not be.
//!
//! The same jobs stand in two orders, heaviest first and least served first. What a job has received changes, so in the second order
//! it gets a new key after each visit, its *tag* in it: the new key is put in before the old one is taken out, so that the job never
//! vanishes.
//!
//! ```text
//!   insert ──► served ──► heaviest        by `settle`, when there is something to claim
//!   re-key     served                     by `settle`, when the job has received service: new key in, old key out
//!   remove ◄── served ◄── heaviest        by `settle`, when there is nothing
//! ```
//!
//! A *single*, a job of one slot in one stage whose cost nobody has stated, stands in neither: its handle goes through a queue, first
//! in, first out, and whoever takes the handle claims the slot. It never gets a key, and nobody else can find it meanwhile.
//!
//! ```text
//!   submit ──► singles ──► a main worker, in turns with the young jobs of the board; a reserve worker, when nothing is heavy
//! ```
//!
//! A single that is cancelled leaves a handle without a job behind. So that there is no end to neither, whoever appends to a queue
//! of more handles than there may be jobs takes out two, and puts back what is alive.
//!
//! Jobs with a deadline stand in an order of their own besides, earliest first, from their submission to their end. Each look begins with
//! closing those whose time is over, so that a job that only waits ends in time as well.
//!
//! Each order is a set of its own, and a job enters them one after the other. One party at a time changes a job's keys, see
//! [`standing`](super::standing), so the board agrees with the claims but for the moment in which that party is at it: a job with
//! unclaimed slots may not be on yet, and one without may still be, and whoever finds it then looks further.

use std::cmp::Ordering;

use executor_core::ports::{Fifo, OrderedSet};

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
    /// The job's key in the order of service when its tag is `tag`: the greatest has the lowest.
    fn served(self, tag: usize) -> Self {
        Self {
            cost: u64::MAX - tag as u64,
            ..self
        }
    }

    /// The job's key in the order of deadlines: the greatest has the earliest.
    fn due(self, deadline_ns: u64) -> Self {
        Self {
            cost: u64::MAX - deadline_ns,
            ..self
        }
    }

    /// The tag in a key of the order of service.
    #[must_use]
    pub fn tag(self) -> usize {
        (u64::MAX - self.cost) as usize
    }

    /// In the order of service, right before every key whose tag is at least `tag`.
    fn before_tag(tag: usize) -> Option<Self> {
        let cost = u64::MAX - tag.checked_sub(1)? as u64;
        Some(Self {
            cost,
            seq: usize::MAX,
            index: usize::MAX,
        })
    }

    /// Whether it is no job's key, but where a search in the order of service began.
    #[must_use]
    pub fn is_bound(self) -> bool {
        self.seq == usize::MAX
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
pub struct JobBoard<B, Q> {
    heaviest: B,
    served: B,
    singles: Q,
    deadlines: B,
}

impl<B, Q> JobBoard<B, Q> {
    /// An empty board of three empty sets and an empty queue.
    pub fn new(heaviest: B, served: B, deadlines: B, singles: Q) -> Self {
        Self {
            heaviest,
            served,
            singles,
            deadlines,
        }
    }

    /// Puts a job on the board that has received `tag`.
    pub fn insert<E: OrderedSet<JobHandle, Set = B>>(&self, env: &E, job: JobHandle, tag: usize) {
        env.insert(&self.served, job.served(tag));
        let new = env.insert(&self.heaviest, job);
        assert!(new, "job {} was put on the board twice", job.seq);
    }

    /// Takes a job off the board on which it stands with `tag`. `false` if it was not on it.
    pub fn remove<E: OrderedSet<JobHandle, Set = B>>(&self, env: &E, job: JobHandle, tag: usize) -> bool {
        let was_there = env.remove(&self.heaviest, &job);
        env.remove(&self.served, &job.served(tag));
        was_there
    }

    /// A job that stood with the tag `from` has received `to`.
    pub(crate) fn rekey<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        job: JobHandle,
        from: usize,
        to: usize,
    ) {
        if mutant::m18_rekeyed_by_remove_and_insert() {
            env.remove(&self.served, &job.served(from));
        }
        env.insert(&self.served, job.served(to));
        env.remove(&self.served, &job.served(from));
    }

    /// The heaviest job, or the heaviest of those that come after `below` in this order.
    pub fn heaviest<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        below: Option<JobHandle>,
    ) -> Option<JobHandle> {
        env.last(&self.heaviest, below.as_ref())
    }

    /// The least served job, or the least served of those that come after `below` in this order. The cost in a key of this
    /// order is not the job's; see [`JobHandle::tag`].
    pub fn least_served<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        below: Option<JobHandle>,
    ) -> Option<JobHandle> {
        env.last(&self.served, below.as_ref())
    }

    /// The least served job whose tag is at least `tag`.
    pub(crate) fn least_served_from<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        tag: usize,
    ) -> Option<JobHandle> {
        env.last(&self.served, JobHandle::before_tag(tag).as_ref())
    }

    /// Notes that a job ends at `deadline_ns` at the latest.
    pub(crate) fn insert_deadline<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        job: JobHandle,
        deadline_ns: u64,
    ) {
        env.insert(&self.deadlines, job.due(deadline_ns));
    }

    /// Forgets it. `false` if somebody else has.
    pub(crate) fn remove_deadline<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        job: JobHandle,
        deadline_ns: u64,
    ) -> bool {
        env.remove(&self.deadlines, &job.due(deadline_ns))
    }

    /// The earliest deadline, and whose it is; the cost in the key is not the job's.
    pub(crate) fn first_deadline<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
    ) -> Option<(u64, JobHandle)> {
        let key = env.last(&self.deadlines, None)?;
        Some((u64::MAX - key.cost, key))
    }

    /// Appends a job of a single slot.
    pub(crate) fn push_single<E: Fifo<JobHandle, Queue = Q>>(&self, env: &E, job: JobHandle) {
        env.push(&self.singles, job);
    }

    /// Takes the single that was appended first. Nobody else can find it from now on.
    pub(crate) fn pop_single<E: Fifo<JobHandle, Queue = Q>>(&self, env: &E) -> Option<JobHandle> {
        env.pop(&self.singles)
    }

    /// How many singles were appended and not taken, those that were closed meanwhile included.
    pub fn singles<E: Fifo<JobHandle, Queue = Q>>(&self, env: &E) -> usize {
        env.len(&self.singles)
    }

    /// The queue of singles.
    pub fn singles_queue(&self) -> &Q {
        &self.singles
    }
}
