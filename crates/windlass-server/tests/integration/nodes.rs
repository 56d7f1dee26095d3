//! A server and its workers: processes and threads on loopback.

mod addresses;
mod answers;
mod cluster;
mod ends;
mod failures;
mod operators;
mod trust;

pub(crate) use cluster::{Worker, patient, server_of};
