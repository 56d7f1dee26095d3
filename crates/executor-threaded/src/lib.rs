#![doc = include_str!("../README.md")]
//! # Promises
//!
//! - An accepted task runs exactly once or, after a shutdown or a panic, is returned to the owner
//!   exactly once. A rejected task is returned at once.
//! - An idle executor sleeps without a timeout: no polling, no context switch.
//! - After a panic no task is accepted that will not run.
//! - No thread outlives its [`Executor`], unless one of its own tasks drops it: then the threads
//!   end after that task.
//!
//! Starts, stops and panics are spans and events of `tracing`; with the feature `task-events`, so
//! is every task, at level TRACE.
//!
//! All decisions are made in `executor-core`. This crate brings what the policy runs on:
//!
//! - [`Executor`], [`scope`](scope()) and [`ExecutorHandle`] for owners and producers,
//!   [`WorkerCtx`] for tasks
//! - deques, parkers, atomics, threads and pinning, behind core's ports
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
#[doc(hidden)]
pub mod ports;
mod random;
mod scope;
mod settings;
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
pub use scope::{ScopeReport, scope};
pub use worker::{Spawner, WorkerCtx};
pub use worker_id::{current_worker_id, set_current_worker_id};
pub use yield_policy::{AdaptiveYield, AlwaysYield, EveryN, NeverYield, YieldPolicy};

pub use executor_core::{
    ConfigError, ExecTraceEvent, ExecutorConfig, IdleAction, IdleHooks, IdleRound, NoopTrace, OnPanic, Park,
    Pin, PopSource, Rejected, TaskCtx, TieredIdle, TraceHooks, WorkerMetricsLocal,
};
/// The trait of [`WorkerCtx::rng`](WorkerCtx#structfield.rng).
pub use rand_core::Rng;
pub use rand_xorshift::XorShiftRng;
