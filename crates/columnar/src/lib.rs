//! Queries over Arrow columns as pipeline stages: filter steps, expressions, aggregation, order.
//!
//! One slot of a stage is one morsel, a range of rows; one worker runs *all* steps over it while its columns are in
//! cache. What a slot produces goes into that slot's own cell, and the stage's `finish` merges the cells in slot order:
//! a result never depends on the number of threads.
//!
//! No SQL is parsed here and no thread is started: `query` plans, `pipeline-exec` runs.

pub mod table;

pub use table::{ColumnStatistics, MORSEL_ROWS, MemoryTable, MorselReader, ReadError, TableSource};
