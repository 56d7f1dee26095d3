//! How many workers a job is worth, so that a short job does not wake all of them.
//!
//! A job is worth one worker for each [`WORTH_NS`] of work, up to its slots and its limit. Its work
//! is estimated from the time of a unit of cost in earlier jobs; without experience it gets all the
//! workers that it can use. The estimate rises at once and falls slowly, because too few wakes cost
//! more than too many. No result depends on it.

use std::sync::atomic::Ordering;

use executor_core::ports::Memory;

use crate::policy::job::spec::Cost;
use crate::policy::job::state::JobState;

/// Nanoseconds of work for a worker. A query of 0.43 ms on one worker takes 0.26 on two; an eighth of
/// a millisecond for each brought no more.
pub const WORTH_NS: u64 = 250_000;

/// Bits after the binary point of an estimate: a unit may take less than a nanosecond.
const FRACTION_BITS: u32 = 10;

const FALLS_BY: u64 = 8;

#[derive(Debug)]
pub(crate) struct Experience<W> {
    stated: W,
    slots: W,
}

impl<W> Experience<W> {
    pub(crate) fn new(mut word: impl FnMut(usize) -> W) -> Self {
        Self {
            stated: word(0),
            slots: word(0),
        }
    }

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

    pub(crate) fn learn<M: Memory<Word = W>>(&self, mem: &M, cost: Cost, worked_ns: u64) {
        let (word, units) = self.of(cost);
        if units == 0 || worked_ns == 0 {
            return;
        }
        let took = (u128::from(worked_ns) << FRACTION_BITS) / u128::from(units);
        let took = u64::try_from(took).unwrap_or(u64::MAX).max(1);
        // Ordering: Relaxed, both. An estimate; of two concurrent updates one may be lost.
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

pub(crate) fn of_stages<M: Memory, P>(
    experience: &Experience<M::Word>,
    mem: &M,
    state: &JobState<M::Word, P>,
    slots: usize,
) -> usize {
    let work_ns = match state.cost_kind() {
        Cost::Slots(_) => experience.work_ns(mem, Cost::Slots(slots as u64)),
        // The stated cost is that of the whole job. Once it is spent, the rest is unknown.
        stated @ Cost::Stated(_) => (experience.work_ns(mem, stated))
            .and_then(|work_ns| work_ns.checked_sub(state.claims.worked_ns(mem)))
            .filter(|&left_ns| left_ns > 0),
    };
    let usable = state.usable(slots);
    match work_ns {
        None => usable,
        Some(work_ns) => usable.min(workers(work_ns)),
    }
}

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
    fn a_job_is_worth_a_worker_for_each_quarter_of_a_millisecond() {
        for (work_ns, expected) in [(0, 1), (1, 1), (250_000, 1), (250_001, 2), (2_000_000, 8)] {
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
