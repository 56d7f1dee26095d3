//! The policy of tasks without turns.

use super::policy::YieldPolicy;

/// A task runs to its end in one turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeverYield;

impl YieldPolicy for NeverYield {
    fn should_yield(&mut self, _has_idle_workers: bool) -> bool {
        false
    }
}
