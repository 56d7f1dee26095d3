//! What the policy asks for: core's ports, and a few calls of its own.

use std::sync::Arc;
use std::task::Waker;

use executor_core::ports::{Clock, Exclusive, Fifo, Memory, OrderedSet, Table};

use super::board::JobHandle;
use super::guard;
use super::job_spec::Class;
use super::job_state::{JobBody, JobEnd, JobState};
use super::ledger::{Failure, Ledger};
use super::shared::PipelineShared;
use crate::error::JobError;
use crate::spans::JobSpans;
use crate::step_cx::Role;
use crate::task::Turn;

/// One party's access to a pipeline executor: the operations, and what they operate on.
pub trait PipelinePorts:
    Sized
    + Memory
    + Clock
    + OrderedSet<JobHandle>
    + Fifo<JobHandle>
    + Exclusive<Ledger>
    + Table<Arc<JobBody<<Self as Memory>::Word, <Self as Exclusive<Ledger>>::Place>>>
{
    /// The words and collections that all parties of this executor share.
    fn shared(&self) -> &SharedOf<Self>;

    /// A new word for a job that only the caller knows; it says `value`.
    fn word(&self, value: usize) -> Self::Word;

    /// A new ledger in its place, for a job that only the caller knows.
    fn place(&self) -> <Self as Exclusive<Ledger>>::Place;

    /// Calls `wait` with a waker, and with what blocks this party until that was woken since it last returned. It may also return for
    /// no reason.
    fn park_with(&self, wait: impl FnOnce(&Waker, &mut dyn FnMut()));

    /// Lets `looks` workers look at the board: each runs [`look`](super::look()) once, and again as long as that says so.
    /// `false` if none will, because the workers are leaving for good.
    fn hand_over(&self, looks: usize) -> bool;

    /// Wakes spare thread number `spare`, which [is awake](PipelineShared::spare_is_awake) from now on. Never called where there
    /// are no spare threads.
    fn wake_spare(&self, _spare: usize) {}

    /// No job is in flight any more, and none will be: whoever waits for that is told.
    fn all_ended(&self);

    /// No job was let in for want of room, and now there is some: whoever waits for it is told.
    fn place_freed(&self) {}

    /// Wakes somebody who waits for a job, or for a slot of it.
    fn wake(&self, waker: Waker) {
        // A waker that panics is its owner's affair; the others are woken all the same.
        guard::quietly(|| waker.wake());
    }

    /// Something happened. For oracles, counters and traces; the policy does not depend on it.
    #[inline]
    fn observe(&self, _event: PipelineEvent<'_>) {}
}

/// A job's state in environment `E`.
pub type StateOf<E> = JobState<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

/// A job's body in environment `E`.
pub type BodyOf<E> = JobBody<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

/// What is shared in environment `E`.
pub type SharedOf<E> = PipelineShared<
    <E as Memory>::Word,
    <E as OrderedSet<JobHandle>>::Set,
    <E as Fifo<JobHandle>>::Queue,
    <E as Table<Arc<BodyOf<E>>>>::Places,
>;

/// What came of handing over a job inside a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestAnswer {
    /// It was let in, as this job.
    Admitted(JobHandle),
    /// There was no room: it runs by hand.
    Full,
    /// The gate is closed: it runs by hand.
    Closed,
}

/// Something that happened to a job, at the moment when it is certain.
#[derive(Clone, Copy, Debug)]
pub enum PipelineEvent<'a> {
    /// A shutdown has begun: whoever looks for a job from now on goes into none.
    Stops,
    /// It was let in, and is in the table.
    Submitted {
        /// The job.
        job: JobHandle,
    },
    /// A stage has started. The first one starts with the submission.
    StageStarted {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// Its slots.
        slots: usize,
    },
    /// A worker has come to a job and is about to claim slots; it may find none.
    Entered {
        /// The job.
        job: JobHandle,
        /// The worker.
        worker: usize,
        /// In which role.
        role: Role,
        /// When, on the executor's clock.
        at_ns: u64,
    },
    /// The first slots of a job were claimed; it has waited long enough.
    Started {
        /// The job.
        job: JobHandle,
        /// How urgent it is.
        class: Class,
        /// By which worker.
        worker: usize,
        /// Nanoseconds since its submission.
        wait_ns: u64,
    },
    /// A worker has claimed a piece that was given back, or a turn of a task, and takes it out of the
    /// job's ledger next.
    Takes {
        /// The job.
        job: JobHandle,
    },
    /// Slots were claimed; in a job that grows, a turn of the task of the first slot's number.
    Claimed {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The first of the slots.
        first: usize,
        /// How many.
        slots: usize,
        /// By which worker.
        worker: usize,
        /// In which role.
        role: Role,
    },
    /// A party begins a round of making the board agree with what can be claimed of the job, as it reads it from now on.
    Settles {
        /// The job.
        job: JobHandle,
    },
    /// A slot has run, well or not; in a job that grows, a turn of the task of that number.
    SlotRan {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The slot.
        slot: usize,
        /// On which worker.
        worker: usize,
        /// In which role.
        role: Role,
    },
    /// Something of a job failed: a slot, or a stage's `slots` or `finish`. Several slots may.
    Failed {
        /// The job.
        job: JobHandle,
        /// What and how.
        failure: &'a Failure,
    },
    /// A worker leaves a job. It follows its [`Entered`](Self::Entered), unless something in between that is nobody's step panicked.
    Left {
        /// The job.
        job: JobHandle,
        /// The worker.
        worker: usize,
        /// In which role it was there.
        role: Role,
        /// When it entered, on the executor's clock.
        since_ns: u64,
        /// When, on the executor's clock.
        at_ns: u64,
        /// How often it claimed slots.
        claims: usize,
    },
    /// Slots that were claimed were given back: somebody else claims them.
    GivenBack {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The first of the slots.
        first: usize,
        /// How many.
        slots: usize,
    },
    /// Slots that were claimed are given up, since the job is closed: they will not run.
    GivenUp {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The first of the slots.
        first: usize,
        /// How many.
        slots: usize,
    },
    /// The last slot of a stage is accounted for, and the stage is about to finish, unless the job is closed.
    StageOver {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
    },
    /// A task was added to a job that grows, and is ready. It is claimable soon after.
    TaskSpawned {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A task was woken. It was parked, in a turn, ready already, or over. If it was parked, it is
    /// claimable soon after.
    TaskWoken {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A task was cancelled. Whoever takes it next drops it.
    TaskCancelled {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A turn of a task is over, and the task is back in its job's table, unless it is to be dropped. It
    /// follows the [`SlotRan`](Self::SlotRan) of the turn, unless the task was not run because it, or its
    /// job, is cancelled.
    TurnOver {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
        /// What it came to; [`Turn::Done`] if the task was not run, or failed.
        turn: Turn,
    },
    /// A task was dropped and has no further turn.
    TaskOver {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A slot of a job is about to hand over a job of its own, and to wait for it.
    Nests {
        /// The job whose slot it is.
        job: JobHandle,
    },
    /// What came of handing it over. It follows its [`Nests`](Self::Nests).
    NestAnswered {
        /// The job whose slot it is.
        job: JobHandle,
        /// What came of it.
        answer: NestAnswer,
    },
    /// The slot goes on. It follows its [`NestAnswered`](Self::NestAnswered).
    NestOver {
        /// The job whose slot it is.
        job: JobHandle,
        /// How the job ended for which it waited.
        end: &'a JobEnd,
    },
    /// The job has ended: with an error, or complete.
    Ended {
        /// The job.
        job: JobHandle,
        /// What `tracing` knows of it.
        spans: &'a JobSpans,
        /// How urgent it was.
        class: Class,
        /// Why it did not complete, if it did not.
        error: Option<&'a JobError>,
        /// Slots that ran.
        slots: usize,
        /// Nanoseconds from submission to the first claim, or to the end if there was none.
        wait_ns: u64,
        /// Nanoseconds from the first claim to the end, if anything was claimed.
        run_ns: Option<u64>,
        /// When, on the executor's clock.
        at_ns: u64,
    },
}
