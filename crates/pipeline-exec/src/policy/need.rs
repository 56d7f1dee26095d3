//! How many workers a job is worth: so that a short job does not wake everybody.
//!
//! A worker that is woken for less than it takes to wake it has cost more than it has brought. So a job is said to need one worker
//! for each [`WORTH_NS`] of its work, and never more than it has slots, or than it allows. What its work is, nobody knows before it has run; but jobs
//! of an executor are alike, and their costs are in one unit. So the executor remembers what a unit of cost took of late, apart for
//! costs that were stated and for those where the number of slots stands in for one.
//!
//! What is remembered rises at once and falls slowly: to wake too few means that a slot that takes long runs alone, and that shows only when it
//! is over; to wake too many costs a few microseconds. Without experience a job gets all that it can use. And while it runs, the
//! time of its own slots is known: a worker that sees that what is left is worth more workers than were invited, [invites](super::visit) them.
//!
//! All of it decides who runs what, and nothing about what comes out.

use std::sync::atomic::Ordering;

use executor_core::ports::Memory;

use super::ports::{PipelinePorts, StateOf};
use crate::mutant;

/// So much work is worth a worker more, in nanoseconds.
pub const WORTH_NS: u64 = 500_000;

/// Units of cost may be small: what one took is kept in fractions of a nanosecond.
const FRACTION_BITS: u32 = 10;

/// How fast what is remembered falls: by this part of the difference.
const FALLS_BY: u64 = 8;

/// What a unit of cost took of late.
#[derive(Debug)]
pub(crate) struct Experience<W> {
    /// Of costs that were stated.
    stated: W,
    /// Of costs that are a number of slots.
    slots: W,
}

/// What a job is said to cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    /// In a unit that the executor's users share.
    Stated(u64),
    /// In slots, since nothing was said.
    Slots(u64),
}

impl<W> Experience<W> {
    pub(crate) fn new(mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            stated: word(0),
            slots: word(0),
        }
    }

    /// What `cost` will take in all, in nanoseconds, as far as experience tells.
    pub(crate) fn work_ns<M: Memory<Word = W>>(&self, mem: &M, cost: Cost) -> Option<u64> {
        let (word, units) = self.of(cost);
        // Ordering: Relaxed. An estimate.
        match mem.load(word, Ordering::Relaxed) {
            0 => None,
            per_unit => {
                let work = (u128::from(units) * per_unit as u128) >> FRACTION_BITS;
                Some(u64::try_from(work).unwrap_or(u64::MAX))
            }
        }
    }

    /// A job of `cost` took `worked_ns` of its workers' time.
    pub(crate) fn learn<M: Memory<Word = W>>(&self, mem: &M, cost: Cost, worked_ns: u64) {
        let (word, units) = self.of(cost);
        if units == 0 || worked_ns == 0 {
            return;
        }
        let took = (u128::from(worked_ns) << FRACTION_BITS) / u128::from(units);
        let took = u64::try_from(took).unwrap_or(u64::MAX).max(1);
        // Ordering: Relaxed, both. An estimate; that one of two who learn at once is forgotten does no harm.
        let before = mem.load(word, Ordering::Relaxed) as u64;
        let now = took.max(before - before.saturating_sub(took).div_ceil(FALLS_BY));
        if now != before {
            let now = usize::try_from(now).unwrap_or(usize::MAX);
            mem.store(word, now, Ordering::Relaxed);
        }
    }

    fn of(&self, cost: Cost) -> (&W, u64) {
        match cost {
            Cost::Stated(units) => (&self.stated, units),
            Cost::Slots(units) => (&self.slots, units),
        }
    }
}

/// How many workers a job is worth whose stages with `slots` slots start now; at least one, and no more than it can use.
pub(crate) fn of_stages<E: PipelinePorts>(env: &E, state: &StateOf<E>, slots: usize) -> usize {
    let experience = &env.shared().experience;
    let work_ns = match state.cost_kind() {
        Cost::Slots(_) => experience.work_ns(env, Cost::Slots(slots as u64)),
        // What was stated is for the whole job. When all of that is behind it, nobody knows what is left.
        stated @ Cost::Stated(_) => (experience.work_ns(env, stated))
            .and_then(|work_ns| work_ns.checked_sub(state.claims.worked_ns(env)))
            .filter(|&left_ns| left_ns > 0),
    };
    let usable = state.usable(slots);
    match work_ns {
        _ if mutant::m71_one_worker_invited() => 1,
        None => usable,
        Some(work_ns) => usable.min(workers(work_ns)),
    }
}

/// How many workers `work_ns` of work is worth; at least one.
pub(crate) fn workers(work_ns: u64) -> usize {
    usize::try_from(work_ns.div_ceil(WORTH_NS))
        .unwrap_or(usize::MAX)
        .max(1)
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};

    use super::*;

    #[test]
    fn a_job_is_worth_a_worker_for_each_half_millisecond() {
        for (work_ns, expected) in [(0, 1), (1, 1), (500_000, 1), (500_001, 2), (2_000_000, 4)] {
            assert_eq!(workers(work_ns), expected, "{work_ns} ns");
        }
        assert_eq!(workers(u64::MAX), (u64::MAX / WORTH_NS) as usize + 1);
    }

    #[test]
    fn what_a_unit_took_rises_at_once_and_falls_slowly_and_kinds_of_cost_are_apart() {
        let experience = Experience::new(NativeWord::new);
        let estimate = |cost| experience.work_ns(&Native, cost);
        assert_eq!(estimate(Cost::Stated(5)), None);
        experience.learn(&Native, Cost::Stated(1_000), 500);
        assert_eq!(
            estimate(Cost::Stated(10_000)),
            Some(5_000),
            "half a nanosecond a unit"
        );
        assert_eq!(estimate(Cost::Slots(10_000)), None);
        experience.learn(&Native, Cost::Stated(1_000), 80_000);
        assert_eq!(estimate(Cost::Stated(10)), Some(800));
        experience.learn(&Native, Cost::Stated(1_000), 0);
        assert_eq!(
            estimate(Cost::Stated(10)),
            Some(800),
            "nothing ran, so nothing is learnt"
        );
        experience.learn(&Native, Cost::Stated(1_000), 8_000);
        let after_one = estimate(Cost::Stated(10)).unwrap();
        assert!((700..750).contains(&after_one), "{after_one}");
        for _ in 0..100 {
            experience.learn(&Native, Cost::Stated(1_000), 8_000);
        }
        assert_eq!(estimate(Cost::Stated(10)), Some(80));
        assert_eq!(estimate(Cost::Stated(u64::MAX)), Some(u64::MAX));
    }
}
