//! How long a worker that has run out of work waits before it looks again.
//!
//! Somebody outside hands over one short task after the other, and a worker runs each faster than the next one comes. If it
//! looks at once, it finds one or two each time, and every one of them moves the injector's lines from core to core and back: on two
//! cores that took the producer three times as long as its own work. If it waits for a moment, it finds a run, and both go
//! on undisturbed. So the moment becomes longer while looks soon find few, up to a microsecond, and shorter as soon as
//! they find many, or nothing.

use crate::ports::RUN_MAX;

/// Of a run so many are few; a full one is many.
const FEW: usize = 24;

/// Fruitless looks after which what comes is no stream.
const SOON: u32 = 4;

/// The longest wait, in spins of some 10 ns.
const SPINS_MAX: u32 = 128;

/// One worker's.
#[derive(Debug, Hash)]
pub(crate) struct Backoff {
    spins: u32,
}

impl Backoff {
    /// None, as long as nothing is known.
    pub(crate) fn new() -> Self {
        Self { spins: 0 }
    }

    /// Instants to wait before a look after so many fruitless ones, if any.
    #[inline]
    pub(crate) fn spins_before_search(&self, looks: u32) -> Option<u32> {
        (looks == 0 && self.spins > 0).then_some(self.spins)
    }

    /// After so many fruitless looks the injector held so many tasks.
    pub(crate) fn found(&mut self, tasks: usize, looks: u32) {
        self.spins = match looks {
            0..=SOON if tasks <= FEW => (2 * self.spins).clamp(1, SPINS_MAX),
            0..=SOON if tasks < RUN_MAX => return,
            _ => self.spins / 2,
        };
    }

    /// A look after it found nothing.
    pub(crate) fn found_nothing(&mut self) {
        self.spins /= 2;
    }

    /// What came is no stream of short tasks.
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
        assert_eq!(backoff.spins_before_search(0), Some(SPINS_MAX), "neither few nor many");
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
