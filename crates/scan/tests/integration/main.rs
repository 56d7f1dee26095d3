//! The crate as its users see it.

mod hostile;
mod lines_and_binaries;
mod pieces;
mod random;
mod reference;
mod same_as_ripgrep;
mod search;
mod simulated;
mod sorted;
mod support;
mod ten_gibibytes;
mod walk;
mod whole;
