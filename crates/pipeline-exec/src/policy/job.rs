//! The lowest floor: one job by itself. It knows no other job, no board and no worker's policy.

pub mod body;
pub(crate) mod by_hand;
pub(crate) mod calls;
pub mod claim;
pub(crate) mod finish;
pub mod handle;
pub mod ledger;
pub(crate) mod nested;
pub(crate) mod numbers;
pub mod spec;
pub mod standing;
pub mod state;
pub(crate) mod tasks;
