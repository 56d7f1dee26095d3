//! The crate as its users see it.

mod lines_and_binaries;
mod pieces;
mod random;
mod reference;
mod same_as_ripgrep;
