//! The policy's ports: core's, and a few of its own.

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

pub trait PipelinePorts:
    Sized
    + Memory
    + Clock
    + OrderedSet<JobHandle>
    + Fifo<JobHandle>
    + Exclusive<Ledger>
    + Table<Arc<JobBody<<Self as Memory>::Word, <Self as Exclusive<Ledger>>::Place>>>
{
    fn shared(&self) -> &SharedOf<Self>;

    fn word(&self, value: usize) -> Self::Word;

    fn place(&self) -> <Self as Exclusive<Ledger>>::Place;

    /// Calls `wait` with a waker and a function that blocks until a wake since its last return. It
    /// may return spuriously.
    fn park_with(&self, wait: impl FnOnce(&Waker, &mut dyn FnMut()));

    fn nest(&self, outer: (&Arc<StateOf<Self>>, JobHandle), cx: &StepCx<'_>, spec: JobSpec) -> JobEnd;

    /// Makes `looks` workers run [`look`](super::look()), each while it returns
    /// [`Again`](super::LookEnd::Again). Returns `false` if the workers are leaving.
    fn hand_over(&self, looks: usize) -> bool;

    /// Wakes a spare thread, which [is awake](PipelineShared::spare_is_awake) from now on.
    fn wake_spare(&self, _spare: usize) {}

    /// Wakes the parties that wait for the last job's end.
    fn all_ended(&self);

    /// Wakes the parties that wait for room after a refusal.
    fn place_freed(&self) {}

    fn wake(&self, waker: Waker) {
        // A panic does not stop other wakes.
        guard::quietly(|| waker.wake());
    }

    #[inline]
    fn observe(&self, _event: PipelineEvent<'_>) {}
}

pub type StateOf<E> = JobState<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

pub type BodyOf<E> = JobBody<<E as Memory>::Word, <E as Exclusive<Ledger>>::Place>;

pub type SharedOf<E> = PipelineShared<
    <E as Memory>::Word,
    <E as OrderedSet<JobHandle>>::Set,
    <E as Fifo<JobHandle>>::Queue,
    <E as Table<Arc<BodyOf<E>>>>::Places,
>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NestAnswer {
    Admitted(JobHandle),
    Full,
    Closed,
}

/// An event of a job, reported when certain.
#[derive(Clone, Copy, Debug)]
pub enum PipelineEvent<'a> {
    Submitted {
        job: JobHandle,
    },
    /// A stage started; first stages start with the submission.
    StageStarted {
        job: JobHandle,
        stage: usize,
        slots: usize,
    },
    Entered {
        job: JobHandle,
        worker: usize,
        role: Role,
        at_ns: u64,
    },
    Started {
        job: JobHandle,
        class: Class,
        worker: usize,
        wait_ns: u64,
    },
    /// Slots were claimed, or a turn of task `first` in a job that grows.
    Claimed {
        job: JobHandle,
        stage: usize,
        first: usize,
        slots: usize,
        worker: usize,
        role: Role,
    },
    /// A slot ran or failed, or a turn of that task in a job that grows.
    SlotRan {
        job: JobHandle,
        stage: usize,
        slot: usize,
        worker: usize,
        role: Role,
    },
    Failed {
        job: JobHandle,
        failure: &'a Failure,
    },
    /// A worker leaves a job. A panic of user code between steps skips the event.
    Left {
        job: JobHandle,
        worker: usize,
        role: Role,
        since_ns: u64,
        at_ns: u64,
        claims: usize,
    },
    /// A stage's last slot is accounted for. The stage finishes next, unless the job is closed.
    StageOver {
        job: JobHandle,
        stage: usize,
    },
    Ended {
        job: JobHandle,
        spans: &'a JobSpans,
        class: Class,
        error: Option<&'a JobError>,
        slots: usize,
        /// Nanoseconds from submission to the first claim, or else the end.
        wait_ns: u64,
        /// Nanoseconds from the first claim, if any, to the end.
        run_ns: Option<u64>,
        at_ns: u64,
    },
    Inner(InnerEvent<'a>),
}

/// Steps between two events of a job, for oracles.
#[derive(Clone, Copy, Debug)]
pub enum InnerEvent<'a> {
    /// From now on no party enters a job.
    Stops,
    /// A worker has claimed a returned piece or a turn, and takes it from the ledger next.
    Takes {
        job: JobHandle,
    },
    /// A party begins a round of reconciling.
    Reconciles {
        job: JobHandle,
    },
    GivenBack {
        job: JobHandle,
        stage: usize,
        first: usize,
        slots: usize,
    },
    /// Abandoned, because the job is closed.
    GivenUp {
        job: JobHandle,
        stage: usize,
        first: usize,
        slots: usize,
    },
    /// The task is claimable soon after.
    TaskSpawned {
        job: JobHandle,
        task: usize,
    },
    TaskWoken {
        job: JobHandle,
        task: usize,
    },
    /// The task's next worker drops it.
    TaskCancelled {
        job: JobHandle,
        task: usize,
    },
    /// After [`SlotRan`](PipelineEvent::SlotRan), if the task ran.
    TurnOver {
        job: JobHandle,
        task: usize,
        /// [`Turn::Done`] if the task failed or did not run.
        turn: Turn,
    },
    TaskOver {
        job: JobHandle,
        task: usize,
    },
    /// A slot of `job` is about to submit a job and wait.
    Nests {
        job: JobHandle,
    },
    /// The answer to a submission, after [`Nests`](Self::Nests).
    NestAnswered {
        job: JobHandle,
        answer: NestAnswer,
    },
    NestOver {
        job: JobHandle,
        end: &'a JobEnd,
    },
}
