//! A SQL subset over tables of Arrow columns, run as jobs of the pipeline executor.
//!
//! ```text
//!   SQL ──► QueryPlanner ──► QueryPlan ──► PipelineBuilder ──► Execution ──► QueryResult
//!             checks          shown by       slots of morsels    jobs, beside    rows, in an order that
//!             names, types    --explain                          reading         no thread decides
//! ```
//!
//! No kernel runs here: what a job does with columns is `columnar`.
//!
//! # Examples
//!
//! What the program does: open a table, plan, run, write.
//!
//! ```
//! use query::output::{OutputFormat, render};
//! use query::pipeline_exec::PipelineExecutor;
//! use query::source;
//! use query::{Catalog, PipelineBuilder, QueryPlanner};
//!
//! # let path = std::env::temp_dir().join(format!("windlass-query-{}.csv", std::process::id()));
//! std::fs::write(&path, "item,price\npen,1.50\nink,12.25\nnib,NA\n")?;
//! let executor = PipelineExecutor::new(2)?;
//! let mut tables = Catalog::new();
//! tables.register(source::open("items", &path, &executor)?)?;
//!
//! let plan = QueryPlanner::plan("select count(*) as items, sum(price) as total from items", &tables)?;
//! let (execution, _run) = PipelineBuilder::new(plan).prepare();
//! let text = render(&execution.run(&executor)?.output, OutputFormat::Csv)?;
//! assert_eq!(text, b"items,total\n3,13.75\n");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod error;
mod execution;
pub mod output;
mod pipeline_builder;
mod plan;
mod planner;
mod reading;
mod result;
pub mod source;
mod statistics;
mod windows;
mod work_control;

pub use catalog::Catalog;
pub use error::{Position, QueryError};
pub use execution::Execution;
pub use pipeline_builder::{PipelineBuilder, QueryRun};
pub use plan::QueryPlan;
pub use planner::QueryPlanner;
pub use result::QueryResult;
pub use statistics::{JobStatistics, WorkerShare};
pub use work_control::WorkControl;

/// What a query may take in memory.
pub use columnar::{Quota, QuotaExceeded};
/// The stores that tables can be objects of.
#[cfg(feature = "object-store")]
pub use object_store;
/// The executor that jobs are submitted to.
pub use pipeline_exec;
/// The pools that tables are read on.
pub use pools;
