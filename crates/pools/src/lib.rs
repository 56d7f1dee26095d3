#![doc = include_str!("../README.md")]
//! # One direction
//!
//! Mixed work hands computation to the CPU pool and awaits it. A CPU task that waited for mixed
//! work would hold its worker, so that call returns [`WrongPool`], and [`CpuCx`] has no way to
//! block. A task runs its own parts while it waits: [`CpuCx::map`], [`CpuCx::join`],
//! [`CpuCx::run_job`]. Futures that compute much run as turns of a job: [`CpuPool::open`]. Such a
//! future waits without a worker, so it may start work outside and await it: [`AsyncJob::outside`].
//!
//! A CPU task can still block on a captured `tokio::runtime::Handle`, so do not give it that of
//! [`MixedPool::tokio_handle`].
#![forbid(unsafe_code)]

mod budget;
mod builder;
mod cpu;
mod error;
mod gate;
mod inner;
mod maintenance;
mod mixed;
mod moment;
mod pools;
mod shutdown;
mod snapshot;
pub mod stream;
mod thread;

pub use budget::with_budget;
pub use builder::PoolsBuilder;
pub use cpu::{
    AsyncJob, AsyncTask, CpuCx, CpuPool, CpuTask, HandedBack, JobOptions, JobUse, OutsideTask, Scoped,
    TaskError, TaskFuture, TurnObserver,
};
pub use error::{ConfigError, CpuError, MaintenanceError, MixedError, PoolKind, WrongPool};
pub use maintenance::{Delayed, MaintenancePool, Repeating};
pub use mixed::{MixedPool, MixedTask};
pub use pools::Pools;
pub use shutdown::ShutdownReport;
pub use snapshot::{MaintenanceSnapshot, MixedSnapshot, PoolsSnapshot};
