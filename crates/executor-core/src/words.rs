//! The words that all parties share, and the steps on them.

pub(crate) mod credits;
pub mod run_state;
pub(crate) mod scheduler;
pub mod sleep;
