#![doc = include_str!("../README.md")]
//! # Where to find it
//!
//! | for | use |
//! |---|---|
//! | independent steps | [`Job::from_steps`]; [`steps`] as a stage |
//! | stages in a row or a graph | [`JobBuilder::stage`], [`JobBuilder::stages`] |
//! | a result | [`JobBuilder::output`], in [`JobReport::output`] |
//! | options | [`JobBuilder`]: class, cost, deadline, workers |
//! | submission | [`PipelineExecutor`]: at once, blocking or async |
//! | waiting | [`JobTicket::wait`], or await the ticket |
//! | helping while waiting | [`JobTicket::run`] |
//! | progress and cancel | [`JobControl`]; [`JobTicket::cancel_on_drop`] |
//! | a slot's questions | [`StepCx`] |
//! | threads, roles, quantum, capacity, cores | [`PipelineExecutorBuilder`] |
//! | observation | [`metrics`], `tracing` spans, [`trace`] for Perfetto |
//! | the end | [`drain`](PipelineExecutor::drain), [`shutdown`](PipelineExecutor::shutdown) |
//!
//! A graph of stages reads two sides at the same time, then joins them:
//!
//! ```
//! use pipeline_exec::{Class, Job, PipelineExecutor, Stage, StageGraph, StepCx, StepError};
//! use std::sync::{Arc, Mutex};
//! use std::time::Duration;
//!
//! struct Say(&'static str, Arc<Mutex<Vec<&'static str>>>);
//!
//! impl Stage for Say {
//!     fn name(&self) -> &str { self.0 }
//!     fn slots(&self) -> usize { 1 }
//!     fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
//!         self.1.lock().map_err(|_| "a slot panicked")?.push(self.0);
//!         Ok(())
//!     }
//! }
//!
//! let said = Arc::new(Mutex::default());
//! let say = |what| Arc::new(Say(what, Arc::clone(&said)));
//! let mut stages = StageGraph::default();
//! let (left, right) = (stages.after(&[], say("left")), stages.after(&[], say("right")));
//! stages.after(&[left, right], say("join"));
//! let job = Job::builder("orders")
//!     .stages(stages)
//!     .class(Class::Interactive)
//!     .deadline(Duration::from_secs(60))
//!     .output({
//!         let said = Arc::clone(&said);
//!         move |_cx| Ok(said.lock().map_err(|_| "a slot panicked")?.join(" "))
//!     })
//!     .build();
//! let report = PipelineExecutor::new(2)?.submit(job)?.wait()?;
//! assert!(["left right join", "right left join"].contains(&report.output.as_str()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Guarantees
//!
//! - Each slot runs once. [`Stage::finish`] runs once, after the last slot, and sees what the slots
//!   wrote.
//! - A step that fails or panics fails its own job alone.
//! - Every ticket fires: on completion, failure, cancel, deadline, shutdown and drop.
//! - The caller gets back each refused job, and from `shutdown` each job that ran no slot.
//! - A short job waits about one slot beside any number of heavy ones, which keep 15 % of the time.
//!   `docs/latency.md` in the repository has figures.
//!
//! The hidden module `policy` makes every decision over ports, so the simulator runs the same code.
#![forbid(unsafe_code)]
// Code here runs on workers; where it blocks, a comment says why.
#![warn(clippy::disallowed_methods)]

mod detached;
mod error;
mod executor;
mod job;
mod job_id;
pub mod metrics;
mod native;
pub mod open_job;
mod output;
#[doc(hidden)]
pub mod policy;
mod report;
mod spans;
mod split;
mod stage;
mod stage_graph;
mod step_cx;
mod submit_error;
mod task;
mod ticket;
pub mod trace;

pub use error::{BuildError, JobError, JobErrorKind, StepError, ThreadsError};
pub use executor::{PipelineExecutor, PipelineExecutorBuilder, PipelineHandle};
pub use job::{Job, JobBuilder};
pub use job_id::{JobId, JobIds};
pub use native::on_worker_thread;
pub use output::JobOutput;
pub use policy::{Class, JobStatus, Terms};
pub use report::{JobReport, StageProgress};
pub use split::split_threads;
pub use stage::{PipelineStep, Stage, step, steps};
pub use stage_graph::{StageGraph, StageId};
pub use step_cx::{Role, StepCx};
pub use submit_error::SubmitError;
pub use ticket::{JobControl, JobTicket};

#[doc(hidden)]
pub use executor_core::{panic_message, panic_text};
pub use executor_threaded::Pin;
#[doc(hidden)]
pub use executor_threaded::lock;
