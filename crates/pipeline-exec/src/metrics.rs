//! The counters of a pipeline executor, in one snapshot.
//!
//! Counting is always on. A slot costs a load and a store of its worker's own word, a job about a
//! dozen; see the decision record 0026.

mod counts;
mod meter;
mod snapshot;

pub use counts::{Activity, JobCounts, Times};
/// Counts of times, by powers of two.
pub use executor_core::TimeHistogram;
pub(crate) use meter::Meter;
pub use snapshot::PipelineSnapshot;
