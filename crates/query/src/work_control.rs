//! A look at work that runs, and a way to stop it: one job, or many over a stream that is read beside them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pipeline_exec::{Job, JobControl, JobReport, JobTicket, PipelineHandle, SubmitError};

use crate::QueryError;

/// Stops work, and tells how far it is. A clone is of the same work. It is there before the work is, so that no cancel comes too early.
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
    cancelled: bool,
    /// Jobs that were submitted and are not known to have ended.
    running: Vec<JobControl>,
    /// Slots of jobs that are.
    done: usize,
    /// Slots of all jobs, those to come included, if that is known.
    total: usize,
    /// To close what is read.
    close: Option<Box<dyn FnOnce() + Send>>,
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
        let (running, close) = {
            let mut state = self.lock();
            state.cancelled = true;
            (state.running.clone(), state.close.take())
        };
        // Outside the lock: what they call is not known here.
        if let Some(close) = close {
            close();
        }
        for job in running {
            job.cancel();
        }
    }

    /// Whether somebody cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.lock().cancelled
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
    /// What made the job fail, and [`QueryError::Cancelled`], before it is submitted if that was so.
    pub fn run<T: Send + 'static>(
        &self,
        executor: &PipelineHandle,
        job: Job<T>,
    ) -> Result<JobReport<T>, QueryError> {
        if self.is_cancelled() {
            return Err(QueryError::Cancelled);
        }
        let ticket = executor.submit(job).map_err(not_taken)?;
        let ticket = self.running(ticket);
        let control = ticket.control();
        let outcome = ticket.wait();
        self.ended(&control);
        Ok(outcome?)
    }

    /// Notes that a job runs, and cancels it if it came too late.
    pub(crate) fn running<T>(&self, ticket: JobTicket<T>) -> JobTicket<T> {
        let cancelled = {
            let mut state = self.lock();
            state.running.push(ticket.control());
            state.cancelled
        };
        if cancelled {
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

    /// Has `close` called when the work is cancelled; now, if it was.
    pub(crate) fn on_cancel(&self, close: impl FnOnce() + Send + 'static) {
        {
            let mut state = self.lock();
            if !state.cancelled {
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

/// What to say of a job that an executor did not take.
pub(crate) fn not_taken<T>(error: SubmitError<T>) -> QueryError {
    QueryError::Internal {
        message: format!("the executor took no job: {error:?}"),
    }
}

impl fmt::Debug for WorkControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkControl")
            .field("is_cancelled", &self.is_cancelled())
            .field("progress", &self.progress())
            .finish()
    }
}
