//! The executor: threads, and a board of jobs that they look at.

mod builder;

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use executor_core::TaskCtx;
use executor_threaded::Executor;

pub use builder::PipelineBuilder;

use crate::error::{BuildError, SubmitError, panic_message};
use crate::job::Job;
use crate::metrics::PipelineSnapshot;
use crate::native::{Hub, PipelineTask, Waiter};
use crate::open_job::{OpenError, OpenJob};
use crate::policy::{self, Admitted, LookEnd, PipelinePorts, Refused, Terms, close, guard};
use crate::ticket::{JobTicket, block_on};

/// Runs jobs on a fixed set of threads.
///
/// Dropping it shuts it down: slots that run now finish, everything else stops, every ticket fires, and the threads are joined.
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

/// Hands jobs to a pipeline executor without owning it, from anywhere, steps included.
///
/// A handle keeps nothing running: when the executor ends, its handles hand every job back.
#[derive(Clone)]
pub struct PipelineHandle {
    hub: Arc<Hub>,
}

impl PipelineExecutor {
    /// Starts an executor with `total_threads` threads, split by [`split_threads`](crate::split_threads).
    ///
    /// # Errors
    ///
    /// When `total_threads` is 0 or more than can be had; see [`BuildError`].
    pub fn new(total_threads: usize) -> Result<Self, BuildError> {
        Self::builder().threads(total_threads).build()
    }

    /// Sets more than the number of threads.
    pub fn builder() -> PipelineBuilder {
        PipelineBuilder::default()
    }

    fn start(
        hub: Hub,
        builder: executor_threaded::ExecutorBuilder<PipelineTask>,
    ) -> Result<Self, BuildError> {
        let hub = Arc::new(hub);
        let workers = Arc::clone(&hub);
        let executor = builder.build(
            |_worker| (),
            move |PipelineTask, cx| {
                if run_look(&workers, cx.worker_id()) == LookEnd::Again {
                    cx.spawn_global(PipelineTask);
                }
            },
        )?;
        hub.set_workers(executor.handle());
        Ok(Self {
            handle: PipelineHandle { hub },
            executor: Some(executor),
        })
    }

    /// Hands over a job, and never blocks.
    ///
    /// # Errors
    ///
    /// The job, when the executor admits no more at the moment.
    pub fn submit<T>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        self.handle.submit(job)
    }

    /// Opens a job that grows: tasks are added to it while it runs. Gives its handle, and a ticket that tells its end.
    ///
    /// [`OpenJob`] has an example.
    ///
    /// # Errors
    ///
    /// When the executor admits no more jobs, at the moment or at all.
    pub fn open(
        &self,
        name: impl Into<Cow<'static, str>>,
        terms: Terms,
    ) -> Result<(OpenJob, JobTicket), OpenError> {
        self.handle.open(name, terms)
    }

    /// Hands over a job; while the executor is full it waits for room.
    ///
    /// # Errors
    ///
    /// [`SubmitError::Closed`] with the job.
    ///
    /// # Panics
    ///
    /// In a step that runs on this executor, if there is no room: it may wait for itself.
    pub fn submit_blocking<T: Send + 'static>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        self.handle.submit_blocking(job)
    }

    /// Hands over a job; while the executor is full it waits for room.
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

    /// Runs slots of the ticket's job, and of no other, on this thread until the job has ended, instead of sleeping until then. The
    /// ticket then tells at once: [`JobTicket::run`] does both.
    ///
    /// So a job gets on when all workers are busy with others. While nothing of it can be claimed the thread sleeps; it is woken
    /// when a stage starts, slots come back, or the job ends. It counts against [`max_workers`](crate::JobBuilder::max_workers), its steps see
    /// [`Role::Lent`](crate::Role::Lent) and a [`worker_id`](crate::StepCx::worker_id) one behind the last worker's, and its time is not
    /// charged to the job. If two threads are lent to the same job, the second only waits.
    ///
    /// It blocks, so it has no place in async code: await the ticket there. A cancel, a deadline and a shutdown end the job at the next
    /// slot boundaries, and so this call; a shutdown does not wait for a slot that runs here.
    ///
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
    /// In a step that runs on the same executor, for the same reason as [`JobTicket::wait`]. Also if the job is another executor's.
    pub fn run_until<T>(&self, ticket: &JobTicket<T>) {
        self.handle.run_until(ticket);
    }

    /// Number of its workers: main and reserve threads, without threads that are lent.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.handle.workers()
    }

    /// A handle that can be cloned and sent.
    #[must_use]
    pub fn handle(&self) -> PipelineHandle {
        self.handle.clone()
    }

    /// What the executor has counted.
    #[must_use]
    pub fn snapshot(&self) -> PipelineSnapshot {
        self.handle.snapshot()
    }

    /// Lets in no more jobs, finishes all that were let in, and ends the threads.
    ///
    /// # Panics
    ///
    /// In a step that runs on this executor: it would wait for itself.
    pub fn drain(mut self) {
        let hub = &self.handle.hub;
        hub.assert_not_on_own_worker("PipelineExecutor::drain");
        policy::close_gate(&**hub);
        hub.room.tell();
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
    /// The executor, if a job has not ended by then. It lets in no more jobs, and those go on.
    ///
    /// # Panics
    ///
    /// In a step that runs on this executor: it would wait for itself.
    pub fn drain_timeout(self, timeout: Duration) -> Result<(), Self> {
        let hub = &self.handle.hub;
        hub.assert_not_on_own_worker("PipelineExecutor::drain_timeout");
        policy::close_gate(&**hub);
        hub.room.tell();
        if !hub.wait_ended_for(timeout) {
            return Err(self);
        }
        self.drain();
        Ok(())
    }

    /// Stops: slots that run now finish, and no other job is begun. Gives the jobs of which nothing had run, in the order of their
    /// submission, each as it was but for the type of what it gives ([`Job::downcast`]); their tickets say
    /// [`HandedBack`](crate::JobErrorKind::HandedBack). Jobs that would have gone on are
    /// [`Cancelled`](crate::JobErrorKind::Cancelled); those whose last slots run now complete.
    ///
    /// # Panics
    ///
    /// In a step that runs on this executor: it would wait for itself.
    #[must_use = "these jobs were accepted and nobody has run them"]
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
        hub.room.tell();
        // Pending looks come back and mean nothing now; running ones find every job closed. On a thread of its own an executor
        // is left behind, not waited for: it does that by itself on its workers.
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
    /// Hands over a job, and never blocks.
    ///
    /// # Errors
    ///
    /// The job, when the executor admits no more at the moment.
    pub fn submit<T>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        let submitted = self.offer(job);
        if let Err(SubmitError::Full(_)) = submitted {
            self.hub.meter().refused_full();
        }
        submitted
    }

    /// Opens a job that grows: see [`PipelineExecutor::open`].
    ///
    /// # Errors
    ///
    /// When the executor admits no more jobs, at the moment or at all.
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

    /// Hands over a job; while the executor is full it waits for room.
    ///
    /// # Errors
    ///
    /// [`SubmitError::Closed`] with the job.
    ///
    /// # Panics
    ///
    /// In a step that runs on the same executor, if there is no room: it may wait for itself.
    pub fn submit_blocking<T: Send + 'static>(&self, job: Job<T>) -> Result<JobTicket<T>, SubmitError<T>> {
        match self.offer(job) {
            Err(SubmitError::Full(job)) => {
                self.hub.assert_not_on_own_worker("submit_blocking");
                block_on(pin!(self.submit_async(job)))
            }
            other => other,
        }
    }

    /// Hands over a job; while the executor is full it waits for room.
    ///
    /// # Errors
    ///
    /// [`SubmitError::Closed`] with the job.
    pub fn submit_async<T: Send + 'static>(
        &self,
        job: Job<T>,
    ) -> impl Future<Output = Result<JobTicket<T>, SubmitError<T>>> + Send + use<T> {
        let handle = self.clone();
        let mut waiter = Waiter::new(Arc::clone(&self.hub));
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

    /// Runs slots of the ticket's job, and of no other, on this thread until the job has ended: see
    /// [`PipelineExecutor::run_until`].
    ///
    /// # Panics
    ///
    /// In a step that runs on the same executor, for the same reason as [`JobTicket::wait`]. Also if the job is another executor's.
    pub fn run_until<T>(&self, ticket: &JobTicket<T>) {
        ticket.lend(&self.hub, "run_until");
    }

    /// Number of the executor's workers: main and reserve threads, without threads that are lent.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.hub.shared().workers()
    }

    /// What the executor has counted.
    #[must_use]
    pub fn snapshot(&self) -> PipelineSnapshot {
        PipelineSnapshot::read(&self.hub)
    }
}

impl Drop for PipelineExecutor {
    fn drop(&mut self) {
        // The tickets say what became of the jobs. One whose stage panics when it is dropped takes no other along.
        for job in self.stop() {
            close::quietly_drop(job);
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

/// Ends an executor, and waits for its threads on another one.
fn leave_behind(executor: Executor<PipelineTask>) {
    executor.handle().shutdown();
    let joins = std::thread::Builder::new().name("pipeline-exec-end".to_owned());
    // If there is no thread to be had, the executor is dropped here.
    drop(joins.spawn(move || drop(executor)));
}

/// One look. What a user's steps throw is caught inside; what comes out here is foreign code that nobody expects to panic, such as a
/// subscriber's. The look then starts again, for the jobs that are left.
fn run_look(hub: &Arc<Hub>, worker: usize) -> LookEnd {
    let look = AssertUnwindSafe(|| hub.as_worker(worker, || policy::look(&**hub, worker)));
    catch_unwind(look).unwrap_or_else(|payload| {
        let message = panic_message(&*payload);
        guard::discard(payload);
        guard::quietly(|| tracing::error!(message, worker, "a look at the job board panicked"));
        LookEnd::Again
    })
}
