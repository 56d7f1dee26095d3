//! The policy of one step a turn.

use super::policy::YieldPolicy;

/// A turn is one step, for long steps and for tests of cursors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlwaysYield;

impl YieldPolicy for AlwaysYield {
    fn should_yield(&mut self, _has_idle_workers: bool) -> bool {
        true
    }
}
