//! Loom models of streams: every interleaving of a reader, a consumer and a closer, in small tests.
//!
//! `cargo xtask loom` runs them and prints each model's bound, executions and seconds. Models have
//! the names of the races in `crates/pools/src/stream/README.md`. A stream's lock is loom's here,
//! so loom reports a lost wake or source as a deadlock. Without `--cfg windlass_loom` this binary
//! is empty.
#![cfg(windlass_loom)]

#[path = "../../../executor-core/tests/loom/harness/model.rs"]
mod model;
mod scene;
mod streams;
