//! A query on one table: filter its rows, then return expressions of them or aggregates of groups.

mod distinct_values;
mod explain;
mod few_values;
mod level_plan;
mod partitioning;
mod regrouping;
mod select_plan;
mod sort_key;
mod unread;

pub(crate) use distinct_values::group_distinct_values;
pub(crate) use explain::write_plan;
pub use level_plan::{GroupingSet, LevelPlan};
pub(crate) use partitioning::Partitioning;
pub(crate) use regrouping::{Regrouping, share_shard_key};
pub use select_plan::{Output, SelectPlan};
pub use sort_key::SortKey;
pub(crate) use unread::leave_out_unread;
