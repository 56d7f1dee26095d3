//! Scans of small tables through the executor, by theme.

mod aggregates;
mod chunked;
mod every_aggregate;
mod faults;
mod few_rows;
mod filters;
mod giving_up;
mod grouping;
mod limits;
mod memory_limits;
mod oracle;
mod order;
mod reading;
mod scan;
mod searching;
mod sharding;
mod slots;
mod statistics;
mod threads;
mod types;
