//! Which slots of a job are taken, and how many are accounted for: two words and a row.
//!
//! A claim is one compare-and-swap of `next_free_slot`, so that each slot is claimed once and no lock is held. It
//! publishes nothing about completion: the slot has yet to run. Completion is another word, added to with Release
//! after the slot ran; whoever adds the last one takes an Acquire fence and so sees what every slot wrote.
//!
//! ```text
//!  63       62 … 48   47 … 0
//! ┌────────┬─────────┬────────────────┐
//! │ CLOSED │ stage   │ next free slot │   next_free_slot      (32-bit words: 31, 30 … 24, 23 … 0)
//! └────────┴─────────┴────────────────┘
//! done           slots accounted for, over all stages
//! ends[stage]    slots of this stage and those before, written before the stage starts
//! ```
//!
//! | `next_free_slot` | phase | who leaves it |
//! |---|---|---|
//! //! | slot < slots of the stage | running | claims, one by one; or [`Claims::close`] |
//! | slot = slots of the stage | all claimed | the last finisher, by [`Claims::start`]; or `close` |
//! | CLOSED | closed | nobody, for ever |
//!
//! The stage is part of the word that is compared, so a claim that was read in one stage cannot succeed in another,
//! and starting a stage and closing the job exclude each other. Whoever closes is told how many slots nobody had
//! claimed and accounts for them: that is why a ticket always fires.
//!
//! A stage without slots still has to be finished by a worker, so it counts as one *unit* to claim, with no slot in it.

use std::ops::Range;
use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::{Fetch, Memory};

use crate::mutant;

const SLOT_BITS: u32 = usize::BITS / 4 * 3;
const SLOT_MASK: usize = (1 << SLOT_BITS) - 1;
const STAGE: usize = 1 << SLOT_BITS;
const CLOSED: usize = 1 << (usize::BITS - 1);

/// The largest number of slots that a stage can have.
pub const SLOTS_MAX: usize = SLOT_MASK - 1;

/// The largest number of stages that a job can have.
pub const STAGES_MAX: usize = (CLOSED - 1) >> SLOT_BITS;

/// The words that say which slots of a job are claimed and which are done.
#[derive(Debug)]
pub struct Claims<W> {
    /// CLOSED, stage and slot: the table in the module's documentation.
    next_free_slot: CachePadded<W>,
    /// Slots that have run or were given up, over all stages.
    done: CachePadded<W>,
    /// For each stage, the slots of it and of those before it.
    ends: Box<[W]>,
}

/// What an attempt to claim came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// These slots are the caller's, who runs each once and then accounts for them.
    Slots {
        /// Number of the stage.
        stage: usize,
        /// Slots of the stage; empty if it has none.
        slots: Range<usize>,
        /// These were the last of their stage, so the caller settles the job before it runs them.
        last: bool,
    },
    /// Every slot of the current stage is claimed.
    Exhausted,
    /// No slot will be claimed any more.
    Closed,
}

/// What nobody had claimed when the job was closed. The closer accounts for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclaimed {
    /// Number of the stage.
    pub stage: usize,
    /// Slots of it that nobody had claimed.
    pub slots: usize,
    /// Whether nothing of the job had been claimed at all.
    pub untouched: bool,
}

impl<W> Claims<W> {
    /// A job of `stages` stages, of which the first has yet to [`begin`](Claims::begin); words are made by `word`.
    ///
    /// # Panics
    ///
    /// If `stages` is 0 or more than [`STAGES_MAX`].
    pub fn new(stages: usize, mut word: impl FnMut(usize) -> W) -> Self {
        assert!(
            (1..=STAGES_MAX).contains(&stages),
            "a job has 1 to {STAGES_MAX} stages, not {stages}"
        );
        Self {
            next_free_slot: CachePadded::new(word(0)),
            done: CachePadded::new(word(0)),
            ends: (0..stages).map(|_| word(0)).collect(),
        }
    }

    /// Gives the first stage its number of slots, before anybody else knows the job.
    pub fn begin<M: Memory<Word = W>>(&self, mem: &M, slots: usize) {
        // Ordering: Relaxed. Nobody else knows the job yet; the board publishes it.
        mem.store(&self.ends[0], slots, Ordering::Relaxed);
    }

    /// Claims up to `wanted` slots, at least one.
    pub fn claim<M: Memory<Word = W>>(&self, mem: &M, wanted: usize) -> Claim {
        loop {
            // Ordering: Acquire. Edge `claim/stage`: pairs with the Release in `start`. Whoever reads a stage sees its
            // number of slots and all that the stages before it wrote. Claims in between only prolong that release.
            let word = mem.load(&self.next_free_slot, Ordering::Acquire);
            let at = ClaimWord(word);
            if at.is_closed() {
                return Claim::Closed;
            }
            let (stage, slot) = (at.stage(), at.slot());
            let slots = self.slots(mem, stage);
            let units = slots.max(1);
            if slot >= units {
                return Claim::Exhausted;
            }
            let taken = wanted.clamp(1, units - slot);
            let by_store = mutant::m14_claim_by_load_and_store();
            if by_store {
                // Ordering: Relaxed. As the compare below, in whose place it is.
                mem.store(&self.next_free_slot, word + taken, Ordering::Relaxed);
            }
            // Ordering: Relaxed. The claim is the compare; it publishes nothing, and what it relies on was acquired by
            // the load of the same value.
            if by_store
                || mem
                    .compare_exchange(&self.next_free_slot, word, word + taken, Ordering::Relaxed)
                    .is_ok()
            {
                return Claim::Slots {
                    stage,
                    slots: slot.min(slots)..(slot + taken).min(slots),
                    last: slot + taken == units,
                };
            }
        }
    }

    /// Accounts for `slots` slots of `stage` that ran or were given up. `true` if the stage is over: the caller is its
    /// last finisher, the only one, and sees what every slot wrote.
    pub fn account<M: Memory<Word = W>>(&self, mem: &M, stage: usize, slots: usize) -> bool {
        // Ordering: Release. Edge `slot/done`: pairs with the Acquire fence below, taken by the last finisher. What
        // this slot wrote comes before.
        let before = mem.fetch(&self.done, Fetch::Add(slots), Ordering::Release);
        // Ordering: Relaxed. The claim that is being accounted for has acquired it.
        let end = mem.load(&self.ends[stage], Ordering::Relaxed);
        debug_assert!(before + slots <= end, "more slots are done than there are");
        let last = before + slots == end;
        if last {
            // Ordering: Acquire fence. Edge `slot/done`: pairs with the Release additions of all other slots.
            mem.fence(Ordering::Acquire);
        }
        last
    }

    /// Starts the next stage, `stage`, with `slots` slots, unless the job was closed meanwhile. For the last finisher of the
    /// stage before.
    #[must_use]
    pub fn start<M: Memory<Word = W>>(&self, mem: &M, stage: usize, slots: usize) -> bool {
        // Ordering: Relaxed. Only last finishers write it, one after another.
        let before = mem.load(&self.ends[stage - 1], Ordering::Relaxed);
        // Ordering: Relaxed. Published by the exchange.
        mem.store(&self.ends[stage], before + slots, Ordering::Relaxed);
        let units = self.slots(mem, stage - 1).max(1);
        // Ordering: Release. Edge `claim/stage`: pairs with the Acquire in `claim` and in `close`.
        mem.compare_exchange(
            &self.next_free_slot,
            ClaimWord::at(stage - 1, units),
            ClaimWord::at(stage, 0),
            Ordering::Release,
        )
        .is_ok()
    }

    /// No slot is claimed after this. Gives what nobody had claimed, to the one caller that closed.
    pub fn close<M: Memory<Word = W>>(&self, mem: &M) -> Option<Unclaimed> {
        // Ordering: Acquire. Edge `claim/stage`: pairs with the Release in `start`; the closer reads the number of
        // slots.
        let at = ClaimWord(mem.fetch(&self.next_free_slot, Fetch::Or(CLOSED), Ordering::Acquire));
        if at.is_closed() {
            return None;
        }
        (at.slot() < self.slots(mem, at.stage()).max(1)).then(|| self.unclaimed(mem, at))
    }

    /// Whether a claim would succeed now.
    pub fn is_claimable<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Acquire. Edge `claim/stage`: pairs with the Release in `start`, for the number of slots.
        let at = ClaimWord(mem.load(&self.next_free_slot, Ordering::Acquire));
        !at.is_closed() && at.slot() < self.slots(mem, at.stage()).max(1)
    }

    /// Slots of the current stage that nobody has claimed. It may change at once.
    pub(crate) fn unclaimed_slots<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Acquire. Edge `claim/stage`: pairs with the Release in `start`, for the number of slots.
        let at = ClaimWord(mem.load(&self.next_free_slot, Ordering::Acquire));
        self.slots(mem, at.stage()).saturating_sub(at.slot())
    }

    /// Whether no slot will be claimed any more.
    pub fn is_closed<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Relaxed. It asks only whether to stop.
        ClaimWord(mem.load(&self.next_free_slot, Ordering::Relaxed)).is_closed()
    }

    /// The current stage, and the lowest slot of it that nobody has claimed.
    pub fn next_free_slot<M: Memory<Word = W>>(&self, mem: &M) -> (usize, usize) {
        // Ordering: Relaxed. A number for people and tests.
        let at = ClaimWord(mem.load(&self.next_free_slot, Ordering::Relaxed));
        (at.stage(), at.slot())
    }

    /// Slots that ran or were given up, and slots of the stages that have started. Both only grow, and the first is
    /// never more than the second.
    pub fn progress<M: Memory<Word = W>>(&self, mem: &M) -> (usize, usize) {
        // Ordering: Acquire. Edge `slot/done`: pairs with the Release additions; the stage that was started for a
        // slot that is done is seen below, so that the total covers it.
        let done = mem.load(&self.done, Ordering::Acquire);
        // Ordering: Acquire. Edge `claim/stage`: pairs with the Release in `start`.
        let at = ClaimWord(mem.load(&self.next_free_slot, Ordering::Acquire));
        // Ordering: Relaxed. Acquired with the stage.
        (done, mem.load(&self.ends[at.stage()], Ordering::Relaxed))
    }

    fn unclaimed<M: Memory<Word = W>>(&self, mem: &M, at: ClaimWord) -> Unclaimed {
        Unclaimed {
            stage: at.stage(),
            slots: self.slots(mem, at.stage()) - at.slot(),
            untouched: at.0 == 0,
        }
    }

    /// Slots of `stage`, which has started.
    fn slots<M: Memory<Word = W>>(&self, mem: &M, stage: usize) -> usize {
        // Ordering: Relaxed, both. Acquired with the stage, edge `claim/stage`.
        let before = stage
            .checked_sub(1)
            .map_or(0, |before| mem.load(&self.ends[before], Ordering::Relaxed));
        mem.load(&self.ends[stage], Ordering::Relaxed) - before
    }
}

#[derive(Clone, Copy, Debug)]
struct ClaimWord(usize);

impl ClaimWord {
    fn at(stage: usize, slot: usize) -> usize {
        stage * STAGE + slot
    }

    fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    fn stage(self) -> usize {
        (self.0 & !CLOSED) >> SLOT_BITS
    }

    fn slot(self) -> usize {
        self.0 & SLOT_MASK
    }
}
