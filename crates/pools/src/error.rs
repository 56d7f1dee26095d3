//! Errors of calls, of work and of settings.

use std::error::Error;
use std::fmt;
use std::io;

use executor_threaded::HostError;
use pipeline_exec::{BuildError, JobError, JobErrorKind};

/// A pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// Async tasks and blocking calls.
    Mixed,
    /// Computation.
    Cpu,
    /// Housekeeping.
    Maintenance,
}

impl PoolKind {
    /// Returns its name for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Cpu => "CPU",
            Self::Maintenance => "maintenance",
        }
    }
}

impl fmt::Display for PoolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A refused call between pools, without effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongPool {
    /// The calling pool.
    pub from: PoolKind,
    /// The called pool.
    pub to: PoolKind,
}

impl fmt::Display for WrongPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        write!(f, "the {to} pool was called from the {from} pool: ")?;
        match (from, to) {
            (PoolKind::Cpu, PoolKind::Cpu) => f.write_str(
                "a CPU task that waits for another one holds its worker; wait for parts of its own with `CpuCx::join`, `map`, or `run_job`",
            ),
            (PoolKind::Cpu, _) => f.write_str(
                "a CPU task must not wait for what may block; do that first in the mixed pool, and hand its result to `cpu().run`",
            ),
            (_, PoolKind::Mixed) if from == to => f.write_str(
                "a pool that waits for itself waits for ever; do it on a thread of your own",
            ),
            _ => f.write_str("do it on a thread of your own"),
        }
    }
}

impl Error for WrongPool {}

/// Why a CPU task has no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum CpuError {
    /// A CPU task waited for it.
    WrongPool(WrongPool),
    /// The task panicked.
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The surrounding task was cancelled, or the pool's time was up.
    Cancelled,
    /// The pool ended before it started.
    Closed,
    /// The pool admits no more jobs.
    Full,
    /// The pool could not start, for this reason.
    Unavailable(String),
}

impl CpuError {
    /// Computations fail only by a panic or when the pool's time is up.
    pub(crate) fn of_job(error: JobError) -> Self {
        match error.kind {
            JobErrorKind::Panicked => Self::Panicked {
                message: error.source.map_or_else(String::new, |said| said.to_string()),
            },
            JobErrorKind::Failed | JobErrorKind::Cancelled | JobErrorKind::DeadlineExceeded => {
                Self::Cancelled
            }
            JobErrorKind::HandedBack => Self::Closed,
        }
    }
}

impl fmt::Display for CpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPool(error) => error.fmt(f),
            Self::Panicked { message } => write!(f, "the CPU task panicked: {message}"),
            Self::Cancelled => f.write_str("the CPU task was cancelled"),
            Self::Closed => f.write_str("the CPU pool has ended"),
            Self::Full => f.write_str("as many jobs wait as the CPU pool admits"),
            Self::Unavailable(why) => write!(f, "the CPU pool cannot be started: {why}"),
        }
    }
}

impl Error for CpuError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // `Display` shows it in full.
            Self::WrongPool(error) => error.source(),
            _ => None,
        }
    }
}

impl From<WrongPool> for CpuError {
    fn from(error: WrongPool) -> Self {
        Self::WrongPool(error)
    }
}

/// Why mixed work has no value.
#[derive(Debug)]
#[non_exhaustive]
pub enum MixedError {
    /// A CPU task called it.
    WrongPool(WrongPool),
    /// Async code made this blocking call instead of awaiting.
    InAsync {
        /// Its name.
        call: &'static str,
    },
    /// The work panicked.
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The work was aborted, or the pool's time was up.
    Cancelled,
    /// The pool is closed.
    Closed,
    /// The runtime could not start.
    Unavailable(io::Error),
}

impl fmt::Display for MixedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPool(error) => error.fmt(f),
            Self::InAsync { call } => write!(
                f,
                "`{call}` blocks and was called in async code; await the task there, or call it on a thread that may block"
            ),
            Self::Panicked { message } => write!(f, "the mixed task panicked: {message}"),
            Self::Cancelled => f.write_str("the mixed task was cancelled"),
            Self::Closed => f.write_str("the mixed pool has ended"),
            Self::Unavailable(error) => write!(f, "the mixed pool cannot be started: {error}"),
        }
    }
}

impl Error for MixedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::WrongPool(error) => error.source(),
            Self::Unavailable(error) => Some(error),
            _ => None,
        }
    }
}

impl From<WrongPool> for MixedError {
    fn from(error: WrongPool) -> Self {
        Self::WrongPool(error)
    }
}

/// Why a maintenance task was rejected.
#[derive(Debug)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// A CPU task called it.
    WrongPool(WrongPool),
    /// The pool is closed.
    Closed,
    /// No thread could be started.
    Unavailable(io::Error),
}

impl fmt::Display for MaintenanceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongPool(error) => error.fmt(f),
            Self::Closed => f.write_str("the maintenance pool has ended"),
            Self::Unavailable(error) => write!(f, "the maintenance pool has no thread: {error}"),
        }
    }
}

impl Error for MaintenanceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::WrongPool(error) => error.source(),
            Self::Closed => None,
            Self::Unavailable(error) => Some(error),
        }
    }
}

impl From<WrongPool> for MaintenanceError {
    fn from(error: WrongPool) -> Self {
        Self::WrongPool(error)
    }
}

/// Invalid settings. No pool was started.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is out of range.
    OutOfRange {
        /// The setting's name.
        setting: &'static str,
        /// Its value.
        value: usize,
        /// Smallest valid value.
        min: usize,
        /// Largest valid value.
        max: usize,
    },
    /// The name contains a NUL byte.
    NulInName {
        /// The name.
        name: String,
    },
    /// `WINDLASS_WORKERS` is not a number of workers.
    Host(HostError),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange {
                setting,
                value,
                min,
                max,
            } => write!(f, "`{setting}` is {value}, but must be from {min} to {max}"),
            Self::NulInName { name } => write!(f, "the name {name:?} contains a NUL byte"),
            Self::Host(error) => error.fmt(f),
        }
    }
}

impl Error for ConfigError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::OutOfRange { .. } | Self::NulInName { .. } => None,
            Self::Host(error) => error.source(),
        }
    }
}

impl From<HostError> for ConfigError {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<BuildError> for CpuError {
    fn from(error: BuildError) -> Self {
        Self::Unavailable(error.to_string())
    }
}
