//! A SQL subset over tables of Arrow columns, run as jobs of the pipeline executor.
//!
//! ```text
//!   SQL ──► QueryPlanner ──► QueryPlan ──► PipelineBuilder ──► Job + QueryRun ──► QueryResult
//!             checks          shown by       one stage,          submitted to     rows, in an order that
//!             names, types    --explain      a slot per morsel   an executor      no thread decides
//! ```
//!
//! No kernel runs here: what a job does with columns is `columnar`.

mod catalog;
mod error;
pub mod output;
mod pipeline_builder;
mod plan;
mod planner;
mod result;
pub mod source;
mod statistics;

pub use catalog::Catalog;
pub use error::{Position, QueryError};
pub use pipeline_builder::{PipelineBuilder, QueryRun};
pub use plan::QueryPlan;
pub use planner::QueryPlanner;
pub use result::QueryResult;
pub use statistics::{JobStatistics, WorkerShare};

/// The executor that jobs are submitted to.
pub use pipeline_exec;
