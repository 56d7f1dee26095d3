//! More than one machine: a server that plans over workers, and the workers.
//!
//! ```text
//!   client ─► server, the coordinator: plans, cuts the plan into stages, joins the last rows
//!                │ a channel for each part of a stage: its plan, the query's name, class, deadline
//!                ▼
//!   worker: gate ─► the query's one job ─► datafusion-distributed's service ─► rows ─► a worker or
//!                                                                                      coordinator
//! ```
//!
//! Stages, their plans and the transport of rows are datafusion-distributed's. Here are what it
//! leaves to its user: who may ask ([`NodeAccess`]), one job a query, bounds, and what happens when
//! a worker fails: an error that names it within seconds, one more try on the others if no row was
//! sent, and no query for it until it answers a probe.
//!
//! The coordinator's side is `coordinator` over `members`, `health`, `planner` and `channel`; the
//! worker's is `worker` over `gate`, `running`, `parts` and `root`. Both use `headers`, `failure`
//! and `policy`.

mod channel;
mod connector;
mod coordinator;
mod failure;
mod gate;
mod headers;
mod health;
mod members;
mod parts;
mod patience;
mod planner;
mod policy;
mod root;
mod running;
mod secret;
mod worker;

pub use coordinator::WorkersConfig;
pub(crate) use coordinator::{Nodes, RemoteStatement};
pub(crate) use failure::{Failed, Trouble};
pub use members::WorkerList;
pub use patience::NodePatience;
pub use policy::{NodeAccess, NodeAccessOptions};
pub use running::RunningQuery;
pub use worker::{WorkerConfig, WorkerLoad, WorkerServer, WorkerWatch};
