//! Errors of building an executor, and of its end.

use std::any::Any;
use std::fmt;
use std::io;

use executor_core::{ConfigError, panic_message, panic_text};

use crate::affinity::CoreError;
use crate::host::HostError;
use crate::metrics::MetricsSnapshot;

/// The executor could not be built. All threads that were started have been joined.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A field of the configuration is out of its range.
    Config(ConfigError),
    /// No configuration was given, and the variable for the host's number of workers holds no
    /// number.
    Host(HostError),
    /// The prefix of the thread names has a NUL byte.
    ThreadName {
        /// The prefix.
        prefix: String,
    },
    /// There is no core for each worker under `Pin::Always`, or one of the set may not be used.
    Cores(CoreError),
    /// The operating system did not pin a worker's thread.
    Pin {
        /// The worker's number.
        worker: usize,
        /// The operating system's numbers of the cores.
        cores: Vec<usize>,
    },
    /// The operating system did not start a thread.
    Thread {
        /// The worker's number.
        worker: usize,
        /// The operating system's error.
        source: io::Error,
    },
    /// `scratch_init` panicked.
    ScratchPanicked {
        /// The worker's number.
        worker: usize,
        /// The panic's text.
        message: String,
    },
    /// A start hook, or a function that makes hooks, panicked.
    HookPanicked {
        /// The worker's number.
        worker: usize,
        /// The panic's text.
        message: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "the executor's configuration is not valid: {error}"),
            Self::Host(error) => error.fmt(f),
            Self::ThreadName { prefix } => write!(f, "the thread name prefix {prefix:?} contains a NUL byte"),
            Self::Cores(error) => write!(f, "the workers cannot run where they were to run: {error}"),
            Self::Pin { worker, cores } => {
                write!(
                    f,
                    "the operating system did not let worker {worker} be pinned to the cores {cores:?}"
                )
            }
            Self::Thread { worker, source } => {
                write!(f, "the thread of worker {worker} could not be started: {source}")
            }
            Self::ScratchPanicked { worker, message } => {
                write!(
                    f,
                    "making the scratch value of worker {worker} panicked: {message}"
                )
            }
            Self::HookPanicked { worker, message } => {
                write!(f, "a hook of worker {worker} panicked at its start: {message}")
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Host(error) => Some(error),
            Self::Cores(error) => Some(error),
            Self::Thread { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<ConfigError> for BuildError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<CoreError> for BuildError {
    fn from(error: CoreError) -> Self {
        Self::Cores(error)
    }
}

/// The executor has ended, but a task panicked or not every task has run.
#[non_exhaustive]
pub struct Aborted<T> {
    /// The payload of the first panic.
    pub panic: Option<Box<dyn Any + Send>>,
    /// The workers' counters.
    pub metrics: MetricsSnapshot,
    /// Tasks that have not run, in no particular order.
    pub tasks: Vec<T>,
}

impl<T> Aborted<T> {
    pub(crate) fn new(panic: Option<Box<dyn Any + Send>>, metrics: MetricsSnapshot, tasks: Vec<T>) -> Self {
        Self {
            panic,
            metrics,
            tasks,
        }
    }

    /// The text of the panic, if it has one.
    #[must_use]
    pub fn panic_message(&self) -> Option<&str> {
        self.panic.as_deref().and_then(panic_text)
    }
}

impl<T> fmt::Debug for Aborted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aborted")
            .field("panic", &self.panic.as_deref().map(panic_message))
            .field("tasks", &self.tasks.len())
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Aborted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.panic {
            Some(payload) => write!(f, "a task panicked: {}", panic_message(&**payload))?,
            None => f.write_str("the executor was shut down")?,
        }
        write!(f, "; {} tasks were not run", self.tasks.len())
    }
}

impl<T> std::error::Error for Aborted<T> {}
