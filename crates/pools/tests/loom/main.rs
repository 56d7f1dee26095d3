//! The loom models of streams: every interleaving of a reader, a consumer and whoever closes, in small scenes.
//!
//! `cargo xtask loom` runs them and prints, for each, its bound, its executions and its seconds. A model is named after its interleaving,
//! which `crates/pools/src/stream/README.md` tells. All of a stream is under one lock, which is loom's here. A wake or a source that is lost
//! shows as a deadlock, which loom reports. Without `--cfg windlass_loom` this binary is empty.
#![cfg(windlass_loom)]

#[path = "../../../executor-core/tests/loom/harness/model.rs"]
mod model;
mod scene;
mod streams;
