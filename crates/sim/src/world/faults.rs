//! Faults of time and contention: stalls, late wakes and timers, clock jumps, bursts.

use super::World;
use crate::actor::{ActorKind, State};
use crate::clock::PS;
use crate::coverage::CoveragePoint;
use crate::fault::Fault;

/// Orders of magnitude of a stall in steps: below two to the power of this.
const STEP_MAGNITUDES: usize = 13;

/// The same for clock jumps in microseconds: up to a second.
const CLOCK_MAGNITUDES: usize = 21;

/// More looks than a worker repeats before it yields.
const BURST_MAX: usize = 400;

/// Contended looks of a worker in a row after which it no longer only spins.
const SPINNING_ATTEMPTS: u32 = 100;

#[derive(Debug, Default)]
pub(super) struct Burst {
    left: u32,
    /// The last actor, and its contended looks in a row.
    by: usize,
    in_a_row: u32,
}

/// Whether the count is near its maximum, so that an open gate may refuse a producer.
#[derive(Debug, Default)]
pub(super) struct Weight {
    on: bool,
    until: u64,
}

impl Weight {
    pub(super) fn is_on(&self) -> bool {
        self.on
    }
}

impl World {
    #[inline]
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        self.faults.left(fault) > 0 && self.strikes_by_chance(fault)
    }

    #[cold]
    fn strikes_by_chance(&mut self, fault: Fault) -> bool {
        let strikes = self.schedule.happens(fault.rarity());
        if strikes {
            self.faults.spend(fault);
        }
        self.note_fault(fault, strikes);
        strikes
    }

    /// Each order of magnitude is equally likely; 0 in a search.
    pub(crate) fn some_steps(&mut self) -> u64 {
        if self.timeless {
            return 0;
        }
        let magnitude = self.schedule.below(STEP_MAGNITUDES);
        self.schedule.below(1 << magnitude) as u64
    }

    pub(super) fn maybe_stall(&mut self) {
        let last = self
            .last
            .filter(|&last| self.actors[last].state == State::Runnable);
        if let Some(last) = last
            && self.strikes(Fault::Stall)
        {
            let steps = 1 + self.some_steps();
            self.delay(last, steps);
        }
    }

    #[inline]
    pub(crate) fn is_contended(&mut self, actor: usize) -> bool {
        if self.burst.left == 0 && !self.strikes(Fault::RetryBurst) {
            return self.strikes(Fault::Retry);
        }
        self.burst(actor);
        true
    }

    #[cold]
    fn burst(&mut self, actor: usize) {
        if self.burst.left == 0 {
            self.burst.left = 1 + self.schedule.below(BURST_MAX) as u32;
            self.burst.in_a_row = 0;
        }
        self.burst.left -= 1;
        if std::mem::replace(&mut self.burst.by, actor) != actor {
            self.burst.in_a_row = 0;
        }
        self.burst.in_a_row += 1;
        if self.burst.in_a_row == SPINNING_ATTEMPTS + 2 {
            self.coverage.hit(CoveragePoint::BurstOutlastsSpinning);
        }
    }

    #[inline]
    pub(crate) fn read_time(&mut self, actor: usize) -> u64 {
        if self.strikes(Fault::ClockJump) {
            let magnitude = self.schedule.below(CLOCK_MAGNITUDES);
            self.spend(actor, (1_000 << magnitude) * PS);
        }
        self.clock_ns(actor)
    }

    pub(super) fn late_timer(&mut self, deadline_ns: u64) -> u64 {
        if !self.strikes(Fault::LateTimer) {
            return deadline_ns;
        }
        let magnitude = self.schedule.below(CLOCK_MAGNITUDES);
        deadline_ns.saturating_add(1_000 << magnitude)
    }

    /// On a tie `actor` continues at the latest time on any clock.
    pub(crate) fn maybe_tie(&mut self, actor: usize) {
        if self.strikes(Fault::Tie) {
            let latest = self.actors.iter().map(|actor| actor.clock_ps).max();
            self.not_before(actor, latest.unwrap_or(0));
        }
    }

    pub(crate) fn maybe_start_late(&mut self, worker: usize) {
        if self.strikes(Fault::LateStart) {
            let steps = 1 + self.some_steps();
            self.delay(worker, steps);
        }
    }

    pub(crate) fn weighed(&mut self, on: bool) {
        if on {
            self.faults.spend(Fault::Overflow);
        }
        self.weight = Weight {
            on,
            until: self.steps,
        };
    }

    pub(crate) fn is_beyond_max(&self, count: usize) -> bool {
        (self.scheduler.as_ref()).is_some_and(|scheduler| count > scheduler.state().count_max())
    }

    pub(crate) fn is_canceller(&self, actor: usize) -> bool {
        matches!(self.actors[actor].kind, ActorKind::Canceller(_))
    }

    pub(crate) fn closed_over_work(&mut self, actor: usize) {
        self.coverage.hit(CoveragePoint::ClosedOverWork);
        if self.is_any_between_accept_and_push(actor) {
            self.coverage.hit(CoveragePoint::ClosedOverAccepted);
        }
        if self.oracles.reach.is_any_sleepy() {
            self.coverage.hit(CoveragePoint::ClosedOverSleepy);
        }
    }

    pub(crate) fn was_weighed_since(&self, since: u64) -> bool {
        self.weight.on || self.weight.until >= since && self.weight.until > 0
    }
}
