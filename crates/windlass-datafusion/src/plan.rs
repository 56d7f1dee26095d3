//! Queries as jobs: the node on a plan's root opens one, and the planner's wrapper puts the node
//! there.
//!
//! | module | is |
//! |---|---|
//! | `root` | [`WindlassExec`]: the node |
//! | `query` | one execution of a plan: its job, its memory |
//! | `longest` | which operator the longest poll was in |
//! | `measures` | what the node's jobs have used |
//! | `stream` | rows on their way from the job to whoever collects |
//! | `planner` | [`WindlassPlanner`]: the wrapper |
//! | `options` | [`WindlassOptions`]: what a session asks for its queries |
//! | `memory` | [`QueryMemory`]: the bytes that one query may hold, within the session's |

mod longest;
mod measures;
mod memory;
mod options;
mod planner;
mod query;
mod root;
mod stream;

pub use memory::QueryMemory;
pub use options::WindlassOptions;
pub use planner::WindlassPlanner;
pub use root::WindlassExec;
pub use stream::QueryEnded;
