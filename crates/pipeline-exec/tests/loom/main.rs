//! The loom models of the pipeline's policy: every interleaving and every reordering that C11 allows, of small scenes.
//!
//! `cargo xtask loom` runs them and prints, for each, its bound, its executions and its seconds. A model is named
//! after its interleaving; `docs/memory-model.md` says which synchronisation edge each one carries. Without
//! `--cfg windlass_loom` this binary is empty.
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
