//! The membership word: whether a job's keys are on the board.
//!
//! A job belongs on the board while it has something to claim. A party that changed its claims or
//! service *reconciles* it afterwards: [`reconcile`](crate::policy::board::reconcile) updates the
//! board. Of two parties at once, one may change the keys, and neither may wait. So the word is a
//! combining lock that never blocks:
//!
//! ```text
//!     2    1       0
//! ┌────┬───────┬──────┐   BUSY   a party makes the board agree: the holder
//! │ ON │ DIRTY │ BUSY │   DIRTY  the claims have changed since the holder began to read them
//! └────┴───────┴──────┘   ON     the job's keys are on the board; only the holder changes it
//! ```
//!
//! - **enter**: one read-modify-write sets BUSY and DIRTY. If BUSY was set, the holder finds DIRTY.
//! - **begin round**: the holder clears DIRTY, reads claims and service, and adds, removes or moves
//!   the keys.
//! - **leave**: one compare-and-swap from BUSY to idle. If DIRTY is set, it fails, and another
//!   round follows.
//! - **publish**: the party that added the keys, or made something claimable, has workers look.
//!
//! Why the board agrees: an **enter** follows the last change of the claims. Either its party
//! becomes the holder and reads the change, or the holder's **leave** finds DIRTY, and the next
//! round reads it.
//!
//! Why no job is missed: a party that found BUSY publishes without knowing whether the keys are on.
//! If they were on throughout, its fence comes after them. Otherwise the holder reads DIRTY, puts
//! them on and publishes.

use std::fmt;
use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};

const BUSY: usize = 1;
const DIRTY: usize = 2;
const ON: usize = 4;

pub(crate) struct Standing<W> {
    word: W,
    /// Only the holder touches the tag.
    tag: W,
}

impl<W> Standing<W> {
    pub(crate) fn new(mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            word: word(0),
            tag: word(0),
        }
    }

    /// Step enter. Returns whether the caller is now the holder.
    pub(crate) fn enter<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Release. Edge `standing/dirty`: pairs with the Acquire in `begin_round`, which
        // sees what the caller has changed. A new holder also acquires there what the last one
        // left, because this read-modify-write prolongs that release.
        mem.fetch(&self.word, Fetch::Or(BUSY | DIRTY), Ordering::Release) & BUSY == 0
    }

    /// Step begin round. Returns whether the keys are on the board.
    pub(crate) fn begin_round<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Acquire. Edge `standing/dirty`: pairs with the Release in `enter`. This round
        // reads what was changed before the DIRTY that is cleared here. Edge `standing/hand-over`:
        // pairs with the Release in `leave`. A new holder finds the board as the last one left it.
        mem.fetch(&self.word, Fetch::And(!DIRTY), Ordering::Acquire) & ON != 0
    }

    /// Step leave. The keys were `on` and are as `now` says. Returns `false` if another round
    /// follows.
    pub(crate) fn leave<M: Memory<Word = W>>(&self, mem: &M, on: bool, now: bool) -> bool {
        let place = |on: bool| if on { ON } else { 0 };
        if on != now {
            // Ordering: Relaxed. The holder's own bit; the next holder reads it behind the Release
            // below.
            mem.fetch(
                &self.word,
                Fetch::Add(place(now).wrapping_sub(place(on))),
                Ordering::Relaxed,
            );
        }
        // Ordering: Release. Edge `standing/hand-over`: pairs with the Acquire in `begin_round` of
        // the next holder.
        mem.compare_exchange(&self.word, BUSY | place(now), place(now), Ordering::Release)
            .is_ok()
    }
}

impl<W> Standing<W> {
    pub(crate) fn tagged<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. The holders' own word, handed over with the word beside it.
        mem.load(&self.tag, Ordering::Relaxed)
    }

    pub(crate) fn tag<M: Memory<Word = W>>(&self, mem: &M, tag: usize) {
        // Ordering: Relaxed. As above.
        mem.store(&self.tag, tag, Ordering::Relaxed);
    }

    /// Calls `rekey` with the old tag if `tag` differs.
    pub(crate) fn retag<M: Memory<Word = W>>(&self, mem: &M, tag: usize, rekey: impl FnOnce(usize)) {
        let from = self.tagged(mem);
        if from != tag {
            rekey(from);
            self.tag(mem, tag);
        }
    }
}

impl<W> fmt::Debug for Standing<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing").finish_non_exhaustive()
    }
}
