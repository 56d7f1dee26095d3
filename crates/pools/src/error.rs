//! What can go wrong: calls from where they must not come, pools that have ended, work that fails.

use std::error::Error;
use std::fmt;
use std::io;

use executor_threaded::HostError;
use pipeline_exec::{BuildError, JobError, JobErrorKind};

/// One of the three pools.
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
    /// What messages and tables call it.
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

/// A call from a pool into one that it must not call. Nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongPool {
    /// Whose thread it was: that of a worker, or one that is lent to a job.
    pub from: PoolKind,
    /// What was called.
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

/// Why there is no value of a CPU task.
#[derive(Debug)]
#[non_exhaustive]
pub enum CpuError {
    /// It was awaited, or waited for, in a CPU task.
    WrongPool(WrongPool),
    /// It panicked.
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// It was told to stop: the task around it was, or the pool's time was up.
    Cancelled,
    /// The pool ended before it started.
    Closed,
    /// As many jobs wait and run as the pool admits.
    Full,
    /// The pool could not be started, for this reason.
    Unavailable(String),
}

impl CpuError {
    /// The same for the end of a job of computations, which fail in no other way than by a panic, or when the pool's time is up.
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
            // It is told in full.
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

/// Why there is no value of mixed work.
#[derive(Debug)]
#[non_exhaustive]
pub enum MixedError {
    /// It was called from a CPU task.
    WrongPool(WrongPool),
    /// A call that blocks was made in async code, where it would hold up its neighbours: await instead.
    InAsync {
        /// What was called.
        call: &'static str,
    },
    /// It panicked.
    Panicked {
        /// What the panic said.
        message: String,
    },
    /// It was aborted, by its task or because the pool's time was up.
    Cancelled,
    /// The pool takes nothing any more.
    Closed,
    /// The runtime could not be started.
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
            // It is told in full.
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

/// Why a maintenance task was not taken.
#[derive(Debug)]
#[non_exhaustive]
pub enum MaintenanceError {
    /// It was called from a CPU task.
    WrongPool(WrongPool),
    /// The pool takes nothing any more.
    Closed,
    /// No thread could be had.
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
            // It is told in full.
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

/// Pools cannot be as they were asked for. Nothing was started.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConfigError {
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
    /// The name has a NUL byte, which no thread's name can have.
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
            // It is told in full.
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
