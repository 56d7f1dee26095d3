//! What a running slot is told: where it runs, for whom, and whether to stop.

use std::fmt;

use crate::job_id::JobId;

/// How whoever runs a slot came to its job: the two orders in which workers look for one, and none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Takes the job that has received the least service, so that short jobs keep moving.
    Main,
    /// Takes the heaviest job, so that heavy ones keep moving as well.
    Reserve,
    /// It is no worker, but a thread that waits for this job and is lent to it meanwhile:
    /// [`run_until`](crate::PipelineExecutor::run_until).
    Lent,
}

impl Role {
    /// What tables and events call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Reserve => "reserve",
            Self::Lent => "lent",
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
}

/// What a slot may ask about the world outside.
pub(crate) trait Watch {
    fn is_cancelled(&self) -> bool;
    fn should_yield(&self) -> bool;
}

impl<'a> StepCx<'a> {
    pub(crate) fn new(worker: usize, role: Role, job: Option<&'a JobId>, watch: &'a dyn Watch) -> Self {
        Self {
            worker,
            role,
            job,
            watch,
        }
    }

    /// Number of the worker that runs the slot, from 0. A thread that is lent to the job has the one behind the last worker's, so
    /// that a table by number needs one place more than there are workers. No two threads have the same number in a job at
    /// the same time.
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

    /// Whether the job is over already: cancelled, failed, past its deadline, or its executor shut down. The slot's
    /// result is not needed any more, so it should return soon; with what, does not matter.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }

    /// Whether the worker's quantum is over, so that others wait for it. A slot that can pause cheaply and has
    /// submitted the rest of its work elsewhere may return.
    #[must_use]
    pub fn should_yield(&self) -> bool {
        self.watch.should_yield()
    }
}

impl StepCx<'static> {
    /// A context without a job around it, for tests of stages: worker 0, never cancelled, never asked to yield.
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

/// Nobody stops it.
pub(crate) struct Detached;

impl Watch for Detached {
    fn is_cancelled(&self) -> bool {
        false
    }

    fn should_yield(&self) -> bool {
        false
    }
}
