//! Where faults strike that are nobody's own: who is held up, and for how long, what is late, and whose clock jumps.

use super::World;
use crate::clock::PS;
use crate::fault::Fault;
use crate::mark::Mark;
use crate::party::{Side, State};

/// Magnitudes of how long somebody is held up, in micro-steps: below two to the power of this.
const STEP_MAGNITUDES: usize = 13;

/// The same for clocks, in microseconds: up to a second.
const CLOCK_MAGNITUDES: usize = 21;

/// The longest storm, in looks. More than a worker repeats before it lets others have the core.
const STORM_MAX: usize = 400;

/// So many contended looks of one worker in a row, and it no longer only spins.
const SPINNING_ATTEMPTS: u32 = 100;

/// A storm of contended looks.
#[derive(Debug, Default)]
pub(super) struct Storm {
    /// So many looks more are contended.
    left: u32,
    /// Who looked last, and how often in a row it found that.
    by: usize,
    in_a_row: u32,
}

/// A producer may be refused because the count is near its maximum, and not only because the gate is closed.
#[derive(Debug, Default)]
pub(super) struct Weight {
    /// It is up there now.
    on: bool,
    /// When it was last.
    until: u64,
}

impl Weight {
    pub(super) fn is_on(&self) -> bool {
        self.on
    }
}

impl World {
    /// Whether a fault of this kind strikes now.
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
        self.knows_of_fault(fault, strikes);
        strikes
    }

    /// A number of micro-steps: few or many, each order of magnitude equally likely. In a search nobody pauses, since every
    /// schedule is run anyway.
    pub(crate) fn some_steps(&mut self) -> u64 {
        if self.timeless {
            return 0;
        }
        let magnitude = self.schedule.below(STEP_MAGNITUDES);
        self.schedule.below(1 << magnitude) as u64
    }

    /// The one who went last is held up before its next operation, if it has one.
    pub(super) fn maybe_stall(&mut self) {
        let last = self
            .last
            .filter(|&last| self.parties[last].state == State::Runnable);
        if let Some(last) = last
            && self.strikes(Fault::Stall)
        {
            let steps = 1 + self.some_steps();
            self.delay(last, steps);
        }
    }

    /// Whether a look into a queue comes back contended though nobody was quicker.
    #[inline]
    pub(crate) fn is_contended(&mut self, party: usize) -> bool {
        if self.storm.left == 0 && !self.strikes(Fault::RetryStorm) {
            return self.strikes(Fault::Retry);
        }
        self.storm(party);
        true
    }

    #[cold]
    fn storm(&mut self, party: usize) {
        if self.storm.left == 0 {
            self.storm.left = 1 + self.schedule.below(STORM_MAX) as u32;
            self.storm.in_a_row = 0;
        }
        self.storm.left -= 1;
        if std::mem::replace(&mut self.storm.by, party) != party {
            self.storm.in_a_row = 0;
        }
        self.storm.in_a_row += 1;
        if self.storm.in_a_row == SPINNING_ATTEMPTS + 2 {
            self.marks.hit(Mark::StormOutlastsSpinning);
        }
    }

    /// `party` reads its clock, which may have jumped.
    #[inline]
    pub(crate) fn read_time(&mut self, party: usize) -> u64 {
        if self.strikes(Fault::ClockJump) {
            let magnitude = self.schedule.below(CLOCK_MAGNITUDES);
            self.spend(party, (1_000 << magnitude) * PS);
        }
        self.clock_ns(party)
    }

    /// When a park's timeout that is over at `deadline_ns` is noticed.
    pub(super) fn late_timer(&mut self, deadline_ns: u64) -> u64 {
        if !self.strikes(Fault::LateTimer) {
            return deadline_ns;
        }
        let magnitude = self.schedule.below(CLOCK_MAGNITUDES);
        deadline_ns.saturating_add(1_000 << magnitude)
    }

    /// A tie: `party` goes on at the latest time that anybody's clock shows, if that is not past already.
    pub(crate) fn maybe_tie(&mut self, party: usize) {
        if self.strikes(Fault::Tie) {
            let latest = self.parties.iter().map(|party| party.clock_ps).max();
            self.not_before(party, latest.unwrap_or(0));
        }
    }

    /// `worker` has not begun yet. Perhaps it begins late.
    pub(crate) fn maybe_start_late(&mut self, worker: usize) {
        if self.strikes(Fault::LateStart) {
            let steps = 1 + self.some_steps();
            self.delay(worker, steps);
        }
    }

    /// Somebody outside has brought the count near its maximum, or back down.
    pub(crate) fn weighed(&mut self, on: bool) {
        if on {
            self.faults.spend(Fault::Overflow);
        }
        self.weight = Weight {
            on,
            until: self.steps,
        };
    }

    /// Whether producers could not have brought the count to `count`.
    pub(crate) fn is_beyond_max(&self, count: usize) -> bool {
        (self.scheduler.as_ref()).is_some_and(|scheduler| count > scheduler.state().count_max())
    }

    /// Whether `party` is one that cancels jobs.
    pub(crate) fn is_canceller(&self, party: usize) -> bool {
        matches!(self.parties[party].side, Side::Canceller(_))
    }

    /// The gate is closed by `party` over tasks in flight.
    pub(crate) fn closed_over_work(&mut self, party: usize) {
        self.marks.hit(Mark::ClosedOverWork);
        if self.anybody_between_accept_and_push(party) {
            self.marks.hit(Mark::ClosedOverAccepted);
        }
        if self.oracles.reach.is_anybody_sleepy() {
            self.marks.hit(Mark::ClosedOverSleepy);
        }
    }

    /// Whether the count has been near its maximum at some time since micro-step `since`.
    pub(crate) fn was_weighed_since(&self, since: u64) -> bool {
        self.weight.on || self.weight.until >= since && self.weight.until > 0
    }
}
