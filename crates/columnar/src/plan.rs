//! A query on one table: filter its rows, then return expressions of them or aggregates of groups.
//!
//! ```text
//!   slot 0   rows of morsel 0 ─► filter ─► expressions or partial groups ─► cell 0 ┐
//!   slot 1   ...              ─► filter ─► ...                            ─► cell 1 ├─► merge: cells in slot order,
//!   ...                                                                            ┘   then HAVING, ORDER BY, LIMIT
//! ```
//!
//! A [`SelectPlan`] is the description, checked when built; a [`ScanStage`] runs it once, as a
//! stage of a pipeline job.

mod explain;
mod partitioning;
mod select_plan;
mod sort_key;

pub(crate) use explain::{rows_of, write_plan};
pub(crate) use partitioning::Partitioning;
pub use select_plan::{Output, SelectPlan};
pub use sort_key::SortKey;
