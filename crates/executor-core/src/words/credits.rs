//! Local credits: counts of the state word that one worker holds.
//!
//! Two read-modify-writes a task on one word would limit the machine to some ten million tasks a
//! second. So a worker acquires a block of counts at once and keeps them in a plain integer. The
//! word over-counts by all spare counts, and never under-counts.
//!
//! ```text
//!   held = 1 for the running task + 1 for each private task + spare
//!              ▲                           │                  ▲ │
//!      taken from a queue           made public, or        acquired, put back
//!      with its count               over: then spare       a block at a time
//! ```
//!
//! Each operation keeps `needed` counts. `Some(n)` asks the caller to acquire or release `n` counts
//! of the word; the credits include acquired ones already.
//!
//! A worker releases **all** spare counts at its first failed search, before it spins: a worker
//! that never parks must not delay the end.

#[derive(Debug, Hash)]
pub(crate) struct LocalCredits {
    held: usize,
    block: usize,
}

impl LocalCredits {
    pub(crate) fn new(block: usize) -> Self {
        debug_assert!(block > 0, "the configuration was validated");
        Self { held: 0, block }
    }

    #[inline]
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Gives one count to a task that becomes public.
    #[inline]
    #[must_use]
    pub(crate) fn transfer_one(&mut self, needed: usize) -> Option<usize> {
        let acquired = self.acquire(needed + 1);
        self.held -= 1;
        acquired
    }

    #[inline]
    #[must_use]
    pub(crate) fn acquire(&mut self, needed: usize) -> Option<usize> {
        let missing = needed.checked_sub(self.held).filter(|&missing| missing > 0)?;
        let acquired = missing.next_multiple_of(self.block);
        self.held += acquired;
        Some(acquired)
    }

    pub(crate) fn transfer(&mut self, n: usize) {
        self.held -= n;
    }

    #[inline]
    pub(crate) fn receive(&mut self) {
        self.held += 1;
    }

    /// All but one spare block, if more than two are spare.
    #[inline]
    #[must_use]
    pub(crate) fn release_surplus(&mut self, needed: usize) -> Option<usize> {
        let spare = self.held.saturating_sub(needed);
        if spare <= 2 * self.block {
            return None;
        }
        let surplus = spare - self.block;
        self.held -= surplus;
        Some(surplus)
    }

    pub(crate) fn release_spare(&mut self, needed: usize) -> usize {
        let spare = self.held.saturating_sub(needed);
        self.held -= spare;
        spare
    }

    /// The most that a worker with a buffer of `private` tasks can hold. Overflow tasks do not
    /// count: memory ends before the word does.
    pub(crate) fn held_max(block: usize, private: usize) -> usize {
        // Private tasks, spare counts, the running task and a received one.
        private + 2 * block + 2
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_purse_borrows_a_block_and_pays_from_it() {
        let mut credits = LocalCredits::new(4);
        assert_eq!(credits.transfer_one(0), Some(4));
        assert_eq!(
            [
                credits.transfer_one(0),
                credits.transfer_one(0),
                credits.transfer_one(0)
            ],
            [None; 3]
        );
        assert_eq!(credits.transfer_one(0), Some(4));
    }

    #[test]
    fn what_is_needed_is_never_given_away() {
        let mut credits = LocalCredits::new(2);
        credits.receive();
        assert_eq!(
            credits.transfer_one(1),
            Some(2),
            "the only count is the running task's"
        );
        assert_eq!((credits.transfer_one(1), credits.held()), (None, 1));
        assert_eq!((credits.acquire(6), credits.held()), (Some(6), 7));
        assert_eq!(credits.release_spare(6), 1);
        assert_eq!(credits.held(), 6);
    }

    #[test]
    fn more_than_two_blocks_to_spare_flow_back_down_to_one() {
        let mut credits = LocalCredits::new(3);
        for _ in 0..7 {
            credits.receive();
            assert_eq!(credits.release_surplus(1), None);
        }
        credits.receive();
        assert_eq!(credits.release_surplus(1), Some(4));
        assert_eq!(credits.release_spare(0), 4);
        assert_eq!(credits.release_spare(0), 0);
    }

    #[test]
    fn the_most_that_a_purse_is_said_to_hold_is_what_it_can_come_to() {
        for (block, private) in [(1, 0), (4, 3), (64, 256)] {
            let mut credits = LocalCredits::new(block);
            let needed = 1 + private;
            let mut most = 0;
            assert_eq!(credits.acquire(needed), Some(needed.next_multiple_of(block)));
            for _ in 0..3 * block {
                credits.receive();
                most = most.max(credits.held());
                let _back = credits.release_surplus(needed);
            }
            assert_eq!(most, LocalCredits::held_max(block, private), "{block} {private}");
        }
    }

    proptest! {
        #[test]
        fn the_word_covers_all_that_is_in_flight(
            block in 1_usize..70,
            capacity in 0_usize..40,
            ops in prop::collection::vec(0_u8..5, 0..500),
        ) {
            let mut credits = LocalCredits::new(block);
            let (mut running, mut private, mut public, mut word) = (0_usize, 0_usize, 1_usize, 1_usize);
            for op in ops {
                match op {
                    0 if public > 0 => {
                        (public, running) = (public - 1, 1);
                        credits.receive();
                        if let Some(n) = credits.release_surplus(running + private) { word -= n; }
                    }
                    1 if private > 0 => private -= 1,
                    2 if running == 1 && private < capacity => {
                        private += 1;
                        if let Some(n) = credits.acquire(running + private) { word += n; }
                    }
                    3 if running == 1 => {
                        if let Some(n) = credits.transfer_one(running + private) { word += n; }
                        public += 1;
                    }
                    4 if private == 0 => {
                        running = 0;
                        word -= credits.release_spare(0);
                    }
                    _ => {}
                }
                prop_assert_eq!(word, public + credits.held);
                prop_assert!(credits.held >= running + private);
                prop_assert!(credits.held <= LocalCredits::held_max(block, capacity));
            }
        }
    }
}
