//! Adaptive backoff: how long a worker without work waits before it searches again.
//!
//! If a producer adds short tasks more slowly than a worker runs them, each immediate search finds
//! one or two and moves the injector's cache lines between cores. On two cores that tripled the
//! producer's time. So the wait grows, up to about a microsecond, while searches soon find few
//! tasks, and shrinks when they find many or none.

use crate::ports::queues::RUN_MAX;

/// Most tasks of a run that count as few; a full run is many.
const FEW: usize = 24;

/// A find after more failed searches than this is no stream.
const SOON: u32 = 4;

/// The longest wait, in spins of some 10 ns.
const SPINS_MAX: u32 = 128;

#[derive(Debug, Hash)]
pub(crate) struct Backoff {
    spins: u32,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { spins: 0 }
    }

    #[inline]
    pub(crate) fn spins_before_search(&self, looks: u32) -> Option<u32> {
        (looks == 0 && self.spins > 0).then_some(self.spins)
    }

    /// After `looks` failed searches the injector held `tasks` tasks.
    pub(crate) fn found(&mut self, tasks: usize, looks: u32) {
        self.spins = match looks {
            0..=SOON if tasks <= FEW => (2 * self.spins).clamp(1, SPINS_MAX),
            0..=SOON if tasks < RUN_MAX => return,
            _ => self.spins / 2,
        };
    }

    pub(crate) fn found_nothing(&mut self) {
        self.spins /= 2;
    }

    pub(crate) fn reset(&mut self) {
        self.spins = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_becomes_longer_while_few_are_found_soon_and_shorter_otherwise() {
        let mut backoff = Backoff::new();
        assert_eq!(backoff.spins_before_search(0), None);
        (0..20).for_each(|_| backoff.found(2, 1));
        assert_eq!(backoff.spins_before_search(0), Some(SPINS_MAX));
        assert_eq!(backoff.spins_before_search(1), None, "only after the last task");
        backoff.found(28, 1);
        assert_eq!(
            backoff.spins_before_search(0),
            Some(SPINS_MAX),
            "neither few nor many"
        );
        backoff.found(32, 0);
        assert_eq!(backoff.spins_before_search(0), Some(SPINS_MAX / 2));
        backoff.found_nothing();
        assert_eq!(backoff.spins_before_search(0), Some(SPINS_MAX / 4));
        (0..20).for_each(|_| backoff.found(1, 100));
        assert_eq!(backoff.spins_before_search(0), None);
        (0..3).for_each(|_| backoff.found(1, SOON));
        assert_eq!(backoff.spins_before_search(0), Some(4));
        backoff.reset();
        assert_eq!(backoff.spins_before_search(0), None);
    }
}
