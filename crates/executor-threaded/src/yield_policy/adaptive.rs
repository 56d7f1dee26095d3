//! Turns of about a target duration; shorter ones while a worker is idle.
//!
//! A clock read costs some 20 ns, which may be more than a step. So the clock is read at most after
//! as many steps again as the turn has made, and sooner if the turn would be half over by then.

use std::time::{Duration, Instant};

use super::policy::YieldPolicy;

/// The part of a turn that remains while a worker is idle.
const IDLE_PART: u32 = 8;

/// A turn lasts about a target duration, an eighth of it while a worker is idle, and at least one
/// step.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveYield {
    target: Duration,
    began: Instant,
    steps: u64,
    /// In steps.
    read_at: u64,
    any_idle: bool,
}

impl AdaptiveYield {
    /// Turns of about `target`; of one step if that is zero.
    #[must_use]
    pub fn new(target: Duration) -> Self {
        Self {
            target,
            began: Instant::now(),
            steps: 0,
            read_at: 1,
            any_idle: false,
        }
    }

    /// Plans the next clock read, too.
    fn judge(&mut self, elapsed: Duration, any_idle: bool) -> bool {
        self.any_idle = any_idle;
        let target = if any_idle {
            self.target / IDLE_PART
        } else {
            self.target
        };
        if elapsed >= target {
            return true;
        }
        let step = (elapsed.as_nanos() / u128::from(self.steps)).max(1);
        let till_half = (target - elapsed).as_nanos() / 2 / step;
        let ahead = u64::try_from(till_half).unwrap_or(u64::MAX).clamp(1, self.steps);
        self.read_at = self.steps + ahead;
        false
    }
}

impl Default for AdaptiveYield {
    /// Turns of 200 µs, after which a worker tries the injector anyway.
    fn default() -> Self {
        Self::new(Duration::from_micros(200))
    }
}

impl YieldPolicy for AdaptiveYield {
    fn begin_turn(&mut self) {
        *self = Self::new(self.target);
    }

    #[inline]
    fn should_yield(&mut self, has_idle_workers: bool) -> bool {
        self.steps += 1;
        if self.steps < self.read_at && (self.any_idle || !has_idle_workers) {
            return false;
        }
        let over = self.judge(self.began.elapsed(), has_idle_workers);
        if over {
            self.begin_turn();
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn whose step number `n` takes `ns(n)`: steps, duration, clock reads.
    fn turn(target_ns: u64, any_idle: impl Fn(u64) -> bool, ns: impl Fn(u64) -> u64) -> (u64, u64, u64) {
        let mut policy = AdaptiveYield::new(Duration::from_nanos(target_ns));
        let (mut elapsed, mut looks) = (0, 0);
        loop {
            policy.steps += 1;
            elapsed += ns(policy.steps);
            let any_idle = any_idle(policy.steps);
            if policy.steps < policy.read_at && (policy.any_idle || !any_idle) {
                continue;
            }
            looks += 1;
            if policy.judge(Duration::from_nanos(elapsed), any_idle) {
                return (policy.steps, elapsed, looks);
            }
        }
    }

    #[test]
    fn a_turn_lasts_about_the_target_whatever_a_step_takes() {
        for step_ns in [1, 7, 100, 3_000, 150_000] {
            let (_, lasted, looks) = turn(200_000, |_| false, |_| step_ns);
            assert!(
                (200_000..200_000 + 2 * step_ns).contains(&lasted),
                "{step_ns}: {lasted}"
            );
            assert!(looks <= 40, "{step_ns}: {looks} looks");
        }
        assert_eq!(turn(200_000, |_| false, |_| 5_000_000).0, 1);
        assert_eq!(turn(0, |_| false, |_| 5).0, 1);
    }

    #[test]
    fn steps_that_become_long_are_noticed() {
        let (steps, _, _) = turn(200_000, |_| false, |step| if step <= 500 { 100 } else { 100_000 });
        assert!(steps <= 2 * 500, "{steps}");
    }

    #[test]
    fn an_idle_worker_ends_a_turn_after_an_eighth() {
        assert_eq!(turn(200_000, |_| true, |_| 1_000).0, 25);
        let (steps, _, _) = turn(200_000, |step| step >= 100, |_| 1_000);
        assert_eq!(steps, 100, "at once, if the eighth is over when hunger comes");
    }

    #[test]
    fn through_its_front_door_a_turn_with_no_target_is_a_step_and_a_long_one_is_many() {
        let mut policy = AdaptiveYield::new(Duration::ZERO);
        policy.begin_turn();
        assert!(policy.should_yield(false));
        let mut policy = AdaptiveYield::new(Duration::MAX);
        policy.begin_turn();
        assert!((0..100_000).all(|_| !policy.should_yield(false)));
    }
}
