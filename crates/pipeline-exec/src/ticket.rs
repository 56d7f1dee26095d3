//! The caller's side of a submitted job.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use executor_core::ports::{Exclusive, Table};

use crate::error::{JobError, JobErrorKind};
use crate::job_id::JobId;
use crate::native::{Hub, NativeState, unparker};
use crate::output::Place;
use crate::policy::guard::quietly_drop;
use crate::policy::{self, JobHandle, JobStatus, PipelinePorts};
use crate::report::{JobReport, StageProgress};

/// Fires when the job has ended in any way.
///
/// A ticket is a [`Future`] for any async runtime; threads call [`JobTicket::wait`]. A drop has no
/// effect, except after [`JobTicket::cancel_on_drop`]. After it fires no slot runs, but a worker
/// may briefly hold the job's stages; so return results as the job's output.
#[must_use = "the ticket tells how the job ended; drop it to let the job run unobserved"]
pub struct JobTicket<T = ()> {
    control: JobControl,
    output: Option<Place<T>>,
    cancel_on_drop: bool,
}

// The output is moved out, never pinned.
impl<T> Unpin for JobTicket<T> {}

impl<T> JobTicket<T> {
    pub(crate) fn new(hub: Arc<Hub>, state: Arc<NativeState>, job: JobHandle, output: Place<T>) -> Self {
        Self {
            control: JobControl { hub, state, job },
            output: Some(output),
            cancel_on_drop: false,
        }
    }

    /// Blocks until the job has ended.
    ///
    /// # Errors
    ///
    /// Why the job did not complete.
    ///
    /// # Panics
    ///
    /// In a step of the same executor, because the job may wait for it; or if the ticket was polled
    /// to its end.
    pub fn wait(self) -> Result<JobReport<T>, JobError> {
        self.control.hub.assert_not_on_own_worker("JobTicket::wait");
        block_on(self)
    }

    /// Helps the job, as [`run_until`](crate::PipelineExecutor::run_until) does, and returns its
    /// end.
    ///
    /// ```
    /// use pipeline_exec::{Job, PipelineExecutor, step};
    ///
    /// let executor = PipelineExecutor::new(1)?;
    /// let steps = (0..100).map(|_| step(|_cx| Ok(()))).collect();
    /// let report = executor.submit(Job::from_steps("numbers", steps))?.run()?;
    /// // What the one worker ran, and what this thread did.
    /// assert_eq!(report.slots_per_worker.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Why the job did not complete.
    ///
    /// # Panics
    ///
    /// As [`JobTicket::wait`].
    pub fn run(self) -> Result<JobReport<T>, JobError> {
        self.control.lend("JobTicket::run");
        block_on(self)
    }

    pub(crate) fn lend(&self, hub: &Arc<Hub>, method: &str) {
        assert!(
            Arc::ptr_eq(hub, &self.control.hub),
            "`{method}` was called with the ticket of another executor's job"
        );
        self.control.lend(method);
    }

    /// Returns the job's status.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        self.control.status()
    }

    /// The job's [`id`](crate::Job::id).
    #[must_use]
    pub fn id(&self) -> JobId {
        self.control.id()
    }

    /// Returns a handle on the job.
    #[must_use]
    pub fn control(&self) -> JobControl {
        self.control.clone()
    }

    /// Makes a drop of this ticket cancel the job.
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancel_on_drop = true;
        self
    }
}

impl<T> Future for JobTicket<T> {
    type Output = Result<JobReport<T>, JobError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let JobControl { hub, state, .. } = &self.control;
        let Some(end) = state.poll(&**hub, cx.waker()) else {
            return Poll::Pending;
        };
        let output = self.output.take().expect("the ledger tells the end once");
        Poll::Ready(end.map(|report| report.with(output.take())))
    }
}

impl<T> Drop for JobTicket<T> {
    fn drop(&mut self) {
        if self.cancel_on_drop {
            self.control.cancel();
        }
    }
}

impl<T> fmt::Debug for JobTicket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobTicket")
            .field("status", &self.status())
            .field("cancel_on_drop", &self.cancel_on_drop)
            .finish_non_exhaustive()
    }
}

/// Watches and stops a job, as in a progress bar or a Ctrl-C handler, without keeping its data
/// alive.
#[derive(Clone)]
pub struct JobControl {
    hub: Arc<Hub>,
    state: Arc<NativeState>,
    job: JobHandle,
}

impl JobControl {
    /// Returns slots done and slots of the started stages; for a job that grows, tasks over and
    /// spawned. Both only grow, and are equal at the end.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        self.state.progress(&*self.hub)
    }

    /// Returns each stage's progress, in the order of adding; empty after the job's end.
    ///
    /// ```
    /// use pipeline_exec::{Job, PipelineExecutor, step};
    ///
    /// let executor = PipelineExecutor::new(2)?;
    /// let steps = (0..100).map(|_| step(|_cx| Ok(()))).collect();
    /// let ticket = executor.submit(Job::from_steps("numbers", steps))?;
    /// for stage in ticket.control().stages().iter().filter(|stage| stage.is_running()) {
    ///     println!("{}: {} of {}", stage.name, stage.done, stage.slots.unwrap_or(0));
    /// }
    /// ticket.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stages(&self) -> Vec<StageProgress> {
        let Self { hub, state, job } = self;
        let Some(body) = hub
            .get(hub.shared().jobs(), job.index)
            .filter(|body| body.is(*job))
        else {
            return Vec::new();
        };
        let graph = body.stages();
        let waiting = (0..graph.len()).map(|stage| StageProgress {
            name: graph.stage(stage).name().to_owned(),
            done: 0,
            slots: None,
        });
        let mut stages: Vec<_> = waiting.collect();
        for (stage, slots) in state.claims().started(&**hub) {
            stages[stage].done = slots - state.claims().left(&**hub, stage);
            stages[stage].slots = Some(slots);
        }
        if graph.grows() {
            let (done, slots) = state.progress(&**hub);
            (stages[0].done, stages[0].slots) = (done, Some(slots));
        }
        quietly_drop(body);
        stages
    }

    /// Cancels the job at its next slot boundary. The ticket fires when running slots have
    /// returned.
    pub fn cancel(&self) {
        policy::cancel(&*self.hub, &self.state, self.job);
    }

    /// Closes the job if its deadline has passed. Workers do so while they have work. The owner
    /// calls this for a job whose tasks are all parked, or if it has a clock of its own.
    pub fn enforce_deadline(&self) {
        policy::executor::stop::enforce_deadline(&*self.hub, &self.state, self.job);
    }

    /// Returns why the job was closed; `None` if it runs or completed.
    /// [`HandedBack`](JobErrorKind::HandedBack): its executor ends.
    #[must_use]
    pub fn stopped(&self) -> Option<JobErrorKind> {
        self.hub.change(self.state.ledger(), |ledger| ledger.stopped())
    }

    /// The job's [`id`](crate::Job::id).
    #[must_use]
    pub fn id(&self) -> JobId {
        *self.state.id()
    }

    /// Returns the job's status.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        self.hub.change(self.state.ledger(), |ledger| ledger.status())
    }

    fn lend(&self, method: &str) {
        let Self { hub, state, job } = self;
        hub.assert_not_on_own_worker(method);
        hub.as_lent(|| {
            hub.park_with(|waker, sleep| policy::lend(&**hub, state, *job, waker, sleep));
        });
    }

    /// Returns the job's key on the board.
    #[must_use]
    pub fn handle(&self) -> JobHandle {
        self.job
    }
}

impl fmt::Debug for JobControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobControl")
            .field("job", &self.job)
            .field("status", &self.status())
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "for threads that wait, never on a worker"
)]
pub(crate) fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = unparker();
    let mut cx = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut future).poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
