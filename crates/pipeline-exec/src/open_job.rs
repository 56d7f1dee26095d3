//! Handles of jobs that grow.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::task::{Wake, Waker};

use crate::job_id::next_id;
use crate::native::{Hub, NativeBody, NativeState};
use crate::output::Place;
use crate::policy::{self, Admitted, JobHandle, JobSpec, PipelinePorts, Refused, Terms, grow};
use crate::ticket::JobTicket;

pub use crate::task::{Task, Turn};

/// A job that grows: [tasks](Task) are added while it runs.
///
/// [`PipelineHandle::open`](crate::PipelineHandle::open) makes it. Its tasks share its service,
/// class, deadline and limit of workers. It ends when the last clone is dropped and the last task
/// is over, or by cancellation or failure.
///
/// The thread that closes the job drops the tasks that no worker runs. So do not cancel it under a
/// lock that a task's drop takes. [`spawn`](Self::spawn) and wakes drop no task.
///
/// A worker that has work closes a late job whose tasks are all parked. Its owner calls
/// [`JobControl::enforce_deadline`](crate::JobControl::enforce_deadline), in case no worker has any.
///
/// ```
/// use pipeline_exec::{PipelineExecutor, StepCx, StepError, Terms, open_job::{Task, Turn}};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::task::Waker;
///
/// /// Counts down, a step a turn.
/// struct CountDown(usize, Arc<AtomicUsize>);
///
/// impl Task for CountDown {
///     fn turn(&mut self, _cx: &StepCx<'_>, _waker: &Waker) -> Result<Turn, StepError> {
///         self.0 -= 1;
///         self.1.fetch_add(1, Ordering::Relaxed);
///         Ok(if self.0 == 0 { Turn::Done } else { Turn::Again })
///     }
/// }
///
/// let executor = PipelineExecutor::new(2)?;
/// let (job, ticket) = executor.open("count down", Terms::default())?;
/// let turns = Arc::new(AtomicUsize::new(0));
/// for _ in 0..3 {
///     job.spawn(Box::new(CountDown(10, Arc::clone(&turns)))).map_err(|_| "the job takes no task")?;
/// }
/// drop(job);
/// assert_eq!(ticket.wait()?.slots, 30);
/// assert_eq!(turns.load(Ordering::Relaxed), 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct OpenJob {
    opened: Arc<Opened>,
}

struct Opened {
    hub: Arc<Hub>,
    state: Arc<NativeState>,
    job: JobHandle,
}

/// Wakes and cancels a task. A drop has no effect.
#[derive(Clone)]
pub struct OpenTask {
    hub: Arc<Hub>,
    state: Arc<NativeState>,
    job: JobHandle,
    number: usize,
}

/// Why a job could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The executor drains or was shut down.
    Closed,
    /// The executor has no room.
    Full,
}

impl OpenJob {
    pub(crate) fn open(
        hub: &Arc<Hub>,
        name: Cow<'static, str>,
        terms: Terms,
    ) -> Result<(Self, JobTicket), OpenError> {
        let spec = JobSpec {
            terms: terms.boxed(),
            ..JobSpec::of_tasks(name, next_id())
        };
        let body = NativeBody::new(spec, hub.shared().workers(), hub.place(), |value| hub.word(value));
        match policy::submit(&**hub, body) {
            Ok(Admitted { state, job }) => {
                let opened = Opened {
                    hub: Arc::clone(hub),
                    state: Arc::clone(&state),
                    job,
                };
                let ticket = JobTicket::new(Arc::clone(hub), state, job, Place::Given(()));
                Ok((
                    Self {
                        opened: Arc::new(opened),
                    },
                    ticket,
                ))
            }
            Err(Refused::Full(_)) => Err(OpenError::Full),
            Err(Refused::Closed(_) | Refused::Stopped(_)) => Err(OpenError::Closed),
        }
    }

    /// Adds a task, which gets a turn as soon as the job gets a worker.
    ///
    /// # Errors
    ///
    /// Returns the task if the job was cancelled or failed, or its executor ends.
    pub fn spawn(&self, task: Box<dyn Task>) -> Result<OpenTask, Box<dyn Task>> {
        let Opened { hub, state, job } = &*self.opened;
        let handle = |number| OpenTask {
            hub: Arc::clone(hub),
            state: Arc::clone(state),
            job: *job,
            number,
        };
        let number = grow::spawn(&**hub, state, *job, task, |number| {
            Waker::from(Arc::new(handle(number)))
        })?;
        Ok(handle(number))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        grow::leave(&*self.hub, &self.state, self.job);
    }
}

impl OpenTask {
    /// Makes the task ready, as its waker does.
    pub fn wake(&self) {
        grow::wake(&*self.hub, &self.state, self.job, self.number);
    }

    /// Makes a worker drop the task, after its running turn. A task that is over stays so.
    pub fn cancel(&self) {
        grow::cancel_task(&*self.hub, &self.state, self.job, self.number);
    }
}

impl Wake for OpenTask {
    fn wake(self: Arc<Self>) {
        OpenTask::wake(&self);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        OpenTask::wake(self);
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the executor admits no jobs any more",
            Self::Full => "the executor admits no more jobs at the moment",
        })
    }
}

impl Error for OpenError {}

impl fmt::Debug for OpenJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenJob")
            .field("job", &self.opened.job)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OpenTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTask")
            .field("job", &self.job)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}
