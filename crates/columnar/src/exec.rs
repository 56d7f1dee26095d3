//! Running a [`SelectPlan`](crate::SelectPlan) as stages of a pipeline job.
//!
//! Each slot fills its own cell. The output reads the cells in slot order.

mod chosen_groups;
mod collected;
mod compiled;
mod decoded;
mod fetch;
mod few_rows;
mod following;
mod groups;
mod groups_table;
mod kept_groups;
mod level;
mod merging;
mod morsel;
mod nested;
mod ordering;
mod phase;
mod rows;
mod slot_filter;
mod slots;
mod sort;
mod stage;
mod threshold;

pub use fetch::{FetchFailed, SlotFetch};
pub use nested::NestedScan;
pub use stage::{ScanResult, ScanStage};
