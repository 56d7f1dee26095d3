//! Loom models of streams: every interleaving of a reader, a consumer and a closer, in small tests.
//!
//! `cargo xtask loom` runs them. A model is named after a race in
//! `crates/pools/src/stream/README.md`. A lost wake or source is a deadlock.
#![cfg(windlass_loom)]

#[path = "../../../executor-core/tests/loom/harness/model.rs"]
mod model;
mod scene;
mod streams;
