//! The policy of a fixed number of steps.

use std::num::NonZeroU32;

use super::policy::YieldPolicy;

/// A turn is a fixed number of steps, for steps of about equal length; it reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EveryN {
    n: NonZeroU32,
    left: u32,
}

impl EveryN {
    /// Turns of `n` steps.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    #[must_use]
    pub fn new(n: u32) -> Self {
        let n = NonZeroU32::new(n).expect("a turn has at least one step");
        Self { n, left: n.get() }
    }
}

impl YieldPolicy for EveryN {
    fn begin_turn(&mut self) {
        self.left = self.n.get();
    }

    fn should_yield(&mut self, _has_idle_workers: bool) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = self.n.get();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_n_steps_also_after_one_that_was_given_up() {
        let mut policy = EveryN::new(3);
        let mut steps = || {
            policy.begin_turn();
            (1..).find(|_| policy.should_yield(false))
        };
        assert_eq!([steps(), steps()], [Some(3); 2]);
        assert!(!policy.should_yield(false));
        policy.begin_turn();
        assert_eq!((1..).find(|_| policy.should_yield(true)), Some(3));
    }

    #[test]
    #[should_panic(expected = "at least one step")]
    fn no_step_at_all_is_refused() {
        let _ = EveryN::new(0);
    }
}
