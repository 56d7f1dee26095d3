#![doc = include_str!("../README.md")]
//! # One direction
//!
//! Mixed work hands computation to the CPU pool and awaits it. A CPU task that waited for mixed
//! work would hold its worker, so a call into the mixed pool from a CPU worker returns
//! [`WrongPool`]. [`CpuCx`], the context of CPU tasks, has no way to block.
//!
//! A CPU task that waits for its own parts runs them, and nothing else: [`CpuCx::map`],
//! [`CpuCx::join`], [`CpuCx::run_job`]. Futures that compute much, such as a query engine's
//! streams, run as turns of a job: [`CpuPool::open`].
//!
//! # What a foreign handle can still do
//!
//! The checks cover calls of this crate. A CPU task that captured a `tokio::runtime::Handle` can
//! block on it, and take its worker out of the pool. So do not carry the handle of
//! [`MixedPool::tokio_handle`] into CPU tasks.
//!
//! # What is where
//!
//! | module | is |
//! |---|---|
//! | `pools`, `builder`, `inner`, `shutdown` | the three together |
//! | `cpu` | computing: tasks, their context |
//! | `mixed` | async tasks and blocking calls |
//! | `maintenance` | housekeeping, at once and at intervals; wake-ups at set times |
//! | [`stream`] | batches from sources that may block, read ahead within a bound; their slices computed |
//! | `gate` | counts the work inside the mixed pool, and rejects work once closed |
//! | `thread` | which pool the running thread belongs to |
#![forbid(unsafe_code)]

mod builder;
mod cpu;
mod error;
mod gate;
mod inner;
mod maintenance;
mod mixed;
mod moment;
mod panic;
mod pools;
mod shutdown;
mod snapshot;
pub mod stream;
mod thread;

pub use builder::PoolsBuilder;
pub use cpu::{
    AsyncJob, AsyncTask, CpuCx, CpuPool, CpuTask, HandedBack, JobOptions, JobUse, Scoped, TaskError,
    TaskFuture,
};
pub use error::{ConfigError, CpuError, MaintenanceError, MixedError, PoolKind, WrongPool};
pub use maintenance::{Delayed, MaintenancePool, Repeating};
pub use mixed::{MixedPool, MixedTask};
pub use pools::Pools;
pub use shutdown::ShutdownReport;
pub use snapshot::{MaintenanceSnapshot, MixedSnapshot, PoolsSnapshot};
