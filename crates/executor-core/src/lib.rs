//! The scheduling policy of a work-stealing executor for typed tasks.
//!
//! Producers put tasks of one type `T` into a global injector; workers run them local-first and steal when
//! they have none. This crate holds every decision of that: what is counted, who looks where and in which
//! order, who is woken, who may sleep, and how it all ends. It holds none of the means. Queues, atomics,
//! parking and chance come in through small port traits ([`ports`]), each method of which is *one* shared
//! operation:
//!
//! ```text
//!            executor-core: run_state, credit, sleep, step, run_loop
//!                 │ ports: Memory, Inject, LocalQueue, Stealing, Parking …
//!      ┌──────────┼──────────────┐
//!   threads    simulator       loom
//! crossbeam,   plain data, a   loom's atomics,
//! std atomics  switch before   every execution
//!              every operation
//! ```
//!
//! So the very same code runs on threads, under a deterministic simulator that may switch workers between
//! any two shared operations, and under the loom model checker.
//!
//! What this crate never does: start a thread, block, read a clock, use `unsafe`.
//!
//! Where to start reading: [`worker_step`] is what a worker does, [`sleep`] is how nobody
//! oversleeps, [`run_state`] is how the executor knows that it is finished.
#![forbid(unsafe_code)]
// What runs here runs on workers; what blocks on purpose says why.
#![warn(clippy::disallowed_methods)]

mod chrome;
pub mod config;
mod credit;
mod error;
mod event;
mod idle;
mod backoff;
mod metrics;
mod mutant;
pub mod ports;
mod private;
pub mod record;
mod run_loop;
pub mod run_state;
mod scheduler;
pub mod sleep;
mod state;
mod step;
mod task_ctx;
mod task_time;
mod text;
mod time_histogram;
mod victim;

pub use chrome::{ChromeArg, ChromeFile, ChromePhase, ChromeRow};
pub use config::{ConfigError, ExecutorConfig, OnPanic, Pin};
pub use error::Rejected;
pub use event::{ExecTraceEvent, NoopTrace, Rest, TraceHooks};
pub use idle::{IdleAction, IdleHooks, IdleRound, ParkOptions, TieredIdle};
pub use metrics::WorkerMetricsLocal;
#[cfg(windlass_mutants)]
#[doc(hidden)]
pub use mutant::is_planted;
pub use private::PRIVATE_TASKS_MAX;
pub use run_loop::{WorkerExit, run_worker};
pub use run_state::{ACCEPTING_BIT, COUNT_UNIT, RunState, in_flight, is_accepting};
pub use scheduler::Scheduler;
pub use state::WorkerState;
pub use step::{PopSource, Popped, WorkerStepResult, pop_task, worker_step};
pub use task_ctx::{SeenByTasks, TaskCtx, WorkerCtxLike};
pub use task_time::SEARCH_TICK_MAX;
pub use text::{thousands, write_columns};
pub use time_histogram::TimeHistogram;
pub use victim::nth_victim;

/// How many tasks a worker spawns or pops, knowing them to be short, before it wakes a *sleeper* for them.
///
/// Unparking costs the caller about 4 µs, which is more than running a few dozen short tasks oneself. Tasks
/// that are long, or not yet known, never wait for this count: each is public at once and wakes by the rules
/// of [`sleep`].
pub const WAKE_ON_HOARD_THRESHOLD: u32 = 32;
