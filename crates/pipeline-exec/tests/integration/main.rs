//! How the pipeline executor behaves, as sentences, from outside.

mod board;
mod cancelling;
mod claiming;
mod ending;
mod failing;
mod plain;
mod roles;
mod running;
mod splitting;
mod submitting;
mod support;
mod tickets;
