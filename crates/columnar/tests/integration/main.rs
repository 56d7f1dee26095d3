//! Scans of small tables through the executor, by theme.

mod aggregates;
mod chunked;
mod filters;
mod limits;
mod order;
mod quotas;
mod reading;
mod scan;
mod threads;
mod types;
