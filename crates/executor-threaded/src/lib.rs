//! A work-stealing executor for typed tasks on OS threads.
//!
//! Tasks are values of one type `T`, best a small enum; one function, the *runner*, runs them and may spawn more.
//! Each worker thread owns a *scratch* value, so tasks share nothing unless they want to:
//!
//! ```
//! use executor_threaded::{Executor, ExecutorConfig};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! /// Adds up a range: directly if it is short, in two halves if not.
//! enum Task {
//!     Sum { from: u64, to: u64 },
//! }
//!
//! let total = Arc::new(AtomicU64::new(0));
//! let sum = Arc::clone(&total);
//! let config = ExecutorConfig { workers: 4, ..ExecutorConfig::default() };
//! let executor = Executor::<Task>::new(
//!     config,
//!     |_worker| (),
//!     move |Task::Sum { from, to }, cx| {
//!         if to - from <= 1_000 {
//!             sum.fetch_add((from..to).sum(), Ordering::Relaxed);
//!         } else {
//!             let middle = from + (to - from) / 2;
//!             cx.spawn_local(Task::Sum { from, to: middle });
//!             cx.spawn_local(Task::Sum { from: middle, to });
//!         }
//!     },
//! )?;
//! executor.spawn_external(Task::Sum { from: 0, to: 1_000_000 })?;
//! let metrics = executor.join();
//! assert_eq!(total.load(Ordering::Relaxed), 499_999_500_000);
//! println!("{metrics}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! - A task that was accepted is run exactly once, or, if the executor is shut down or a task panics, handed back
//!   to the owner exactly once. A task that was not accepted comes back at once.
//! - An idle executor sleeps without a timeout: no polling, no context switch.
//! - A panic in a task closes the gate before anything else, so that nothing is accepted that nobody will run.
//! - No thread outlives its [`Executor`], whichever way it ends, unless one of its own tasks drops it: then the
//!   threads leave when that task is over.
//!
//! # What is where
//!
//! Every decision is `executor-core`'s: who looks where, who wakes whom, when it is over. This crate brings what the
//! policy runs on: crossbeam's deques and parkers, our own injector, the machine's atomics, OS threads, and cores to pin them to.
//!
//! Starts, stops and panics are spans and events of `tracing`; with the feature `task-events`, which is off by default,
//! so is every task, at level TRACE.
//!
//! What it refuses to do: grow or shrink the set of threads, run closures, give priorities.
#![forbid(unsafe_code)]

mod affinity;
mod builder;
mod chrome_trace;
mod error;
mod executor;
mod handle;
mod host;
mod metrics;
mod panic_handler;
mod ports;
mod random;
pub mod recording;
mod scope;
mod shutdown;
mod stack;
mod start;
#[cfg(feature = "task-events")]
mod task_events;
mod worker;
mod worker_id;
pub mod yield_policy;

pub use affinity::{CoreAssigner, CoreError, CoreLease, default_pin_threads};
pub use builder::{DefaultIdle, DefaultTrace, ExecutorBuilder};
pub use chrome_trace::{ChromeHooks, ChromeTrace};
pub use error::{Aborted, BuildError};
pub use executor::Executor;
pub use handle::ExecutorHandle;
pub use host::{HostError, WORKERS_VARIABLE, for_host};
pub use metrics::{Delays, MetricsSnapshot};
pub use panic_handler::{DropPayload, HandleWith, HandlesPanics};
pub use ports::ThreadPorts;
pub use scope::{ScopeReport, scope};
pub use worker::{Spawner, WorkerCtx};
pub use worker_id::{current_worker_id, set_current_worker_id};
pub use yield_policy::{AdaptiveYield, AlwaysYield, EveryN, NeverYield, YieldPolicy};

pub use executor_core::{
    ConfigError, ExecTraceEvent, ExecutorConfig, IdleAction, IdleHooks, IdleRound, ParkOptions, NoopTrace, OnPanic,
    Pin, PopSource, Rejected, TaskCtx, TieredIdle, TraceHooks, WorkerMetricsLocal,
};
/// The trait that draws from [`WorkerCtx::rng`](WorkerCtx#structfield.rng).
pub use rand_core::Rng;
pub use rand_xorshift::XorShiftRng;
