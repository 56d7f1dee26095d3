//! The loom models of the policy, each named after its interleaving. `cargo xtask loom` runs them;
//! `docs/memory-model.md` names the edge that each carries.
#![cfg(windlass_loom)]

mod harness;
mod keeping;
mod run_state;
mod scheduler;
mod sleep;
