//! What the programs of this crate have in common: `compare`, which runs executors beside each other, `predict`, which
//! compares the simulator's virtual time with the clock, `load`, short jobs beside heavy ones in virtual time, `queries`, which runs a short query
//! beside heavy ones, `groups`, which groups rows by keys of many kinds, in our engine and in others, and `overlap`, which reads a table beside computing over it.

pub mod burn;
pub mod chart;
pub mod generated;
pub mod lineitem;
pub mod machine;
pub mod number;
pub mod parquet_file;
pub mod peer;
pub mod program;
