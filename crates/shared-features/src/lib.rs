//! Holds no code. `cargo test -p NAME` compiles a package with the features that this member's
//! dependencies switch on, so that arrow would be compiled again for each of `columnar`, `query`
//! and `windlass`. This crate is a dev-dependency of the three, and switches on what any of them
//! needs.
