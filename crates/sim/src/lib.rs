#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod choices;
mod clock;
mod explore;
mod exposure;
mod failing;
mod fault;
mod handle;
mod line;
mod lines;
mod mark;
mod oracle;
mod outside;
mod page;
mod party;
mod pipeline;
mod ports;
mod profile;
mod queues;
mod report;
mod run;
mod scenario;
mod schedule;
pub mod scheduler;
mod setup;
mod shrink;
mod simulation;
mod swarm;
mod task;
mod trace;
mod word;
mod world;

pub use choices::Choices;
pub use clock::Costs;
/// For the signature of a runner that also runs elsewhere.
pub use executor_core::TaskCtx;
pub use explore::seeds;
pub use failing::FailingRun;
pub use fault::{Fault, Faults};
pub use handle::Handle;
pub use line::{Fields, LineError, ReplayLine};
pub use mark::{Mark, Marks};
pub use oracle::Oracle;
pub use page::write_html;
pub use ports::{SimPlace, SimPorts, SimSet, SimTable};
pub use profile::{Profile, Reached};
pub use report::{Course, Failure, Found, Recording, Report};
pub use scenario::{Jobs, Load, RunOptions, Scenario, Shape, Summary, Tasks};
pub use schedule::{Moment, STEPS_EXPECTED, Strategy, StrategyKind};
pub use setup::{Ending, Setup};
pub use shrink::Shrink;
pub use simulation::Simulation;
pub use swarm::{Swarm, SwarmReport};
pub use task::SimCtx;
pub use trace::{Event, Interleaving, Object, Op, write_chrome_trace};
pub use word::{SimWord, WordName};
