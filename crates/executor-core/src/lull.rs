//! How long a worker that has run out of work waits before it looks again.
//!
//! Somebody outside hands over one short task after the other, and a worker runs each faster than the next one comes. If it
//! looks at once, it finds one or two each time, and every one of them moves the injector's lines from core to core and back: on two
//! cores that took the producer three times as long as its own work. If it waits for a moment, it finds a run, and both go
//! on undisturbed. So the moment becomes longer while looks soon find few, up to a microsecond, and shorter as soon as
//! they find many or take long to find any.

/// Of a full run, so many are few, and so many are many.
const FEW: usize = 8;
const MANY: usize = 16;

/// Fruitless looks after which what comes is no stream.
const SOON: u32 = 4;

/// The longest wait, in instants of some 10 ns.
const INSTANTS_MAX: u32 = 128;

/// One worker's.
#[derive(Debug)]
pub(crate) struct Lull {
    instants: u32,
}

impl Lull {
    /// An instant, as long as nothing is known.
    pub(crate) fn new() -> Self {
        Self { instants: 1 }
    }

    /// Instants to wait after fruitless look number `round`, the first after a task being 0.
    pub(crate) fn before_looking_again(&self, round: u32) -> u32 {
        if round == 0 { self.instants } else { 1 }
    }

    /// After so many fruitless looks the injector held so many tasks.
    pub(crate) fn found(&mut self, tasks: usize, looks: u32) {
        self.instants = match looks {
            0 => return,
            1..=SOON if tasks <= FEW => (2 * self.instants).min(INSTANTS_MAX),
            1..=SOON if tasks < MANY => return,
            _ => (self.instants / 2).max(1),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_becomes_longer_while_few_are_found_soon_and_shorter_otherwise() {
        let mut lull = Lull::new();
        (0..20).for_each(|_| lull.found(2, 1));
        assert_eq!(lull.before_looking_again(0), INSTANTS_MAX);
        assert_eq!(lull.before_looking_again(1), 1, "only after the last task");
        lull.found(2, 0);
        lull.found(12, 1);
        assert_eq!(
            lull.before_looking_again(0),
            INSTANTS_MAX,
            "neither says anything"
        );
        lull.found(32, 1);
        assert_eq!(lull.before_looking_again(0), INSTANTS_MAX / 2);
        (0..20).for_each(|_| lull.found(1, 100));
        assert_eq!(lull.before_looking_again(0), 1);
    }
}
