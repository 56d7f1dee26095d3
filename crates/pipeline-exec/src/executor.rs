//! The executor: its threads and its board of jobs.

mod builder;
mod start;

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use executor_threaded::Executor;

pub use builder::PipelineExecutorBuilder;

use crate::job::Job;
use crate::metrics::PipelineSnapshot;
use crate::native::{Hub, PipelineTask, Waiter};
use crate::open_job::{OpenError, OpenJob};
use crate::policy::guard::quietly_drop;
use crate::policy::{self, Admitted, PipelinePorts, Refused, Terms};
use crate::submit_error::SubmitError;
use crate::ticket::{JobTicket, block_on};

/// Runs jobs on a fixed set of threads. A drop lets running slots finish, fires every ticket, and
/// joins the threads.
///
/// ```
/// use pipeline_exec::{Job, PipelineExecutor, step};
///
/// let executor = PipelineExecutor::new(2)?;
/// let ticket = executor.submit(Job::from_steps("cities", vec![step(|_| Ok(())), step(|_| Err("out of ink".into()))]))?;
/// let error = ticket.wait().unwrap_err();
/// assert_eq!(error.to_string(), "step `step` failed in slot 1: out of ink");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PipelineExecutor {
    handle: PipelineHandle,
    executor: Option<Executor<PipelineTask>>,
}

/// Submits jobs, from steps too, without owning the executor. After the executor's end it refuses
/// every job.
#[derive(Clone)]
pub struct PipelineHandle {
    hub: Arc<Hub>,
}

impl PipelineExecutor {
    /// Submits a job without blocking.
    ///
    /// # Errors
    ///
    /// The job, if the executor is full or closed.
    pub fn submit<T>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        self.handle.submit(job)
    }

    /// Opens a job that grows while it runs. [`OpenJob`] has an example.
    ///
    /// # Errors
    ///
    /// If the executor is full or closed.
    pub fn open(
        &self,
        name: impl Into<Cow<'static, str>>,
        terms: Terms,
    ) -> Result<(OpenJob, JobTicket), OpenError> {
        self.handle.open(name, terms)
    }

    /// Submits a job, and waits while the executor is full.
    ///
    /// # Errors
    ///
    /// [`SubmitError::Closed`] with the job.
    ///
    /// # Panics
    ///
    /// In a step of this executor, if it is full: it might wait for itself.
    pub fn submit_blocking<T: Send + 'static>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        self.handle.submit_blocking(job)
    }

    /// Submits a job, and waits while the executor is full.
    ///
    /// # Errors
    ///
    /// [`SubmitError::Closed`] with the job.
    pub fn submit_async<T: Send + 'static>(
        &self,
        job: Job<T>,
    ) -> impl Future<Output = Result<JobTicket<T>, SubmitError<T>>> + Send + use<T> {
        self.handle.submit_async(job)
    }

    /// Helps the ticket's job: this thread runs slots of that job alone until its end, even while
    /// all workers are busy.
    ///
    /// The thread counts against [`max_workers`](crate::JobBuilder::max_workers), but its time is
    /// no service. Its steps see [`Role::Lent`](crate::Role::Lent) and the
    /// [`worker_id`](crate::StepCx::worker_id) behind the last worker's. A job's second helper only
    /// waits. A shutdown does not wait for its slot. The call blocks; async code should await the
    /// ticket.
    /// ```
    /// use pipeline_exec::{Job, PipelineExecutor, step};
    ///
    /// let executor = PipelineExecutor::new(2)?;
    /// let job = Job::from_steps("cities", vec![step(|cx| { assert!(cx.worker_id() <= 2); Ok(()) })]);
    /// let ticket = executor.submit(job)?;
    /// executor.run_until(&ticket);
    /// assert_eq!(ticket.wait()?.slots, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// In a step of the same executor, as [`JobTicket::wait`]; or if another executor has the job.
    pub fn run_until<T>(&self, ticket: &JobTicket<T>) {
        self.handle.run_until(ticket);
    }

    /// Number of main and reserve threads.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.handle.workers()
    }

    /// Returns a handle that can be cloned and sent.
    #[must_use]
    pub fn handle(&self) -> PipelineHandle {
        self.handle.clone()
    }

    /// Returns the executor's counters.
    #[must_use]
    pub fn snapshot(&self) -> PipelineSnapshot {
        self.handle.snapshot()
    }

    /// Refuses new jobs, finishes those inside, and ends the threads.
    ///
    /// # Panics
    ///
    /// In a step of this executor.
    pub fn drain(mut self) {
        let hub = &self.handle.hub;
        hub.assert_not_on_own_worker("PipelineExecutor::drain");
        policy::close_gate(&**hub);
        hub.room.wake_waiters();
        hub.wait_ended();
        if let Some(executor) = self.executor.take() {
            executor.join();
        }
        hub.spares.end(true);
    }

    /// As [`drain`](Self::drain), for at most `timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use pipeline_exec::{Job, JobStatus, PipelineExecutor, step};
    ///
    /// let executor = PipelineExecutor::new(1)?;
    /// let until_told_to_stop = step(|cx| { while !cx.is_cancelled() { std::thread::yield_now() } Ok(()) });
    /// let ticket = executor.submit(Job::from_steps("long", vec![until_told_to_stop, step(|_cx| Ok(()))]))?;
    /// while ticket.status() == JobStatus::Queued { std::thread::yield_now() }
    /// let executor = executor.drain_timeout(Duration::from_millis(1)).unwrap_err();
    /// drop(executor);
    /// // There was one step more to come. A job that is in its last would not be told: it completes, and the drop waits for it.
    /// assert!(ticket.wait().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the closed executor if a job has not ended by then. Its jobs go on.
    ///
    /// # Panics
    ///
    /// In a step of this executor.
    pub fn drain_timeout(self, timeout: Duration) -> Result<(), Self> {
        let hub = &self.handle.hub;
        hub.assert_not_on_own_worker("PipelineExecutor::drain_timeout");
        policy::close_gate(&**hub);
        hub.room.wake_waiters();
        if !hub.wait_ended_for(timeout) {
            return Err(self);
        }
        self.drain();
        Ok(())
    }

    /// Stops the executor: running slots finish, and no other begins.
    ///
    /// Returns the jobs that ran no slot, in order of submission, without their output type
    /// ([`Job::downcast`]); their tickets say [`HandedBack`](crate::JobErrorKind::HandedBack). Jobs
    /// with slots left are [`Cancelled`](crate::JobErrorKind::Cancelled); jobs that run their last
    /// slots complete.
    ///
    /// # Panics
    ///
    /// In a step of this executor.
    #[must_use = "these jobs were accepted and have not run"]
    pub fn shutdown(mut self) -> Vec<Job> {
        self.handle
            .hub
            .assert_not_on_own_worker("PipelineExecutor::shutdown");
        self.stop()
    }

    fn stop(&mut self) -> Vec<Job> {
        let Some(executor) = self.executor.take() else {
            return Vec::new();
        };
        let hub = &self.handle.hub;
        let mut handed_back = policy::stop(&**hub);
        hub.room.wake_waiters();
        // A spare thread cannot join itself, so another thread drops the executor.
        if hub
            .own_worker()
            .is_some_and(|worker| worker >= hub.shared().workers())
        {
            leave_behind(executor);
        } else {
            drop(executor);
        }
        hub.spares.end(hub.own_worker().is_none());
        handed_back.sort_by_key(|body| body.state().seq());
        handed_back
            .iter()
            .map(|body| Job::from_spec(body.spec()))
            .collect()
    }
}

impl PipelineHandle {
    /// As [`PipelineExecutor::submit`].
    pub fn submit<T>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        let submitted = self.offer(job);
        if let Err(SubmitError::Full(_)) = submitted {
            self.hub.meter().refused_full();
        }
        submitted
    }

    /// As [`PipelineExecutor::open`].
    pub fn open(
        &self,
        name: impl Into<Cow<'static, str>>,
        terms: Terms,
    ) -> Result<(OpenJob, JobTicket), OpenError> {
        let opened = OpenJob::open(&self.hub, name.into(), terms);
        if let Err(OpenError::Full) = opened {
            self.hub.meter().refused_full();
        }
        opened
    }

    fn offer<T>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        let hub = &self.hub;
        let (body, output) = job.into_body(self.workers());
        match policy::submit(&**hub, body) {
            Ok(Admitted { state, job }) => {
                Ok(JobTicket::new(Arc::clone(hub), state, job, output.into_place()))
            }
            Err(Refused::Closed(body)) => Err(SubmitError::Closed(Job::from_body(*body, output))),
            Err(Refused::Full(body)) => Err(SubmitError::Full(Job::from_body(*body, output))),
            Err(Refused::Stopped(body)) => Err(SubmitError::Closed(Job::from_parts(body.spec(), output))),
        }
    }

    /// As [`PipelineExecutor::submit_blocking`].
    pub fn submit_blocking<T: Send + 'static>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        match self.offer(job) {
            Err(SubmitError::Full(job)) => {
                self.hub.assert_not_on_own_worker("submit_blocking");
                block_on(pin!(self.submit_async(job)))
            }
            other => other,
        }
    }

    /// As [`PipelineExecutor::submit_async`].
    pub fn submit_async<T: Send + 'static>(
        &self,
        job: Job<T>,
    ) -> impl Future<Output = Result<JobTicket<T>, SubmitError<T>>> + Send + use<T> {
        let handle = self.clone();
        let mut waiter = Waiter::new(Arc::clone(&self.hub.room));
        let mut waiting = Some(job);
        poll_fn(move |cx| {
            let job = waiting.take().expect("a future is not polled after it was ready");
            let job = match handle.offer(job) {
                Err(SubmitError::Full(job)) => job,
                other => return Poll::Ready(other),
            };
            waiter.register(cx.waker());
            match handle.offer(job) {
                Err(SubmitError::Full(job)) => {
                    waiting = Some(job);
                    Poll::Pending
                }
                other => Poll::Ready(other),
            }
        })
    }

    /// As [`PipelineExecutor::run_until`].
    pub fn run_until<T>(&self, ticket: &JobTicket<T>) {
        ticket.lend(&self.hub, "run_until");
    }

    /// Number of main and reserve threads.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.hub.shared().workers()
    }

    /// Returns the executor's counters.
    #[must_use]
    pub fn snapshot(&self) -> PipelineSnapshot {
        self.hub.snapshot()
    }
}

impl Drop for PipelineExecutor {
    fn drop(&mut self) {
        // One stage's panic affects no other job.
        for job in self.stop() {
            quietly_drop(job);
        }
    }
}

impl fmt::Debug for PipelineExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineExecutor")
            .field("config", self.handle.hub.shared().config())
            .field("queue_depth", &self.snapshot().queue_depth)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PipelineHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipelineHandle").finish_non_exhaustive()
    }
}

fn leave_behind(executor: Executor<PipelineTask>) {
    executor.handle().shutdown();
    let joins = std::thread::Builder::new().name("pipeline-exec-end".to_owned());
    // If no thread starts, the executor is dropped here.
    drop(joins.spawn(move || drop(executor)));
}
