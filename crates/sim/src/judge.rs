//! The oracles and the trace for a judge outside of the simulator: the crate `recorded`, which shows
//! them a run on threads.

pub use crate::oracle::{
    Came, CountOracle, FairnessOracle, Oracles, ProtocolOracle, SleepOracle, TaskOracle, Violation,
};
pub use crate::trace::Trace;
