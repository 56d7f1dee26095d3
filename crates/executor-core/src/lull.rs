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

/// The longest wait, in instants of some 10 ns.
const INSTANTS_MAX: u32 = 128;

/// One worker's.
#[derive(Debug, Hash)]
pub(crate) struct Lull {
    instants: u32,
}

impl Lull {
    /// None, as long as nothing is known.
    pub(crate) fn new() -> Self {
        Self { instants: 0 }
    }

    /// Instants to wait before a look after so many fruitless ones, if any.
    #[inline]
    pub(crate) fn before_look(&self, looks: u32) -> Option<u32> {
        (looks == 0 && self.instants > 0).then_some(self.instants)
    }

    /// After so many fruitless looks the injector held so many tasks.
    pub(crate) fn found(&mut self, tasks: usize, looks: u32) {
        self.instants = match looks {
            0..=SOON if tasks <= FEW => (2 * self.instants).clamp(1, INSTANTS_MAX),
            0..=SOON if tasks < RUN_MAX => return,
            _ => self.instants / 2,
        };
    }

    /// A look after it found nothing.
    pub(crate) fn was_in_vain(&mut self) {
        self.instants /= 2;
    }

    /// What came is no stream of short tasks.
    pub(crate) fn forget(&mut self) {
        self.instants = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_becomes_longer_while_few_are_found_soon_and_shorter_otherwise() {
        let mut lull = Lull::new();
        assert_eq!(lull.before_look(0), None);
        (0..20).for_each(|_| lull.found(2, 1));
        assert_eq!(lull.before_look(0), Some(INSTANTS_MAX));
        assert_eq!(lull.before_look(1), None, "only after the last task");
        lull.found(28, 1);
        assert_eq!(lull.before_look(0), Some(INSTANTS_MAX), "neither few nor many");
        lull.found(32, 0);
        assert_eq!(lull.before_look(0), Some(INSTANTS_MAX / 2));
        lull.was_in_vain();
        assert_eq!(lull.before_look(0), Some(INSTANTS_MAX / 4));
        (0..20).for_each(|_| lull.found(1, 100));
        assert_eq!(lull.before_look(0), None);
        (0..3).for_each(|_| lull.found(1, SOON));
        assert_eq!(lull.before_look(0), Some(4));
        lull.forget();
        assert_eq!(lull.before_look(0), None);
    }
}
