#![doc = include_str!("../README.md")]
//! # How it works
//!
//! ```text
//!   Session ─► QueryPlanner ─► QueryPlan ─► PipelineBuilder ─► execution ─► QueryReport
//!              checks          shown by     slots of morsels   jobs, beside   rows, in an order that
//!              names, types    explain                         reading        no thread decides
//! ```
//!
//! Modules import down these floors: the face ([`Session`], [`Query`], [`output`]), tables
//! ([`source`], [`Catalog`]), a run, a plan, control ([`Work`], [`Progress`]). `columnar` computes;
//! this crate has no kernels.
#![forbid(unsafe_code)]

mod catalog;
mod error;
mod execution;
pub mod output;
mod pipeline_builder;
mod plan;
mod planner;
mod position;
mod progress;
mod reading;
mod result;
mod run;
mod session;
pub mod source;
mod statistics;
mod stop;
mod windows;
mod work;

pub use catalog::Catalog;
pub use error::QueryError;
pub use pipeline_builder::PipelineBuilder;
pub use plan::QueryPlan;
pub use planner::QueryPlanner;
pub use position::Position;
pub use progress::Progress;
pub use result::QueryResult;
pub use session::{Explain, Query, QueryReport, Session};
pub use statistics::{JobStatistics, WorkerShare};
pub use work::Work;

/// The aggregate functions by name.
pub use columnar::AggregateFunction;
/// The memory a query may take.
pub use columnar::{MemoryExceeded, MemoryPool};
/// The stores of tables that are objects.
#[cfg(feature = "object-store")]
pub use object_store;
/// The executor of the jobs.
pub use pipeline_exec;
/// The pools that read tables.
pub use pools;
/// Cancels queries: see [`Query::run_async`].
pub use tokio_util::sync::CancellationToken;
