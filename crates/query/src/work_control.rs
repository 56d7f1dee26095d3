//! A look at work that runs, and a way to stop it: one job, or many over a stream that is read beside them.
//!
//! ```text
//!   cancel ──┐             ┌─► jobs: no slot more
//!   expire ──┼─► why, once ┼─► stream: closed, whatever its source waits for
//!   alarm ───┘             └─► whoever waits for room for a job
//! ```
//!
//! The first reason is the one that the work ends with. A deadline is a reason that comes by itself: an alarm of the maintenance pool, for nobody looks at a clock while
//! all wait for bytes.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use pipeline_exec::{
    Job, JobControl, JobError, JobErrorKind, JobReport, JobTicket, PipelineHandle, SubmitError,
};
use pools::{Pools, Repeating};

use crate::QueryError;

/// Stops work, at once or at a deadline, and tells how far it is. A clone is of the same work. It is there before the work is, so that no cancel comes too
/// early.
///
/// ```
/// use query::pipeline_exec::{Job, PipelineExecutor, step};
/// use query::{QueryError, WorkControl};
///
/// let executor = PipelineExecutor::new(1)?;
/// let control = WorkControl::new();
/// let steps = || vec![step(|_cx| Ok(())), step(|_cx| Ok(()))];
/// control.run(&executor.handle(), Job::from_steps("cities", steps()))?;
/// assert_eq!(control.progress(), (2, 2));
///
/// control.cancel();
/// let refused = control.run(&executor.handle(), Job::from_steps("cities", steps()));
/// assert!(matches!(refused, Err(QueryError::Cancelled)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct WorkControl {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    stop: Option<Stop>,
    deadline: Option<Instant>,
    /// Jobs that were submitted and are not known to have ended.
    running: Vec<JobControl>,
    /// Slots of jobs that are.
    done: usize,
    /// Slots of all jobs, those to come included, if that is known.
    total: usize,
    /// To close what is read.
    close: Option<Box<dyn FnOnce() + Send>>,
    /// Of who waits for something else, and for a stop.
    waker: Option<Waker>,
}

/// Why work is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Cancelled,
    DeadlineExceeded,
}

impl From<Stop> for QueryError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Self::Cancelled,
            Stop::DeadlineExceeded => Self::DeadlineExceeded,
        }
    }
}

impl WorkControl {
    /// Of work that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the work: its jobs at their next slot boundaries, what it reads at once. It ends as [`QueryError::Cancelled`], or by its end, if that
    /// came first. Nothing more of it begins.
    pub fn cancel(&self) {
        self.stop(Stop::Cancelled);
    }

    /// Stops the work as [`cancel`](Self::cancel) does, but it ends as [`QueryError::DeadlineExceeded`]: for who has a clock of his own.
    ///
    /// ```
    /// use query::pipeline_exec::{Job, PipelineExecutor};
    /// use query::{QueryError, WorkControl};
    ///
    /// let control = WorkControl::new();
    /// control.expire();
    /// // The first reason counts.
    /// control.cancel();
    /// let refused = control.run(&PipelineExecutor::new(1)?.handle(), Job::builder("cities").build());
    /// assert!(matches!(refused, Err(QueryError::DeadlineExceeded)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire(&self) {
        self.stop(Stop::DeadlineExceeded);
    }

    /// Has the work [expire](Self::expire) at `deadline`, if it has not ended by then and no earlier deadline was set. To be called before the work begins.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use query::pipeline_exec::{Job, PipelineExecutor, step};
    /// use query::{QueryError, WorkControl};
    ///
    /// let control = WorkControl::new();
    /// control.end_by(Instant::now() + Duration::from_millis(1));
    /// let until_told_to_stop = step(|cx| { while !cx.is_cancelled() { std::thread::yield_now() } Ok(()) });
    /// let job = Job::from_steps("cities", vec![until_told_to_stop]);
    /// let outcome = control.run(&PipelineExecutor::new(1)?.handle(), job);
    /// assert!(matches!(outcome, Err(QueryError::DeadlineExceeded)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn end_by(&self, deadline: Instant) {
        let mut state = self.lock();
        let earlier = state.deadline.is_none_or(|known| deadline < known);
        if earlier {
            state.deadline = Some(deadline);
        }
    }

    /// Whether somebody cancelled, before any deadline passed.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.lock().stop == Some(Stop::Cancelled)
    }

    /// Slots done, and slots in all, as far as they are known.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        let (mut done, mut total, running) = {
            let state = self.lock();
            (state.done, state.done, state.running.clone())
        };
        for job in &running {
            let (job_done, job_total) = job.progress();
            done += job_done;
            total += job_total;
        }
        (done, total.max(self.lock().total))
    }

    /// Submits a job and blocks until it has ended.
    ///
    /// # Errors
    ///
    /// What made the job fail, [`QueryError::Cancelled`] and [`QueryError::DeadlineExceeded`], before it is submitted if that was so.
    pub fn run<T: Send + 'static>(
        &self,
        executor: &PipelineHandle,
        job: Job<T>,
    ) -> Result<JobReport<T>, QueryError> {
        let _alarm = self.begin()?;
        let ticket = executor.submit(job).map_err(not_taken)?;
        let ticket = self.running(ticket);
        let control = ticket.control();
        let outcome = ticket.wait();
        self.ended(&control);
        outcome.map_err(|error| self.failed(error))
    }

    /// Begins the work, unless it is stopped already: the alarm that is to be held until it has ended, if there is a deadline.
    pub(crate) fn begin(&self) -> Result<Option<Alarm>, QueryError> {
        self.check()?;
        let Some(deadline) = self.lock().deadline else {
            return Ok(None);
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let control = self.clone();
        let alarm = Pools::global()
            .maintenance()
            .every(left.max(Duration::from_millis(1)), move || control.expire());
        match alarm {
            Ok(alarm) => Ok(Some(Alarm { _repeating: alarm })),
            Err(error) => Err(QueryError::Internal {
                message: format!("no deadline can be watched: {error}"),
            }),
        }
    }

    /// Why the work is to stop, if it is; a deadline that has passed without an alarm, too.
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        let (stop, deadline) = {
            let state = self.lock();
            (state.stop, state.deadline)
        };
        if stop.is_none() && deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            self.expire();
        }
        match self.lock().stop {
            Some(stop) => Err(stop.into()),
            None => Ok(()),
        }
    }

    /// Waits for something that does not know of stops.
    pub(crate) async fn unless_stopped<F: Future>(&self, future: F) -> Result<F::Output, QueryError> {
        let mut future = pin!(future);
        poll_fn(|cx| {
            {
                let mut state = self.lock();
                if let Some(stop) = state.stop {
                    return Poll::Ready(Err(stop.into()));
                }
                state.waker = Some(cx.waker().clone());
            }
            future.as_mut().poll(cx).map(Ok)
        })
        .await
    }

    /// Why a job failed: if it was stopped, for what reason.
    pub(crate) fn failed(&self, error: JobError) -> QueryError {
        match (error.kind, self.lock().stop) {
            (JobErrorKind::Cancelled, Some(stop)) => stop.into(),
            _ => error.into(),
        }
    }

    fn stop(&self, why: Stop) {
        let (running, close, waker) = {
            let mut state = self.lock();
            state.stop.get_or_insert(why);
            (state.running.clone(), state.close.take(), state.waker.take())
        };
        // Outside the lock: what they call is not known here.
        if let Some(close) = close {
            close();
        }
        for job in running {
            job.cancel();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Notes that a job runs, and cancels it if it came too late.
    pub(crate) fn running<T>(&self, ticket: JobTicket<T>) -> JobTicket<T> {
        let stopped = {
            let mut state = self.lock();
            state.running.push(ticket.control());
            state.stop.is_some()
        };
        if stopped {
            ticket.control().cancel();
        }
        ticket
    }

    /// Notes that a job has ended.
    pub(crate) fn ended(&self, job: &JobControl) {
        let (done, _) = job.progress();
        let mut state = self.lock();
        state.running.retain(|running| running.handle() != job.handle());
        state.done += done;
    }

    /// How many slots all jobs have, those to come included.
    pub(crate) fn expect(&self, slots: usize) {
        self.lock().total = slots;
    }

    /// Has `close` called when the work is stopped; now, if it was.
    pub(crate) fn on_stop(&self, close: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.lock();
            if state.stop.is_none() {
                state.close = Some(Box::new(close));
                return;
            }
        }
        close();
    }

    /// What is read is read no more.
    pub(crate) fn forget_close(&self) {
        let close = self.lock().close.take();
        drop(close);
    }

    /// What the lock guards is whole between any two statements.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets work expire, until it is dropped.
#[derive(Debug)]
pub(crate) struct Alarm {
    _repeating: Repeating,
}

/// What to say of a job that an executor did not take.
pub(crate) fn not_taken<T>(error: SubmitError<T>) -> QueryError {
    QueryError::Internal {
        message: format!("the executor took no job: {error:?}"),
    }
}

impl fmt::Debug for WorkControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkControl")
            .field("stop", &self.lock().stop)
            .field("progress", &self.progress())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::thread;

    use super::*;

    #[test]
    fn what_waits_for_room_is_stopped_by_the_first_reason() {
        let mixed = Pools::global().mixed();
        for expires_first in [true, false] {
            let control = WorkControl::new();
            let outcome = thread::scope(|scope| {
                let waiting = scope.spawn(|| mixed.block_on(control.unless_stopped(pending::<()>())));
                match expires_first {
                    true => control.expire(),
                    false => control.cancel(),
                }
                control.cancel();
                control.expire();
                waiting.join().expect("no panic").expect("a plain thread")
            });
            match outcome {
                Err(QueryError::DeadlineExceeded) => assert!(expires_first && !control.is_cancelled()),
                Err(QueryError::Cancelled) => assert!(!expires_first && control.is_cancelled()),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn the_earliest_deadline_counts() {
        let now = Instant::now();
        let control = WorkControl::new();
        control.end_by(now + Duration::from_secs(3_600));
        control.check().expect("there is an hour");
        control.end_by(now);
        control.end_by(now + Duration::from_secs(60));
        assert!(matches!(control.begin(), Err(QueryError::DeadlineExceeded)));
    }
}
