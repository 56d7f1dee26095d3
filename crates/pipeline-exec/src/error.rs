//! Errors of steps, of jobs, and of building an executor.

use std::error::Error;
use std::fmt;

pub use executor_threaded::BuildError as ThreadsError;

/// Any error of a step. Every error and text converts into it, so `?` works in steps. It does not
/// implement [`std::error::Error`]; [`StepError::into_source`] returns the error inside.
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
    /// The kind of end.
    pub kind: JobErrorKind,
    /// Name of the failed step or stage, if one failed; `output` for the closure that makes the
    /// output.
    pub step: Option<String>,
    /// Number of the failed slot in its stage. `None` if a stage's `slots` or `finish` failed, or
    /// no step.
    pub slot: Option<usize>,
    /// The step's error.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// Why a job ended without completing. Of several failures the one with the lowest stage and slot
/// counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobErrorKind {
    /// A step returned an error.
    Failed,
    /// A step panicked.
    Panicked,
    /// It was cancelled, or its executor was shut down while it ran.
    Cancelled,
    /// Its deadline passed.
    DeadlineExceeded,
    /// Its executor was shut down before a slot ran.
    /// [`shutdown`](crate::PipelineExecutor::shutdown) returns the job; a dropped executor drops
    /// it.
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

/// Why an executor could not be built. The threads that were started have ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A number is out of its range.
    OutOfRange {
        /// Name of the setting.
        setting: &'static str,
        /// The value given.
        value: usize,
        /// The smallest allowed value.
        min: usize,
        /// The largest allowed value.
        max: usize,
    },
    /// The threads could not be started.
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
