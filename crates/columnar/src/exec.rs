//! Running a [`SelectPlan`](crate::SelectPlan) as stages of a pipeline job.
//!
//! ```text
//!   slot 0   rows of morsel 0 ─► filter ─► expressions or partial groups ─► cell 0 ┐
//!   slot 1   ...              ─► filter ─► ...                            ─► cell 1 ├─► merge, in slot order
//!   ...                                                                            ┘
//! ```

mod collected;
mod compiled;
mod fetch;
mod following;
mod groups;
mod merging;
mod morsel;
mod ordering;
mod phase;
mod rows;
mod slots;
mod sort;
mod stage;

pub use fetch::{FetchFailed, SlotFetch};
pub use stage::{ScanResult, ScanStage};
