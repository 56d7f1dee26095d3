//! A SQL subset over tables of Arrow columns, run as jobs of the pipeline executor.
//!
//! ```
//! use query::{Session, pipeline_exec::PipelineExecutor};
//!
//! # let path = std::env::temp_dir().join(format!("windlass-query-{}.csv", std::process::id()));
//! # std::fs::write(&path, "item,price\npen,1.50\nink,12.25\nnib,NA\n")?;
//! let mut session = Session::new(PipelineExecutor::new(2)?);
//! session.open("items", &path)?;
//! let report = session.sql("select count(*) as items, sum(price) as total from items")?.run()?;
//! println!("{} rows in {:?}", report.rows.num_rows(), report.statistics.run);
//! # let text = query::output::render(&report.rows, query::output::OutputFormat::Csv)?;
//! # assert_eq!(text, b"items,total\n3,13.75\n");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//!
//! ```text
//!   Session ─► QueryPlanner ─► QueryPlan ─► PipelineBuilder ─► execution ─► QueryReport
//!              checks          shown by     slots of morsels   jobs, beside   rows, in an order that
//!              names, types    explain                         reading        no thread decides
//! ```
//!
//! | floor | modules |
//! |---|---|
//! | face | [`Session`], [`Query`], [`output`] |
//! | tables | [`source`]: Parquet, CSV, generated rows; [`Catalog`] |
//! | a run | `execution` over `windows` of what `reading` fetches |
//! | a plan | [`QueryPlanner`], [`QueryPlan`], [`PipelineBuilder`] |
//! | control | [`Work`], [`Progress`], `run`, `stop`: pools, token, deadline |
//!
//! A module uses those on its own line and below. No kernel runs in this crate: `columnar` computes.
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

/// What a query may take in memory.
pub use columnar::{MemoryExceeded, MemoryPool};
/// The stores that tables can be objects of.
#[cfg(feature = "object-store")]
pub use object_store;
/// The executor that jobs are submitted to.
pub use pipeline_exec;
/// The pools that tables are read on.
pub use pools;
/// Cancels queries: see [`Query::run_async`].
pub use tokio_util::sync::CancellationToken;
