//! A deterministic simulator for the work-stealing executor and what is built on it.
//!
//! Races between workers hide in the instants between two shared operations, and a test on threads meets them once
//! in a million runs or never. Here the scheduling code of [`executor_core`] runs unchanged in one thread, over ports
//! made of plain data, and a seeded schedule decides *before every shared operation* who goes next. The same seed is
//! the same run, to the last step:
//!
//! ```
//! use sim::{Simulation, TaskCtx};
//!
//! /// Counts the leaves of a binary tree.
//! fn run<C: TaskCtx<u32, u64>>(depth: u32, cx: &mut C) {
//!     if depth == 0 {
//!         *cx.scratch() += 1;
//!     } else {
//!         cx.spawn_local(depth - 1);
//!         cx.spawn_local(depth - 1);
//!     }
//! }
//!
//! for seed in 0..20 {
//!     let report = Simulation::new(seed)
//!         .workers(3)
//!         .run([4], |_worker| 0, |task, cx| run(task, cx))
//!         .unwrap_or_else(|failure| panic!("{failure}"));
//!     assert_eq!(report.scratches.iter().sum::<u64>(), 16);
//! }
//! ```
//!
//! [Oracles](Oracle) watch every step. When one speaks, the run ends with a [`Failure`]: what went wrong, one line that
//! replays it, the choices that led there, and the last operations as a table.
//!
//! What the simulator does not see: memory is sequentially consistent here, so a fence that is missing or an ordering
//! that is too weak changes nothing. That is what the loom models are for.
#![forbid(unsafe_code)]

mod clock;
mod exposure;
mod fault;
mod handle;
mod history;
mod line;
mod mark;
mod oracle;
mod outside;
mod party;
mod pipeline;
mod ports;
mod queues;
mod report;
mod run;
mod scenario;
mod schedule;
pub mod scheduler;
mod search;
mod setup;
mod simulation;
mod swarm;
mod task;
mod trace;
mod word;
mod world;

/// For the signature of a runner that also runs elsewhere.
pub use executor_core::TaskCtx;
pub use fault::{Fault, Faults};
pub use handle::Handle;
pub use line::{Fields, LineError, ReplayLine};
pub use mark::{Mark, Marks};
pub use oracle::Oracle;
pub use ports::{SimPlace, SimPorts, SimSet, SimTable};
pub use report::{Course, Failure, Recording, Report};
pub use scenario::{Jobs, Load, RunOptions, Scenario, Shape, Summary, Tasks};
pub use schedule::{Choices, Moment, STEPS_EXPECTED, Strategy, StrategyKind};
pub use search::{Configuration, Search, SearchReport};
pub use setup::{Ending, Setup};
pub use simulation::Simulation;
pub use swarm::{Swarm, SwarmReport};
pub use task::SimCtx;
pub use trace::{Event, Interleaving, Object, Op, write_chrome_trace};
pub use word::{SimWord, WordName};
