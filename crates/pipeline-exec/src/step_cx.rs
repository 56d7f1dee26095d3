//! The context of a running slot.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use executor_core::nanos;

use crate::job_id::JobId;
use crate::report::JobEnd;

/// How the thread that runs a slot came to its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A worker that takes young jobs first, then the least served.
    Main,
    /// A worker that takes young jobs first, then the heaviest.
    Reserve,
    /// A helper: a thread that waits for this job and runs its slots meanwhile
    /// ([`run_until`](crate::PipelineExecutor::run_until)).
    Lent,
    /// A spare thread, which takes a young job while every worker is in a long slot or turn.
    Spare,
}

impl Role {
    /// The name in tables and events.
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

/// The context of a running slot. A long slot should check [`StepCx::is_cancelled`] now and then.
pub struct StepCx<'a> {
    worker: usize,
    role: Role,
    job: Option<&'a JobId>,
    watch: &'a dyn Watch,
    /// Inside an inline job this is the outer slot's, so calls do not nest with the depth.
    nest: &'a dyn Nest,
}

pub(crate) trait Watch {
    /// As [`StepCx::is_cancelled`].
    fn is_cancelled(&self) -> bool;
    fn should_yield(&self) -> bool;
    fn charge_for(&self, _ns: u64) {}
}

pub(crate) trait Nest {
    /// `job` is passed without its type; see `policy::job::nested`.
    fn nest(&self, cx: &StepCx<'_>, job: &mut dyn Any) -> JobEnd;
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

    /// Number of the worker that runs the slot, from 0, different from that of any other thread in
    /// the job. A helper has the number behind the last worker's; [spare
    /// threads](crate::PipelineExecutorBuilder::spares) have those behind it.
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

    /// Returns whether the job, or one around it, is closed (cancelled, failed, shut down) or late.
    /// The slot should then return soon; its result is not used.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.watch.is_cancelled()
    }

    /// Returns whether the worker leaves the job after this slot. A slot that can pause cheaply may
    /// then submit its rest elsewhere and return.
    #[must_use]
    pub fn should_yield(&self) -> bool {
        self.watch.should_yield()
    }

    /// Sets the service to count for this slot or turn, for example its time on a core, up to the
    /// time that passes. By default all of that time counts. The last call counts.
    pub fn charge_for(&self, time: Duration) {
        self.watch.charge_for(nanos(time));
    }
}

impl<'a> StepCx<'a> {
    pub(crate) fn nest(&self, cx: &StepCx<'_>, job: &mut dyn Any) -> JobEnd {
        self.nest.nest(cx, job)
    }

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
