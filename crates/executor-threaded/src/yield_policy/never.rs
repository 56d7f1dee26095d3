//! Never: a task runs to its end.

use super::YieldPolicy;

/// A task runs to its end in one turn. For tasks that are short anyway, and to compare with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeverYield;

impl YieldPolicy for NeverYield {
    fn should_yield(&mut self, _somebody_is_hungry: bool) -> bool {
        false
    }
}
