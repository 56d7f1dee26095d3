#![doc = include_str!("../README.md")]
//! # Promises
//!
//! - An accepted task runs exactly once or, after a shutdown or a panic, is returned to the owner
//!   exactly once. A rejected task is returned at once.
//! - An executor that stays idle comes to rest, with the default idle hooks: after some rounds of
//!   searching its workers sleep without a timeout, and make no context switch. With a
//!   `park_timeout` they look for work after each.
//! - After a panic no task is accepted that will not run.
//! - No thread outlives its [`Executor`], unless one of its own tasks drops it: then the threads
//!   end after that task.
//!
//! Starts, stops and panics are spans and events of `tracing`; with the feature `task-events`, so
//! is every task, at level TRACE.
//!
//! All decisions are made in `executor-core`; this crate has the threads and what its ports reach.
#![forbid(unsafe_code)]

pub mod affinity;
mod builder;
mod chrome_trace;
mod error;
mod executor;
mod handle;
mod home;
pub mod hooks;
mod host;
mod lock;
pub mod metrics;
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
pub mod worker_id;
pub mod yield_policy;

pub use builder::ExecutorBuilder;
pub use chrome_trace::ChromeTrace;
pub use error::{Aborted, BuildError};
pub use executor::Executor;
pub use handle::ExecutorHandle;
pub use host::{HostError, WORKERS_VARIABLE, for_host};
#[doc(hidden)]
pub use lock::lock;
pub use metrics::MetricsSnapshot;
pub use scope::{ScopeReport, scope};
pub use worker::{Spawner, WorkerCtx};
pub use worker_id::current_worker_id;

pub use executor_core::{ConfigError, ExecutorConfig, NextTask, OnPanic, Pin, Rejected, TaskCtx, Tuning};
/// The trait of [`WorkerCtx::rng`](WorkerCtx#structfield.rng).
pub use rand_core::Rng;
pub use rand_xorshift::XorShiftRng;
