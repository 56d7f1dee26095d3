//! The counters of a pipeline executor, in one snapshot.
//!
//! Counting is always on. A slot costs a load and a store of its worker's own word, a job about a
//! dozen; see the decision record 0026.

mod counts;
mod meter;
mod snapshot;

pub use counts::{Activity, JobCounts, Times};
pub(crate) use meter::Meter;
pub use snapshot::PipelineSnapshot;
