//! The policy from outside, step by step, on plain data and one thread.

mod bench_top;
mod bounding;
mod ending;
mod finding;
mod keeping;
mod parking;
mod waiting;
mod waking;
