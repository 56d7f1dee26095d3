//! What the programs of this crate have in common: `compare`, which runs executors beside each other, and `predict`, which
//! compares the simulator's virtual time with the clock.

pub mod burn;
pub mod chart;
pub mod generated;
pub mod machine;
pub mod number;
