#![doc = include_str!("../README.md")]

mod aggregate;
pub mod chunked;
mod encoding;
mod error;
mod exec;
mod expr;
mod filter;
mod group_by;
mod memory;
mod narrow;
mod partition;
mod plan;
pub mod sharding;
pub mod table;

pub use aggregate::{Aggregate, AggregateFunction};
pub use error::{ExecError, TypeError};
pub use exec::{FetchFailed, NestedScan, ScanResult, ScanStage, SlotFetch};
pub use expr::{Arithmetic, Comparison, Expr};
pub use memory::{MemoryExceeded, MemoryPool, Reservation, SharedMemory};
pub use plan::{GroupingSet, LevelPlan, Output, SelectPlan, SortKey};
pub use table::{
    Codes, ColumnStatistics, Fetched, Fetching, Held, MORSEL_ROWS, MemoryTable, MorselReader, PassingTexts,
    ReadError, SpacedTexts, StoredTable, TableSource, TextCondition,
};
