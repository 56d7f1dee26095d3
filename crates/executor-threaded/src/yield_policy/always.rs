//! Always: a turn is one step.

use super::YieldPolicy;

/// A turn is one step. For steps that are long each, and for tests: it brings out what a task does not keep in its cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlwaysYield;

impl YieldPolicy for AlwaysYield {
    fn should_yield(&mut self, _somebody_is_hungry: bool) -> bool {
        true
    }
}
