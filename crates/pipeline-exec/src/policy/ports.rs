//! The policy's view of its environment: core's ports, and a few calls of its own.

use std::sync::Arc;
use std::task::Waker;

use executor_core::ports::{Clock, Exclusive, Fifo, Memory, OrderedSet, Table};

use super::board::shared::PipelineShared;
use super::guard;
use super::job::body::JobBody;
use super::job::handle::JobHandle;
use super::job::ledger::{Failure, Ledger};
use super::job::spec::{Class, JobSpec};
use super::job::state::JobState;
use crate::error::JobError;
use crate::report::JobEnd;
use crate::spans::JobSpans;
use crate::step_cx::{Role, StepCx};
use crate::task::Turn;

/// One party's access to a pipeline executor.
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

    /// Makes a word of value `value`, for a job that is not yet shared.
    fn word(&self, value: usize) -> Self::Word;

    /// Makes an empty ledger, for a job that is not yet shared.
    fn place(&self) -> <Self as Exclusive<Ledger>>::Place;

    /// Calls `wait` with a waker and a function that blocks this party until the waker is woken
    /// after the function's last return. The function may also return spuriously.
    fn park_with(&self, wait: impl FnOnce(&Waker, &mut dyn FnMut()));

    /// Runs a job inside the slot of `outer` whose context is `cx`, and returns its end. An
    /// environment calls [`nest_in`](super::nest_in), because submission is on a floor above the
    /// workers.
    fn nest(&self, outer: (&Arc<StateOf<Self>>, JobHandle), cx: &StepCx<'_>, spec: JobSpec) -> JobEnd;

    /// Makes `looks` workers look at the board: each runs [`look`](super::look()) once, and again
    /// while it returns [`Again`](super::LookEnd::Again). Returns `false` if the workers are
    /// leaving.
    fn hand_over(&self, looks: usize) -> bool;

    /// Wakes spare thread number `spare`, which [is awake](PipelineShared::spare_is_awake) from now
    /// on.
    fn wake_spare(&self, _spare: usize) {}

    /// Wakes the parties that wait for the last job: no job is in flight, and none will be.
    fn all_ended(&self);

    /// Wakes the parties that wait for room, after a job was refused.
    fn place_freed(&self) {}

    /// Wakes a party that waits for a job or for a slot of it.
    fn wake(&self, waker: Waker) {
        // A waker that panics does not keep the others from being woken.
        guard::quietly(|| waker.wake());
    }

    /// Reports an event to oracles, counters and traces. The policy does not depend on it.
    #[inline]
    fn observe(&self, _event: PipelineEvent<'_>) {}
}

/// A job's state in environment `E`.
pub type StateOf<E> = JobState<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

/// A job's body in environment `E`.
pub type BodyOf<E> = JobBody<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

/// The shared state in environment `E`.
pub type SharedOf<E> = PipelineShared<
    <E as Memory>::Word,
    <E as OrderedSet<JobHandle>>::Set,
    <E as Fifo<JobHandle>>::Queue,
    <E as Table<Arc<BodyOf<E>>>>::Places,
>;

/// The answer to submitting a job inside a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestAnswer {
    /// The job was admitted, under this handle.
    Admitted(JobHandle),
    /// There was no room: the job runs by hand.
    Full,
    /// The gate is closed: the job runs by hand.
    Closed,
}

/// An event of a job, reported when it is certain.
#[derive(Clone, Copy, Debug)]
pub enum PipelineEvent<'a> {
    /// The job was let in, and is in the table.
    Submitted {
        /// The job.
        job: JobHandle,
    },
    /// A stage has started. The first ones start with the submission.
    StageStarted {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// Number of its slots.
        slots: usize,
    },
    /// A worker has come to a job and is about to claim slots.
    Entered {
        /// The job.
        job: JobHandle,
        /// The worker.
        worker: usize,
        /// Its role.
        role: Role,
        /// Nanoseconds on the executor's clock.
        at_ns: u64,
    },
    /// The first slots of a job were claimed.
    Started {
        /// The job.
        job: JobHandle,
        /// How urgent it is.
        class: Class,
        /// The worker.
        worker: usize,
        /// Nanoseconds since submission.
        wait_ns: u64,
    },
    /// Slots were claimed; in a job that grows, a turn of the task whose number is the first
    /// slot's.
    Claimed {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The first of the slots.
        first: usize,
        /// Their number.
        slots: usize,
        /// The worker.
        worker: usize,
        /// Its role.
        role: Role,
    },
    /// A slot has run or failed; in a job that grows, a turn of the task of that number.
    SlotRan {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The slot.
        slot: usize,
        /// The worker.
        worker: usize,
        /// Its role.
        role: Role,
    },
    /// A slot of a job, or a stage's `slots` or `finish`, failed.
    Failed {
        /// The job.
        job: JobHandle,
        /// Place, name and error of the failure.
        failure: &'a Failure,
    },
    /// A worker leaves a job. If user code between steps panics, the event is missing.
    Left {
        /// The job.
        job: JobHandle,
        /// The worker.
        worker: usize,
        /// Its role.
        role: Role,
        /// Nanoseconds at which it entered.
        since_ns: u64,
        /// Nanoseconds on the executor's clock.
        at_ns: u64,
        /// Number of its claims.
        claims: usize,
    },
    /// The last slot of a stage is accounted for, and the stage is about to finish, unless the job
    /// is closed.
    StageOver {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
    },
    /// The job has ended: with an error, or complete.
    Ended {
        /// The job.
        job: JobHandle,
        /// Its `tracing` spans.
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
        /// The time in nanoseconds on the executor's clock.
        at_ns: u64,
    },
    /// Only oracles and tests listen to it.
    Inner(InnerEvent<'a>),
}

/// What oracles need beside the events of a job: steps between two of them.
#[derive(Clone, Copy, Debug)]
pub enum InnerEvent<'a> {
    /// A shutdown has begun: from now on no party goes into a job.
    Stops,
    /// A worker has claimed a returned piece or a turn of a task, and takes it out of the job's
    /// ledger next.
    Takes {
        /// The job.
        job: JobHandle,
    },
    /// A party begins a round: it reads what can be claimed of the job from now on, and makes the
    /// board agree.
    Settles {
        /// The job.
        job: JobHandle,
    },
    /// Claimed slots were returned: another worker claims them.
    GivenBack {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The first of the slots.
        first: usize,
        /// Their number.
        slots: usize,
    },
    /// Claimed slots of a closed job were abandoned: they will not run.
    GivenUp {
        /// The job.
        job: JobHandle,
        /// Number of the stage.
        stage: usize,
        /// The first of the slots.
        first: usize,
        /// Their number.
        slots: usize,
    },
    /// A ready task was added to a job that grows. It is claimable soon after.
    TaskSpawned {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A task was woken, in whatever state.
    TaskWoken {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A task was cancelled. The worker that takes it next drops it.
    TaskCancelled {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A turn of a task is over. It follows the turn's [`SlotRan`](PipelineEvent::SlotRan), unless
    /// the task was cancelled and not run.
    TurnOver {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
        /// The turn's result; [`Turn::Done`] if the task was not run, or failed.
        turn: Turn,
    },
    /// A task was dropped and has no further turn.
    TaskOver {
        /// The job.
        job: JobHandle,
        /// Number of the task.
        task: usize,
    },
    /// A slot is about to submit a job of its own and wait for it.
    Nests {
        /// The job whose slot it is.
        job: JobHandle,
    },
    /// The answer to that submission, after its [`Nests`](Self::Nests).
    NestAnswered {
        /// The job whose slot it is.
        job: JobHandle,
        /// The answer.
        answer: NestAnswer,
    },
    /// The slot goes on.
    NestOver {
        /// The job whose slot it is.
        job: JobHandle,
        /// How the inner job ended.
        end: &'a JobEnd,
    },
}
