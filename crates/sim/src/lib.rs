#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod actor;
mod choices;
mod clock;
mod coverage;
mod environment;
mod explore;
mod exposure;
mod failing;
mod fault;
mod fingerprint;
mod handle;
#[doc(hidden)]
pub mod judge;
mod line;
mod lines;
mod oracle;
mod page;

mod pipeline;
mod ports;
mod profile;
mod queues;
mod report;
mod run;
mod scenario;
mod schedule;
pub mod scheduler;
mod search;
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
pub use coverage::{Coverage, CoveragePoint};
/// For the signature of a runner that also runs elsewhere.
pub use executor_core::{NextTask, TaskCtx, ports::Access};
pub use explore::seeds;
pub use failing::FailingRun;
pub use fault::{Fault, Faults};
pub use handle::Handle;
pub use line::{Fields, LineError, ReplayLine};
pub use oracle::Oracle;
pub use page::write_html;
pub use pipeline::Claimed;
pub use ports::{SimFifo, SimPlace, SimPorts, SimSet, SimTable};
pub use profile::{Profile, Reached};
pub use report::{Course, Failure, Found, Recording, Report};
pub use scenario::{Figures, Jobs, Latency, Load, RunOptions, Scenario, Shape, Summary, Tasks, Traffic};
pub use schedule::{Moment, STEPS_EXPECTED, Strategy, StrategyKind};
pub use search::{Configuration, Search, SearchReport};
pub use setup::{Ending, Setup};
pub use shrink::Shrink;
pub use simulation::Simulation;
pub use swarm::{Swarm, SwarmReport};
pub use task::SimCtx;
pub use trace::{Event, Interleaving, JobEvent, Object, Op, write_chrome_trace};
pub use word::{SimWord, WordName};
