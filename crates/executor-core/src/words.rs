//! The words that all parties share, and the steps on them.
//!
//! The state word says whether the executor accepts tasks and how many are in flight; the sleep word
//! says how many workers search and sleep. [`scheduler::Scheduler`] holds both.

pub(crate) mod credits;
pub mod run_state;
pub(crate) mod scheduler;
pub mod sleep;
