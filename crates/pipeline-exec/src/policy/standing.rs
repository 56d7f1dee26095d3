//! Where a job stands: whether its keys are on the board, and the one way in which that changes.
//!
//! A job's claims change all the time, by many parties: a worker claims the last slot there is, the
//! last finisher of a stage starts the next one, a client closes the job. Whether the job belongs
//! on the board follows from its claims, and the party that changes them *settles* the job
//! afterwards: `settle` makes the board agree with the claims. So does the worker that has charged
//! the job for a visit, since its place among the served ones depends on it. No other party touches
//! a job's keys.
//!
//! Two who settle one job at the same time must not both change its keys, and neither may wait for
//! the other. So the word `standing` is a combining lock, on which no party ever blocks:
//!
//! ```text
//!    2    1       0
//! ┌────┬───────┬──────┐   BUSY   a party makes the board agree: the holder
//! │ ON │ DIRTY │ BUSY │   DIRTY  another has changed the claims since the holder began to read them
//! └────┴───────┴──────┘   ON     the job's keys are on the board; only the holder changes it
//! ```
//!
//! - **enter**: one read-modify-write sets BUSY and DIRTY. BUSY was set → leave it to the holder,
//!   who finds DIRTY.
//! - **begin round**: the holder clears DIRTY, reads whether there is anything to claim and the
//!   service received, and puts the keys on, takes them off, or gives the job another place among
//!   the served.
//! - **leave**: one compare-and-swap of BUSY alone to idle. DIRTY was set meanwhile → another
//!   round.
//! - **publish**: the party that has put the keys on, or has made something to claim, sees to it
//!   that workers look.
//!
//! Why the board agrees in the end: take the last change of a job's claims, and the **enter** that
//! follows it. Either that party is the holder, and its round reads the claims afterwards; or the
//! holder's **leave** comes after that **enter** in the order of the word, finds DIRTY, and its
//! next round reads the claims with the change. Either way a round comes after the change, and the
//! last round is what stands.
//!
//! Why no job is overlooked: a party that made something to claim and found BUSY publishes without
//! knowing whether the keys are on. If they were on all the while, its own fence comes after them.
//! If not, the holder puts them on after it has read DIRTY, and publishes itself, later.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use executor_core::ports::{Fetch, Memory};

use super::board::JobHandle;
use super::close::Closing;
use super::ports::{PipelineEvent, PipelinePorts, StateOf};
use super::submit::publish;
use crate::mutant;

const BUSY: usize = 1;
const DIRTY: usize = 2;
const ON: usize = 4;

/// A job's `standing` word: the table in the module's documentation.
pub(crate) struct Standing<W> {
    word: W,
    /// The tag in the job's key in the order of service, while it is on the board. Only the holder
    /// touches it.
    tag: W,
}

/// Makes the board agree with what can be claimed of `job`, now or by the party that is about to.
/// For each party that has changed that.
///
/// `lookers`: how many workers are wanted for what the caller has made to claim, if it has. What
/// the answer says about closing is about the shutdown that the caller may have met; see
/// [`publish`].
pub(crate) fn settle<E: PipelinePorts>(
    env: &E,
    state: &Arc<StateOf<E>>,
    job: JobHandle,
    mut lookers: Option<usize>,
) -> Closing {
    let (board, standing) = (&env.shared().board, &state.standing);
    let mut is_holder = standing.enter(env);
    let mut is_own = true;
    while is_holder {
        let on = standing.begin_round(env);
        env.observe(PipelineEvent::Settles { job });
        let claimable = state.claims.is_claimable(env) && !off_too_early(env, state);
        let shared = env.shared();
        if claimable && !on && state.grows {
            state.line_up(env, shared.young_tag(), shared.service_floor(env));
        }
        let tag = state.tag(env, shared.young_tag());
        if claimable && on {
            standing.retag(env, tag, |from| board.rekey(env, job, from, tag));
        } else if claimable {
            standing.tag(env, tag);
            board.insert(env, job, tag);
            if lookers.is_none() || !is_own {
                // Others made it, and may rely on this party's publication.
                lookers = lookers.max(Some(state.usable(state.claims.unclaimed_slots(env))));
            }
        } else if on && !claimable && !mutant::m45_never_off_the_board() {
            board.remove(env, job, standing.tagged(env));
        }
        let stays = on && mutant::m45_never_off_the_board();
        is_holder = !standing.leave(env, on, claimable || stays);
        is_own = false;
    }
    match lookers {
        Some(lookers) => publish(env, state, job, lookers),
        None => Closing::Touched,
    }
}

/// Only with a planted bug: whether a worker has claimed a slot of the current stage.
fn off_too_early<E: PipelinePorts>(env: &E, state: &Arc<StateOf<E>>) -> bool {
    mutant::m15_off_the_board_too_early() && state.claims.next_free_slot(env).1 > 0
}

impl<W> Standing<W> {
    /// Off the board, and no party settles it.
    pub(crate) fn new(mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            word: word(0),
            tag: word(0),
        }
    }

    /// Step enter: `true` if the caller is the holder now, and begins a round.
    fn enter<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        let dirty = if mutant::m55_no_dirty_bit() { 0 } else { DIRTY };
        // Ordering: Release. Edge `standing/dirty`: pairs with the Acquire in `begin_round`, which
        // sees what the caller has changed. Who becomes the holder acquires there, too, what the
        // last holder left: this read-modify-write only prolongs that release.
        mem.fetch(&self.word, Fetch::Or(BUSY | dirty), Ordering::Release) & BUSY == 0
    }

    /// Step begin round, of the holder: whether the keys are on the board.
    fn begin_round<M: Memory<Word = W>>(&self, mem: &M) -> bool {
        // Ordering: Acquire. Edge `standing/dirty`: pairs with the Release in `enter`. What was
        // changed before the DIRTY that is cleared here is read in this round. Edge
        // `standing/hand-over`: pairs with the Release in `leave`. A new holder finds the board as
        // the last one left it.
        mem.fetch(&self.word, Fetch::And(!DIRTY), Ordering::Acquire) & ON != 0
    }

    /// Step leave, of the holder, who found the keys `on` and leaves them as `now` says. `false` if
    /// there is another round to make.
    fn leave<M: Memory<Word = W>>(&self, mem: &M, on: bool, now: bool) -> bool {
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
    /// Of the holder: the tag with which the job stands on the board.
    fn tagged<M: Memory<Word = W>>(&self, mem: &M) -> usize {
        // Ordering: Relaxed. The holders' own word, handed over with the word beside it.
        mem.load(&self.tag, Ordering::Relaxed)
    }

    /// Of the holder: the job is put on the board with `tag`.
    fn tag<M: Memory<Word = W>>(&self, mem: &M, tag: usize) {
        // Ordering: Relaxed. As above.
        mem.store(&self.tag, tag, Ordering::Relaxed);
    }

    /// Of the holder: `rekey`, given the tag so far, gives the job `tag` on the board, unless it
    /// has it.
    fn retag<M: Memory<Word = W>>(&self, mem: &M, tag: usize, rekey: impl FnOnce(usize)) {
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
