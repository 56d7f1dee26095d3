//! What a running slot is told: where it runs, for whom, and whether to stop.

use std::fmt;
use std::time::{Duration, Instant};

use executor_core::ports::{Native, NativeWord};

use crate::error::JobError;
use crate::job::Job;
use crate::job_id::JobId;
use crate::policy::{JobEnd, JobSpec, by_hand};
use crate::report::JobReport;

/// How the thread that runs a slot came to its job: the two orders in which workers look for one,
/// and none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Takes the job that has received the least service, so that short jobs keep moving.
    Main,
    /// Takes the heaviest job, so that heavy ones keep moving as well.
    Reserve,
    /// It is no worker, but a thread that waits for this job and is lent to it meanwhile:
    /// [`run_until`](crate::PipelineExecutor::run_until).
    Lent,
    /// It is no worker, but a spare thread: every worker is in a long slot or turn, and this job is
    /// young.
    Spare,
}

impl Role {
    /// What tables and events call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Reserve => "reserve",
            Self::Lent => "lent",
            Self::Spare => "spare",
        }
    }
}

/// What a running slot may ask. A slot that takes long asks [`StepCx::is_cancelled`] now and then.
pub struct StepCx<'a> {
    worker: usize,
    role: Role,
    /// None: there is no job around it.
    job: Option<&'a JobId>,
    watch: &'a dyn Watch,
    /// That of the slot around it, if it runs by hand inside one: so that the way there does not
    /// get longer with the depth.
    nest: &'a dyn Nest,
}

/// What a slot may ask about the world outside.
pub(crate) trait Watch {
    fn is_cancelled(&self) -> bool;
    fn should_yield(&self) -> bool;
    /// The job is to be charged for this many nanoseconds of what runs. Where no job is charged, it
    /// means nothing.
    fn charge_for(&self, _ns: u64) {}
}

/// Who runs jobs for slots.
pub(crate) trait Nest {
    /// Runs a job of the slot's own; `cx` is that of the slot that asks.
    fn nest(&self, cx: &StepCx<'_>, spec: JobSpec) -> JobEnd;
}

impl<'a> StepCx<'a> {
    pub(crate) fn new(
        worker: usize,
        role: Role,
        job: Option<&'a JobId>,
        around: &'a (impl Watch + Nest),
    ) -> Self {
        Self {
            worker,
            role,
            job,
            watch: around,
            nest: around,
        }
    }

    /// Number of the worker that runs the slot, from 0. A thread that is lent to the job has the
    /// one behind the last worker's, and [spare threads](crate::PipelineBuilder::spares) have those
    /// behind it: a table by number needs a place more than there are workers and spare threads
    /// together. No two threads have the same number in a job at the same time.
    #[must_use]
    pub fn worker_id(&self) -> usize {
        self.worker
    }

    /// How that worker came to the job.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// The job's [`id`](crate::Job::id).
    #[must_use]
    pub fn job_id(&self) -> &str {
        self.job.map_or("pipe-detached", |id| id)
    }

    /// Whether the job is over already: cancelled, failed, past its deadline, or its executor shut
    /// down. The slot's result is not needed any more, so it should return soon; with what, does
    /// not matter.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }

    /// Whether the worker leaves the job at the end of this slot, because its time in the job is
    /// over, or because the job is old and a young one waits. A slot that can pause cheaply and has
    /// submitted the rest of its work elsewhere may return.
    #[must_use]
    pub fn should_yield(&self) -> bool {
        self.watch.should_yield()
    }

    /// Has the job charged for `time` for this slot or turn, such as the time that it was on a core.
    /// A job is charged for the time that passes otherwise, also while the operating system gives
    /// the core to others: a young job that was left waiting so would be old, and stand behind heavy
    /// ones. More than the time that passes is not charged. The last call in a slot or turn counts.
    pub fn charge_for(&self, time: Duration) {
        self.watch
            .charge_for(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }
}

impl<'a> StepCx<'a> {
    /// Runs a job inside this slot, and gives its end: waits by running the job's slots, and those
    /// of no other job.
    ///
    /// The job is handed to the same executor, so that idle workers join in. This one, whatever
    /// they do, runs slots of it until it has ended, as [a lent
    /// thread](crate::PipelineExecutor::run_until) does; its steps then see [`Role::Lent`] and the
    /// number behind the last worker's. It sleeps only while others run the last slots. So it
    /// cannot deadlock, however many slots wait like this, and never finds itself in another's code
    /// with its own locks held. When the executor admits no more jobs, or drains, the whole job is
    /// run here, by hand.
    ///
    /// When this slot's job is closed, so is the inner one: it ends as
    /// [`Cancelled`](crate::JobErrorKind::Cancelled) at its next slot boundaries. Until it has
    /// ended the slot holds its worker, past its quantum.
    ///
    /// ```
    /// use pipeline_exec::{Job, PipelineExecutor, step, steps};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let executor = PipelineExecutor::new(1)?;
    /// let sum = Arc::new(AtomicUsize::new(0));
    /// let total = Arc::clone(&sum);
    /// let outer = step(move |cx| {
    ///     let parts = (1..=10).map(|n| {
    ///         let sum = Arc::clone(&sum);
    ///         step(move |_cx| { sum.fetch_add(n, Ordering::Relaxed); Ok(()) })
    ///     });
    ///     assert_eq!(cx.run(Job::from_steps("parts", parts.collect()))?.slots, 10);
    ///     Ok(())
    /// });
    /// executor.submit(Job::from_steps("whole", vec![outer]))?.wait()?;
    /// assert_eq!(total.load(Ordering::Relaxed), 55);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Why the inner job did not complete.
    pub fn run<T>(&self, job: Job<T>) -> Result<JobReport<T>, JobError> {
        job.run_inside(self)
    }

    /// Runs a job as this slot's for `cx`, which is this one or that of a slot that runs by hand
    /// inside it.
    pub(crate) fn nest_as(&self, cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
        self.nest.nest(cx, spec)
    }

    /// The context of a slot of job `id` that runs by hand inside this one.
    pub(crate) fn inside<'b>(&'b self, id: &'b JobId, watch: &'b dyn Watch) -> StepCx<'b> {
        StepCx {
            worker: self.worker,
            role: self.role,
            job: Some(id),
            watch,
            nest: self.nest,
        }
    }
}

impl StepCx<'static> {
    /// A context without a job around it, for tests of stages: worker 0, never cancelled, never
    /// asked to yield.
    ///
    /// ```
    /// use pipeline_exec::{PipelineStep, StepCx};
    ///
    /// let double_check = |cx: &StepCx<'_>| { assert!(!cx.is_cancelled()); Ok(()) };
    /// double_check.execute(&StepCx::detached()).unwrap();
    /// ```
    #[must_use]
    pub fn detached() -> Self {
        Self::new(0, Role::Main, None, &Detached)
    }
}

impl fmt::Debug for StepCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepCx")
            .field("worker_id", &self.worker)
            .field("role", &self.role)
            .field("job_id", &self.job_id())
            .field("is_cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// It is never stopped.
pub(crate) struct Detached;

impl Watch for Detached {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn should_yield(&self) -> bool {
        false
    }
}

impl Nest for Detached {
    fn nest(&self, cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
        by_hand_here(cx, &spec)
    }
}

/// Runs a job where there is no executor.
pub(crate) fn by_hand_here(cx: &StepCx<'_>, spec: &JobSpec) -> JobEnd {
    let began = Instant::now();
    let now_ns = || u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    by_hand::run(&Native, NativeWord::new, now_ns, 1, spec, cx)
}
