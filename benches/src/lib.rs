//! What the programs of this crate have in common: `compare`, which runs executors beside each other, `predict`, which
//! compares the simulator's virtual time with the clock, `load`, short jobs beside heavy ones in virtual time, and `queries`, which runs a short query beside heavy ones.

pub mod burn;
pub mod chart;
pub mod generated;
pub mod machine;
pub mod number;
pub mod program;
