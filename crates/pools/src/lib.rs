//! Three pools for work that must not wait for each other: work that blocks, computes, or keeps
//! house.
//!
//! A thread that computes for 10 ms answers its sockets 10 ms late; a thread that waits for a file
//! leaves a core idle. So there are three pools, and calls go one way:
//!
//! ```text
//!   MixedPool ──────────► CpuPool        MaintenancePool
//!   async tasks and       jobs of the    a few threads of its own,
//!   blocking calls:       pipeline       never waited for
//!   tokio                 executor
//! ```
//!
//! Mixed work hands computation to the CPU pool and awaits it. The reverse is refused: a CPU task
//! that waits for mixed work holds its worker, and once all workers wait, the computation that they
//! wait for never runs. [`CpuCx`], the context of CPU tasks, has no way to block; a call into the
//! mixed pool from a CPU worker returns [`WrongPool`], through any handle.
//!
//! ```
//! use pools::Pools;
//!
//! let pools = Pools::builder().cpu_threads(2).build()?;
//! let inner = pools.clone();
//! let sum = pools.mixed().block_on(async move {
//!     // Awaited on the mixed pool, computed on the CPU pool.
//!     inner.cpu().run(|_cx| (1..=1_000_u64).sum::<u64>()).await
//! })??;
//! assert_eq!(sum, 500_500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A CPU task that waits for its own parts runs them, and nothing else: [`CpuCx::map`],
//! [`CpuCx::join`], [`CpuCx::run_job`]. Futures that compute much, such as a query engine's
//! streams, run as turns of a job: [`CpuPool::open`].
//!
//! # What a foreign handle can still do
//!
//! The checks cover calls of this crate. A CPU task that captured a `tokio::runtime::Handle` can
//! block on it and take its worker out of the pool, which only the runtime could detect.
//! [`MixedPool::tokio_handle`] gives such a handle outside CPU tasks, for libraries that need one;
//! do not carry it into CPU tasks.
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
mod lock;
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
