//! Runs jobs in parallel: stages that are cut into slots and follow one another, with a ticket that always fires.
//!
//! A job is made of *stages*, each of which starts when those before it are finished; a stage is
//! cut into *slots*, which run at the same time on any worker, and beside the slots of other
//! stages. Workers claim slots by compare-and-swap, so each runs exactly once and no lock is held.
//! A *board* orders the jobs that have unclaimed slots: main workers keep short work moving,
//! reserve workers push the heaviest. A worker leaves a young job after a *quantum*, 2 ms, and an
//! old one, of which four quanta have been run, when a young one comes.
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
//! # What there is
//!
//! | for | there is |
//! |---|---|
//! | work that is cut already | [`Job::from_steps`]; [`steps`] as a stage |
//! | stages that follow one another, or form a graph | [`JobBuilder::stage`], [`JobBuilder::stage_after`] |
//! | a result, without a channel | [`JobBuilder::output`], in [`JobReport::output`] |
//! | how urgent a job is, what it will cost, how long it may take, how many workers it may have | [`JobBuilder::class`], [`cost`](JobBuilder::cost), [`deadline`](JobBuilder::deadline), [`max_workers`](JobBuilder::max_workers) |
//! | handing it over, with room or without | [`submit`](PipelineExecutor::submit), [`submit_blocking`](PipelineExecutor::submit_blocking), [`submit_async`](PipelineExecutor::submit_async) |
//! | its end | [`JobTicket::wait`], or the ticket as a future; [`run_until`](PipelineExecutor::run_until) and [`JobTicket::run`] lend the waiting thread to the job |
//! | a bar, a Ctrl-C | [`JobControl::progress`], [`JobControl::stages`], [`JobControl::cancel`]; [`JobTicket::cancel_on_drop`] |
//! | what a slot may ask | [`StepCx`]: worker, role, [`is_cancelled`](StepCx::is_cancelled), [`should_yield`](StepCx::should_yield) |
//! | threads, roles, quantum, capacity, cores | [`PipelineBuilder`] |
//! | what happened | [`PipelineExecutor::snapshot`], `tracing` spans for jobs, stages and claims, [`PipelineTrace`] for Perfetto |
//! | the end of all | [`drain`](PipelineExecutor::drain), [`shutdown`](PipelineExecutor::shutdown), [`Job::downcast`] for what was handed back |
//!
//! A plan whose steps form a graph: two sides are read at the same time, and joined when both are there.
//!
//! ```
//! use pipeline_exec::{Class, Job, PipelineExecutor, Stage, StepCx, StepError};
//! use std::sync::{Arc, Mutex};
//! use std::time::Duration;
//!
//! struct Say(&'static str, Arc<Mutex<Vec<&'static str>>>);
//!
//! impl Stage for Say {
//!     fn name(&self) -> &str { self.0 }
//!     fn slots(&self) -> usize { 1 }
//!     fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
//!         self.1.lock().map_err(|_| "somebody panicked")?.push(self.0);
//!         Ok(())
//!     }
//! }
//!
//! let said = Arc::new(Mutex::default());
//! let say = |what| Arc::new(Say(what, Arc::clone(&said)));
//! let job = Job::builder("orders")
//!     .stage_after(&[], say("left"))         // stage 0
//!     .stage_after(&[], say("right"))        // stage 1, beside it
//!     .stage_after(&[0, 1], say("join"))
//!     .class(Class::Interactive)
//!     .deadline(Duration::from_secs(60))
//!     .output({
//!         let said = Arc::clone(&said);
//!         move |_cx| Ok(said.lock().map_err(|_| "somebody panicked")?.join(" "))
//!     })
//!     .build();
//! let report = PipelineExecutor::new(2)?.submit(job)?.wait()?;
//! assert!(["left right join", "right left join"].contains(&report.output.as_str()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! - Each slot of a job runs once; [`Stage::finish`] runs once, after the last of them, and sees what they wrote.
//! - A step that fails or panics fails its own job. Workers live on, other jobs do not notice.
//! - Every ticket fires: on completion, failure, cancel, deadline, shutdown and drop.
//! - A job that was not taken, or of which nothing ran, is handed back.
//! - A short job waits about a slot, however many heavy ones run, and heavy ones keep 15 % of the
//!   time. `docs/latency.md` in the repository has figures.
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
mod open_job;
mod output;
pub mod policy;
mod report;
mod spans;
mod split;
mod stage;
mod stage_graph;
mod step_cx;
mod task;
mod ticket;
mod trace;

pub use error::{BuildError, JobError, JobErrorKind, StepError, SubmitError, ThreadsError};
pub use executor::{PipelineBuilder, PipelineExecutor, PipelineHandle};
pub use job::{Job, JobBuilder};
pub use job_id::{JobId, JobIds};
pub use metrics::{Activity, JobCounts, PipelineSnapshot, Times};
pub use native::on_worker_thread;
pub use open_job::{OpenError, OpenJob, OpenTask};
pub use output::JobOutput;
pub use policy::{
    Class, JobBoard, JobHandle, JobStatus, Terms, run_main_worker, run_reserve_worker, select_heaviest,
};
pub use report::{JobReport, StageProgress};
pub use split::split_threads;
pub use stage::{PipelineStep, Stage, step, steps};
pub use stage_graph::StageGraph;
pub use step_cx::{Role, StepCx};
pub use task::{Task, Turn};
pub use ticket::{JobControl, JobTicket};
pub use trace::{JobEntry, JobLane, JobNames, PipelineTrace};

pub use executor_core::TimeHistogram;
pub use executor_threaded::Pin;
