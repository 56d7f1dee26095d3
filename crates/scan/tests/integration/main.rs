//! Tests of scans, one file a theme.

mod hostile;
mod search;
mod simulated;
mod sorted;
mod support;
mod walk;
