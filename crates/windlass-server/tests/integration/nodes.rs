//! A server and its workers: processes and threads on loopback.

mod answers;
mod cluster;
mod ends;
mod failures;
mod trust;

pub(crate) use cluster::{Worker, patient, server_of};
