//! Pools that keep work apart that must not wait for each other: what may block, what computes, and what keeps house.
//!
//! A thread that computes for ten milliseconds and also looks after sockets answers them ten milliseconds late; a thread that waits for
//! a file while others compute is a core that does nothing. So there are three pools, and one direction:
//!
//! ```text
//!   MixedPool ──────────► CpuPool        MaintenancePool
//!   async tasks and       jobs of the    a few threads of its own,
//!   blocking calls:       pipeline       which nobody waits for
//!   tokio                 executor
//! ```
//!
//! Mixed work hands computation to the CPU pool and awaits it. The other way round is refused: a CPU task that waits for mixed work holds
//! its worker meanwhile, and when all workers wait, nothing computes what they wait for. The context that CPU tasks get, [`CpuCx`],
//! has no way to block and none to the mixed pool; and a call into the mixed pool from a CPU worker, however the caller came by
//! the handle, gives [`WrongPool`] at once.
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
//! A CPU task that waits for parts of its own runs them, and nothing else: [`CpuCx::map`], [`CpuCx::join`], [`CpuCx::run_job`].
//!
//! Futures that compute much, such as the streams of a query engine, run as turns of a job: [`CpuPool::open`].
//!
//! # What a foreign handle can still do
//!
//! The fence is at the paths of this crate. A CPU task that has captured a `tokio::runtime::Handle` of its own making can spawn on
//! it, which does no harm, and can block on what it spawned, which takes its worker out of the pool until then. Nothing can tell, short of owning
//! the runtime. [`MixedPool::tokio_handle`] gives such a handle to whoever asks from outside a CPU task, for libraries that want one;
//! do not carry it into CPU tasks.
//!
//! # What is where
//!
//! | module | is |
//! |---|---|
//! | `pools` | the three together: building, the global ones, the order in which they end |
//! | `cpu` | computing: tasks, their context |
//! | `mixed` | async tasks and blocking calls |
//! | `maintenance` | housekeeping, at once and at intervals |
//! | [`stream`] | batches from sources that may block, read ahead within a bound, and their slices computed |
//! | `gate` | who is inside a pool, and that nobody comes in any more |
//! | `thread` | to which pool the running thread belongs |
#![forbid(unsafe_code)]

mod builder;
mod cpu;
mod error;
mod gate;
mod maintenance;
mod mixed;
mod moment;
mod mutant;
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
pub use maintenance::{MaintenancePool, Repeating};
pub use mixed::{MixedPool, MixedTask};
pub use pools::Pools;
pub use shutdown::ShutdownReport;
pub use snapshot::{MaintenanceSnapshot, MixedSnapshot, PoolsSnapshot};
