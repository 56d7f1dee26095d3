//! What is measured: each workload knows its right answer and who can do it.

mod fan_out;
mod producer;
mod tree;

use crate::peer::Contender;

/// Some work of a known answer.
pub(crate) trait Workload {
    /// Name, for the table and the filter.
    fn name(&self) -> &'static str;

    /// What is counted, in the singular.
    fn unit(&self) -> &'static str;

    /// How many of it one run does.
    fn units(&self) -> u64;

    /// The right answer.
    fn answer(&self) -> u64;

    /// All who can do it, ours first.
    fn contenders(&self) -> Vec<Box<dyn Contender>>;
}

/// Every workload, in the order of the report.
pub(crate) fn all() -> Vec<Box<dyn Workload>> {
    vec![
        Box::new(tree::Tree),
        Box::new(fan_out::FanOut),
        Box::new(producer::Producer),
    ]
}
