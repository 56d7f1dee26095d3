//! Scans of small tables through the executor, by theme.

mod aggregates;
mod chunked;
mod faults;
mod filters;
mod grouping;
mod limits;
mod oracle;
mod order;
mod quotas;
mod reading;
mod scan;
mod sharding;
mod threads;
mod types;
