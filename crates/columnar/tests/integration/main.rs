//! Scans of small tables through the executor, by theme.

mod aggregates;
mod filters;
mod limits;
mod order;
mod reading;
mod scan;
mod threads;
mod types;
