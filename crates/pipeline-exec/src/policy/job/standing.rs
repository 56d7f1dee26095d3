//! The membership word: whether a job's keys are on the board, and the only way to change that.
//!
//! A job belongs on the board while it has something to claim. A party that changed its claims
//! *reconciles* it afterwards: [`reconcile`](crate::policy::board::reconcile) makes the board
//! agree. So does a worker that has charged it for a visit, which moves it in the order of service.
//! No other party touches a job's keys.
//!
//! Of two parties that reconcile one job at once, one may change its keys, and neither may wait. So
//! the word is a combining lock that never blocks:
//!
//! ```text
//!     2    1       0
//! ┌────┬───────┬──────┐   BUSY   a party makes the board agree: the holder
//! │ ON │ DIRTY │ BUSY │   DIRTY  the claims have changed since the holder began to read them
//! └────┴───────┴──────┘   ON     the job's keys are on the board; only the holder changes it
//! ```
//!
//! - **enter**: one read-modify-write sets BUSY and DIRTY. BUSY was set → the holder finds DIRTY.
//! - **begin round**: the holder clears DIRTY, reads the claims and the service, and puts the keys
//!   on, takes them off, or moves them.
//! - **leave**: one compare-and-swap of BUSY alone to idle. DIRTY was set meanwhile → another
//!   round.
//! - **publish**: the party that put the keys on, or made something claimable, has workers look.
//!
//! Why the board agrees: after the last change of the claims comes an **enter**. Either that party
//! becomes the holder and reads the claims afterwards, or the holder's **leave** comes later in the
//! order of the word, finds DIRTY, and the next round reads the change. The last round stands.
//!
//! Why no job is overlooked: a party that found BUSY publishes without knowing whether the keys are
//! on. If they were on throughout, its fence comes after them. If not, the holder puts them on
//! after it has read DIRTY, and then publishes.

use std::fmt;
use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};

use crate::mutant;

const BUSY: usize = 1;
const DIRTY: usize = 2;
const ON: usize = 4;

/// The membership word.
pub(crate) struct Standing<W> {
    word: W,
    /// The tag of the job's key on the board. Only the holder touches it.
    tag: W,
}

impl<W> Standing<W> {
    pub(crate) fn new(mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            word: word(0),
            tag: word(0),
        }
    }

    /// Step enter: `true` if the caller is the holder now.
    pub(crate) fn enter<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        let dirty = if mutant::m55_no_dirty_bit() { 0 } else { DIRTY };
        // Ordering: Release. Edge `standing/dirty`: pairs with the Acquire in `begin_round`, which
        // sees what the caller has changed. There a new holder also acquires what the last one
        // left: this read-modify-write only prolongs that release.
        mem.fetch(&self.word, Fetch::Or(BUSY | dirty), Ordering::Release) & BUSY == 0
    }

    /// Step begin round: whether the keys are on the board.
    pub(crate) fn begin_round<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Acquire. Edge `standing/dirty`: pairs with the Release in `enter`. This round
        // reads what was changed before the DIRTY that is cleared here. Edge `standing/hand-over`:
        // pairs with the Release in `leave`. A new holder finds the board as the last one left it.
        mem.fetch(&self.word, Fetch::And(!DIRTY), Ordering::Acquire) & ON != 0
    }

    /// Step leave: the keys were `on`, and are as `now` says. `false`: another round.
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
    /// The holder's.
    pub(crate) fn tagged<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. The holders' own word, handed over with the word beside it.
        mem.load(&self.tag, Ordering::Relaxed)
    }

    /// The holder's.
    pub(crate) fn tag<M: Memory<Word = W>>(&self, mem: &M, tag: usize) {
        // Ordering: Relaxed. As above.
        mem.store(&self.tag, tag, Ordering::Relaxed);
    }

    /// The holder's: calls `rekey` with the old tag if `tag` differs.
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
