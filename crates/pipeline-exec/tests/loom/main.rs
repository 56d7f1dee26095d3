//! Loom models of the pipeline's policy: every interleaving and reordering that C11 allows, of
//! small scenes.
//!
//! `cargo xtask loom` runs them. A model is named after its interleaving; `docs/memory-model.md`
//! names its edges.
#![cfg(windlass_loom)]

mod board;
mod claim;
mod grow;
mod hand_over;
mod harness;
mod lend;
mod look;
mod stand_in;
mod standing;
mod stay;
