//! The policy from outside, one step at a time, in a world of plain data without a second thread.

mod bench_top;
mod bounding;
mod ending;
mod finding;
mod keeping;
mod parking;
mod waiting;
mod waking;
