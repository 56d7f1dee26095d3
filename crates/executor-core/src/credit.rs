//! Credits: counts that a worker has borrowed from the state word and not used.
//!
//! Two read-modify-writes a task on one shared word would cap the whole machine at some ten million tasks a
//! second. So a worker borrows a block of counts at once, pays spawns out of it and puts completions back as
//! plain integers. The word over-counts by what all workers hold, and never under-counts.
//!
//! A worker puts **everything** back at its first failed search, before it spins: a worker that never parks must
//! not hold up the end. In the middle of work it keeps at most two blocks.

/// What one worker has borrowed and not used.
#[derive(Debug)]
pub(crate) struct Credits {
    held: usize,
    block: usize,
}

impl Credits {
    pub(crate) fn new(block: usize) -> Self {
        debug_assert!(block > 0, "the configuration was validated");
        Self { held: 0, block }
    }

    /// Pays for one spawn. `Err(n)` if the purse was empty: `n` counts must be borrowed from the word, which
    /// this has already reckoned with.
    #[inline]
    pub(crate) fn pay(&mut self) -> Result<(), usize> {
        if self.held > 0 {
            self.held -= 1;
            Ok(())
        } else {
            self.held = self.block - 1;
            Err(self.block)
        }
    }

    /// Takes in the count of a task that is over. `Some(n)` if the purse now holds more than two blocks: `n`
    /// counts must be put back, which this has already reckoned with.
    #[inline]
    pub(crate) fn take_in(&mut self) -> Option<usize> {
        self.held += 1;
        if self.held > 2 * self.block {
            let surplus = self.held - self.block;
            self.held -= surplus;
            Some(surplus)
        } else {
            None
        }
    }

    /// Empties the purse.
    pub(crate) fn take_all(&mut self) -> usize {
        std::mem::take(&mut self.held)
    }

    /// The most that one worker can hold.
    pub(crate) fn held_max(block: usize) -> usize {
        2 * block + 1
    }
}

#[cfg(all(test, not(windlass_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_purse_borrows_a_block_and_pays_from_it() {
        let mut credits = Credits::new(4);
        assert_eq!(credits.pay(), Err(4));
        assert_eq!([credits.pay(), credits.pay(), credits.pay()], [Ok(()); 3]);
        assert_eq!(credits.pay(), Err(4));
    }

    #[test]
    fn more_than_two_blocks_flow_back_down_to_one() {
        let mut credits = Credits::new(2);
        assert_eq!([(); 4].map(|()| credits.take_in()), [None; 4]);
        assert_eq!(credits.take_in(), Some(3));
        assert_eq!(credits.take_all(), 2);
        assert_eq!(credits.take_all(), 0);
    }

    proptest! {
        /// Borrowed = held + paid out − taken in + put back, after any sequence, and the purse is bounded.
        #[test]
        fn counts_are_neither_made_nor_lost(block in 1_usize..70, ops in prop::collection::vec(any::<bool>(), 0..500)) {
            let mut credits = Credits::new(block);
            let (mut word, mut live) = (1_usize, 1_usize);
            for spawn in ops {
                if spawn {
                    if let Err(n) = credits.pay() { word += n; }
                    live += 1;
                } else if live > 1 {
                    live -= 1;
                    if let Some(n) = credits.take_in() { word -= n; }
                }
                prop_assert_eq!(word, live + credits.held);
                prop_assert!(credits.held <= Credits::held_max(block));
            }
        }
    }
}
