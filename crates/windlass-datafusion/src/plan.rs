//! Queries as jobs: the planner's wrapper puts a node on a plan's root, and the node opens a job.

mod in_place;
mod longest;
mod measures;
mod memory;
mod options;
mod pausing;
mod planner;
mod query;
mod root;
mod spilling;
mod stream;

pub use in_place::{InPlace, InPlaceExec};
pub use memory::QueryMemory;
pub use options::WindlassOptions;
pub use pausing::with_pauses;
pub use planner::WindlassPlanner;
pub use root::WindlassExec;
#[cfg(feature = "session")]
pub(crate) use spilling::one_batch_a_file;
pub use stream::QueryEnded;
