//! The job board: the jobs with unclaimed slots.
//!
//! The board holds small keys, because a skip list frees removed entries late. Bodies are in a
//! table at [`JobHandle::index`].
//!
//! A job with something to claim is in two orders: heaviest first, and least served first. Each
//! visit gives it a new key in the second, with a new *tag*. The new key goes in before the old one
//! comes out, so the job never vanishes.
//!
//! ```text
//!    insert ──► served ──► heaviest    by `reconcile`, when there is something to claim
//!    re-key     served                 by `reconcile`, after a visit: new key in, old key out
//!    remove ◄── served ◄── heaviest    by `reconcile`, when there is nothing
//! ```
//!
//! A *single*, a one-slot job of one stage without a stated cost, is in a first-in-first-out queue
//! instead.
//!
//! ```text
//!    submit ──► singles ──► a main worker, in turns with the young jobs of the board;
//!                           a reserve worker, when nothing is heavy
//! ```
//!
//! A cancelled single leaves a dead handle. A submitter that finds more handles than the executor
//! admits jobs takes out two and puts back the live ones, so the queue stays bounded.
//!
//! A third order has deadlines, earliest first. Each look first closes late jobs.
//!
//! One party at a time changes a job's keys ([`standing`](crate::policy::job::standing)), one order
//! after the other. Meanwhile a claimable job may be missing and an exhausted one present; a worker
//! that finds that one looks further.

use executor_core::ports::{Fifo, OrderedSet};

use crate::policy::job::handle::JobHandle;

#[derive(Debug, Default)]
pub struct JobBoard<B, Q> {
    heaviest: B,
    served: B,
    singles: Q,
    deadlines: B,
}

impl<B, Q> JobBoard<B, Q> {
    pub fn new(heaviest: B, served: B, deadlines: B, singles: Q) -> Self {
        Self {
            heaviest,
            served,
            singles,
            deadlines,
        }
    }

    /// # Panics
    ///
    /// If it is on the board.
    pub fn insert<E: OrderedSet<JobHandle, Set = B>>(&self, env: &E, job: JobHandle, tag: usize) {
        env.insert(&self.served, job.served(tag));
        let new = env.insert(&self.heaviest, job);
        assert!(new, "job {} was put on the board twice", job.seq);
    }

    pub fn remove<E: OrderedSet<JobHandle, Set = B>>(&self, env: &E, job: JobHandle, tag: usize) -> bool {
        let was_there = env.remove(&self.heaviest, &job);
        env.remove(&self.served, &job.served(tag));
        was_there
    }

    pub(crate) fn rekey<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        job: JobHandle,
        from: usize,
        to: usize,
    ) {
        env.insert(&self.served, job.served(to));
        env.remove(&self.served, &job.served(from));
    }

    pub fn heaviest<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        below: Option<JobHandle>,
    ) -> Option<JobHandle> {
        env.last(&self.heaviest, below.as_ref())
    }

    /// The key's rank is not the job's cost; see [`JobHandle::tag`].
    pub fn least_served<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        below: Option<JobHandle>,
    ) -> Option<JobHandle> {
        env.last(&self.served, below.as_ref())
    }

    pub(crate) fn least_served_from<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        tag: usize,
    ) -> Option<JobHandle> {
        env.last(&self.served, JobHandle::before_tag(tag).as_ref())
    }

    pub(crate) fn insert_deadline<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        job: JobHandle,
        deadline_ns: u64,
    ) {
        env.insert(&self.deadlines, job.due(deadline_ns));
    }

    pub(crate) fn remove_deadline<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
        job: JobHandle,
        deadline_ns: u64,
    ) -> bool {
        env.remove(&self.deadlines, &job.due(deadline_ns))
    }

    /// The key's rank is not the job's cost.
    pub(crate) fn first_deadline<E: OrderedSet<JobHandle, Set = B>>(
        &self,
        env: &E,
    ) -> Option<(u64, JobHandle)> {
        let key = env.last(&self.deadlines, None)?;
        Some((u64::MAX - key.rank, key))
    }

    pub(crate) fn push_single<E: Fifo<JobHandle, Queue = Q>>(&self, env: &E, job: JobHandle) {
        env.push(&self.singles, job);
    }

    pub(crate) fn pop_single<E: Fifo<JobHandle, Queue = Q>>(&self, env: &E) -> Option<JobHandle> {
        env.pop(&self.singles)
    }

    pub fn singles<E: Fifo<JobHandle, Queue = Q>>(&self, env: &E) -> usize {
        env.len(&self.singles)
    }

    pub fn singles_queue(&self) -> &Q {
        &self.singles
    }
}
