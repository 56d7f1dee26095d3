//! What a pipeline executor counts, in one snapshot.

use crate::native::Hub;
use crate::policy::PipelinePorts;
use crate::policy::counters::CounterValues;

/// A pipeline executor in numbers, at one moment; the numbers may be some operations apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipelineSnapshot {
    /// Jobs that wait or run.
    pub queue_depth: usize,
    /// What has been counted since the start.
    pub counted: CounterValues,
}

impl PipelineSnapshot {
    pub(crate) fn read(hub: &Hub) -> Self {
        let shared = hub.shared();
        Self {
            queue_depth: shared.admission().in_flight(hub),
            counted: shared.counters().values(hub),
        }
    }
}
