//! Queries over Arrow columns as pipeline stages: filter steps, expressions, aggregation, order.
//!
//! One slot of a stage is one morsel, a range of rows; one worker runs *all* steps over it while
//! its columns are in cache. What a slot produces goes into that slot's own cell, and the stage's
//! `finish` merges the cells in slot order: a result never depends on the number of threads.
//!
//! No SQL is parsed here and no thread is started: `query` plans, `pipeline-exec` runs.

mod aggregate;
pub mod chunked;
mod error;
mod exec;
mod expr;
mod filter;
mod group_by;
mod lock;
mod memory;
mod partition;
mod plan;
pub mod sharding;
pub mod table;

pub use aggregate::{Aggregate, AggregateFunction};
pub use error::{ExecError, TypeError};
pub use exec::{FetchFailed, ScanResult, ScanStage, SlotFetch};
pub use expr::{Arithmetic, Comparison, Expr};
pub use memory::{MemoryExceeded, MemoryPool, Reservation};
pub use plan::{Output, SelectPlan, SortKey};
pub use table::{
    ColumnStatistics, Fetched, Fetching, MORSEL_ROWS, MemoryTable, MorselReader, ReadError, StoredTable,
    TableSource,
};
