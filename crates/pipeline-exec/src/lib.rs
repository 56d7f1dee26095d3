//! Runs jobs in parallel: stages that are cut into slots and follow one another, with a ticket that always fires.
//!
//! A job is made of *stages*, each of which starts when those before it are finished; a stage is cut into *slots*, which run at the
//! same time on any worker, and beside the slots of other stages. Workers claim slots by compare-and-swap, so each runs exactly
//! once and no lock is held. A *board* orders the jobs that have unclaimed slots: main workers keep short work moving, reserve
//! workers push the heaviest.
//!
//! ```
//! use pipeline_exec::{Job, PipelineExecutor, step};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! let sum = Arc::new(AtomicUsize::new(0));
//! let steps = (1..=10).map(|n| {
//!     let sum = Arc::clone(&sum);
//!     step(move |_cx| { sum.fetch_add(n, Ordering::Relaxed); Ok(()) })
//! });
//! let executor = PipelineExecutor::new(2)?;
//! let ticket = executor.submit(Job::from_steps("numbers", steps.collect()))?;
//! let report = ticket.wait()?;
//! assert_eq!((report.slots, sum.load(Ordering::Relaxed)), (10, 55));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! - Each slot of a job runs once; [`Stage::finish`] runs once, after the last of them, and sees what they wrote.
//! - A step that fails or panics fails its own job. Workers live on, other jobs do not notice.
//! - Every ticket fires: on completion, failure, cancel, deadline, shutdown and drop.
//! - A job that was not taken, or of which nothing ran, is handed back.
//!
//! # What is where
//!
//! [`policy`] holds every decision, over ports: the simulator runs the same code. The rest is the face towards users and what
//! the ports are on threads. The threads are `executor-threaded`'s, and so is how they sleep.
//!
//! What this crate refuses to do: know what a column or a row is; depend on an async runtime; preempt a slot.
#![forbid(unsafe_code)]
// What runs here runs on workers; what blocks on purpose says why.
#![warn(clippy::disallowed_methods)]

mod error;
mod executor;
mod job;
mod job_id;
mod metrics;
mod mutant;
mod native;
mod output;
pub mod policy;
mod report;
mod spans;
mod split;
mod stage;
mod stage_graph;
mod step_cx;
mod ticket;
mod trace;

pub use error::{BuildError, JobError, JobErrorKind, StepError, SubmitError, ThreadsError};
pub use executor::{PipelineBuilder, PipelineExecutor, PipelineHandle};
pub use job::{Job, JobBuilder};
pub use job_id::{JobId, JobIds};
pub use metrics::{Activity, JobCounts, PipelineSnapshot, Times};
pub use native::on_worker_thread;
pub use output::JobOutput;
pub use policy::{
    Class, JobBoard, JobHandle, JobStatus, run_main_worker, run_reserve_worker, select_heaviest,
};
pub use report::JobReport;
pub use split::split_threads;
pub use stage::{PipelineStep, Stage, step, steps};
pub use stage_graph::StageGraph;
pub use step_cx::{Role, StepCx};
pub use ticket::{JobControl, JobTicket};
pub use trace::{JobEntry, JobLane, JobNames, PipelineTrace};

pub use executor_core::TimeHistogram;
pub use executor_threaded::Pin;
