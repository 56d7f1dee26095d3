//! Queries over Arrow columns as pipeline stages: filter steps, expressions, aggregation, order.
//!
//! One slot of a stage is one morsel, a range of rows; one worker runs *all* steps over it while its columns are in
//! cache. What a slot produces goes into that slot's own cell, and the stage's `finish` merges the cells in slot order:
//! a result never depends on the number of threads.
//!
//! No SQL is parsed here and no thread is started: `query` plans, `pipeline-exec` runs.

mod aggregate;
mod charged;
pub mod chunked;
mod error;
mod expr;
mod filter;
mod footprint;
mod lock;
mod morsel;
mod quota;
mod scan;
mod selection;
pub mod sharding;
mod sort;
pub mod table;

pub use aggregate::{Aggregate, AggregateFunction};
pub use error::{ExecError, TypeError};
pub use expr::{Arithmetic, Comparison, Expr};
pub use quota::{Charge, Quota, QuotaExceeded};
pub use scan::{FetchFailed, Output, Scan, ScanResult, ScanStage, SlotFetch};
pub use sort::SortKey;
pub use table::{
    ColumnStatistics, Fetched, Fetching, MORSEL_ROWS, MemoryTable, MorselReader, ReadError, StoredTable,
    TableSource,
};
