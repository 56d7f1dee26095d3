//! How the pipeline executor behaves, as sentences, from outside.
#![cfg(not(windlass_loom))]

mod board;
mod cancelling;
mod claiming;
mod ending;
mod failing;
mod foreign;
mod growing;
mod lending;
mod looking;
mod measuring;
mod nesting;
mod outputs;
mod plain;
mod roles;
mod running;
mod showing;
mod splitting;
mod standing_in;
mod staying;
mod submitting;
mod support;
mod tickets;
mod tracing_jobs;
mod widths;
mod worked_examples;
