//! Every decision of the pipeline executor: which worker claims what, in which order, and how a job
//! ends.
//!
//! The policy names no thread, lock, atomic or clock. Each function takes an environment
//! ([`PipelinePorts`]), and each call of a port is one shared operation. So the same code runs on
//! threads, under the simulator and under the loom model checker.
//!
//! # Four floors
//!
//! A module imports from its own floor and those below, and imports form no circle. A function
//! returns what happened, and its caller above acts on it.
//!
//! ```text
//!    executor   submit     cancel, stop     help, nest     grow
//!                  │             │              │            │
//!    worker        │   look ─► role ─► visit ◄──┘            │
//!                  │                     │ what changed      │
//!                  ▼             ▼       ▼                   ▼
//!    board      ending: changed, close, end ─► reconcile ─► publish       select
//!                  │
//!                  ▼ the ticket fires
//!    job        claims     ledger     standing     tasks     calls into stages
//! ```
//!
//! `docs/decisions/0043-four-floors.md` in the repository gives the reasons.

pub mod board;
pub mod executor;
pub(crate) mod guard;
pub mod job;
pub mod ports;
pub mod worker;

pub use crate::report::JobEnd;
pub use crate::spans::JobSpans;
pub use board::orders::JobBoard;
pub use board::select::{select_heaviest, select_old, select_young};
pub use board::shared::{PipelineConfig, PipelineShared};
pub use board::{looks::Looks, shared};
pub use executor::grow;
pub use executor::lend::lend;
pub use executor::nest::{nest, nest_in};
pub use executor::stop::{cancel, close_gate, stop};
pub use executor::submit::{Admitted, AdmittedOf, Refused, RefusedOf, submit};
pub use job::body::JobBody;
pub use job::claim::{self, Claim, Claims, Piece};
pub use job::handle::JobHandle;
pub use job::ledger::{JobStatus, Ledger};
pub use job::spec::{Class, JobSpec, Terms};
pub use job::state::JobState;
pub use ports::{BodyOf, InnerEvent, NestAnswer, PipelineEvent, PipelinePorts, SharedOf, StateOf};
pub use worker::look::{LookEnd, look};
pub use worker::role::{run_main_worker, run_reserve_worker};
pub use worker::stand_in;
