#![doc = include_str!("../README.md")]
//! # What is where
//!
//! ```text
//!            executor-core: words, worker, run
//!                 │ ports: Memory, Inject, LocalQueue, Stealing, Parking …
//!      ┌──────────┼──────────────┐
//!   threads    simulator       loom
//! crossbeam,   plain data, a   loom's atomics,
//! std atomics  switch before   every execution
//!              every operation
//! ```
//!
//! Each module imports from lower floors:
//!
//! ```text
//!   run      the loop: step, find, idle, worker_loop; contexts and trace hooks
//!   worker   one worker's plain memory: state, private tasks, task times, backoff
//!   words    what all share: state word, sleep word, credits, scheduler
//!   config, ports, metrics, error
//! ```
//!
//! Start with [`worker_step`] for what a worker does, [`sleep`] for why no wake-up is lost,
//! [`run_state`] for how an executor ends.
#![forbid(unsafe_code)]
// A blocking call on a worker needs a reason beside it.
#![warn(clippy::disallowed_methods)]

mod chrome;
pub mod config;
mod error;
mod metrics;
mod nanos;
mod panic_message;
pub mod ports;
mod run;
mod text;
mod time_histogram;
mod words;
mod worker;

pub use chrome::{ChromeArg, ChromeFile, ChromePhase, ChromeRow};
pub use config::{
    ConfigError, ExecutorConfig, OnPanic, PRIVATE_TASKS_MAX, Pin, Tuning, WAKE_ON_HOARD_THRESHOLD,
};
pub use error::Rejected;
pub use metrics::WorkerMetricsLocal;
pub use nanos::nanos;
pub use panic_message::{panic_message, panic_text};
pub use ports::Park;
pub use run::context::{TaskCtx, WorkerCtxLike};
pub use run::event::{ExecTraceEvent, NoopTrace, TraceHooks};
pub use run::find::pop_task;
pub use run::idle::{IdleAction, IdleHooks, IdleRound, ParkAtOnce, TieredIdle};
pub use run::next_task::NextTask;
pub use run::step::{WorkerExit, WorkerStepResult, worker_step};
pub use run::worker_loop::run_worker;
pub use text::{thousands, write_columns};
pub use time_histogram::TimeHistogram;
pub use words::run_state::{ACCEPTING_BIT, COUNT_UNIT, RunState, in_flight, is_accepting};
pub use words::scheduler::Scheduler;
pub use words::{run_state, sleep};
pub use worker::popped::{PopSource, Popped};
pub use worker::state::WorkerState;
pub use worker::task_time::SEARCH_TICK_MAX;
pub use worker::victim::nth_victim;
