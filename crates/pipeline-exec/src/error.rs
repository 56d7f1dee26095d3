//! What can go wrong: in a step, in a job, when a job is handed over.

use std::any::Any;
use std::error::Error;
use std::fmt;

use crate::job::Job;

pub use executor_threaded::BuildError as ThreadsError;

/// Any error that a step ends with.
///
/// It is made from every error and from text, so `?` works in steps and `StepError::from("what is wrong")` as well.
/// Like others of its kind it is not itself a [`std::error::Error`]; [`StepError::into_source`] gives what is inside.
///
/// ```
/// use pipeline_exec::StepError;
///
/// fn parse(text: &str) -> Result<u32, StepError> { Ok(text.parse::<u32>()?) }
///
/// let error = parse("ten").unwrap_err();
/// assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
/// assert_eq!(error.to_string(), "invalid digit found in string");
/// ```
pub struct StepError(Box<dyn Error + Send + Sync>);

impl StepError {
    /// The error inside.
    #[must_use]
    pub fn into_source(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }

    /// The error inside, if it is an `E`.
    #[must_use]
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for StepError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Why a job did not complete. None of its slots runs any more.
#[derive(Debug)]
pub struct JobError {
    /// What kind of end it was.
    pub kind: JobErrorKind,
    /// Name of the step or stage that failed, if one did; `output` when it was the closure that makes the job's output.
    pub step: Option<String>,
    /// Number of the slot that failed, in its stage. `None` when it was the stage's `slots` or `finish`, or no step.
    pub slot: Option<usize>,
    /// What the step said.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// The ways in which a job can end without completing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobErrorKind {
    /// A step returned an error. Of several, the one with the lowest stage and slot among those that ran.
    Failed,
    /// A step panicked. Of several failures, the one with the lowest stage and slot among those that ran.
    Panicked,
    /// It was cancelled, or its executor was shut down while it ran.
    Cancelled,
    /// It was not done by its deadline.
    DeadlineExceeded,
    /// Its executor was shut down before any of it ran. The job itself is in what
    /// [`shutdown`](crate::PipelineExecutor::shutdown) returns; a drop drops it.
    HandedBack,
}

impl JobError {
    pub(crate) fn plain(kind: JobErrorKind) -> Self {
        Self {
            kind,
            step: None,
            slot: None,
            source: None,
        }
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            JobErrorKind::Failed | JobErrorKind::Panicked => {
                let what = if self.kind == JobErrorKind::Failed {
                    "failed"
                } else {
                    "panicked"
                };
                match (&self.step, self.slot) {
                    (Some(step), Some(slot)) => write!(f, "step `{step}` {what} in slot {slot}")?,
                    (Some(step), None) => write!(f, "stage `{step}` {what} outside its slots")?,
                    (None, _) => write!(f, "the job {what}")?,
                }
                match &self.source {
                    Some(source) => write!(f, ": {source}"),
                    None => Ok(()),
                }
            }
            JobErrorKind::Cancelled => f.write_str("the job was cancelled"),
            JobErrorKind::DeadlineExceeded => f.write_str("the job was not done by its deadline"),
            JobErrorKind::HandedBack => {
                f.write_str("the executor was shut down before the job started; the job is handed back")
            }
        }
    }
}

impl Error for JobError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

/// The executor did not take the job, and here it is again, as it was: it can be submitted once more.
pub enum SubmitError<T = ()> {
    /// The executor was shut down, or drains.
    Closed(Job<T>),
    /// As many jobs wait and run as the executor admits.
    Full(Job<T>),
}

impl<T> SubmitError<T> {
    /// The job.
    #[must_use]
    pub fn into_job(self) -> Job<T> {
        match self {
            Self::Closed(job) | Self::Full(job) => job,
        }
    }
}

impl<T> fmt::Debug for SubmitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(job) => f.debug_tuple("Closed").field(&job.id).finish(),
            Self::Full(job) => f.debug_tuple("Full").field(&job.id).finish(),
        }
    }
}

impl<T> fmt::Display for SubmitError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (job, why) = match self {
            Self::Closed(job) => (job, "the executor no longer accepts jobs"),
            Self::Full(job) => (job, "as many jobs wait as the executor admits"),
        };
        write!(f, "job {} over `{}` was not taken: {why}", job.id, job.table_name)
    }
}

impl<T> Error for SubmitError<T> {}

/// The executor could not be built. No thread is left running.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A number is out of its range.
    OutOfRange {
        /// Name of the setting.
        setting: &'static str,
        /// What it was set to.
        value: usize,
        /// Smallest value that is taken.
        min: usize,
        /// Largest value that is taken.
        max: usize,
    },
    /// The threads could not be had as asked.
    Threads(ThreadsError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange {
                setting,
                value,
                min,
                max,
            } => {
                write!(f, "`{setting}` is {value}, but must be from {min} to {max}")
            }
            Self::Threads(error) => error.fmt(f),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::OutOfRange { .. } => None,
            Self::Threads(error) => Some(error),
        }
    }
}

impl From<ThreadsError> for BuildError {
    fn from(error: ThreadsError) -> Self {
        Self::Threads(error)
    }
}

/// What a panic said.
pub(crate) fn panic_message(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}
