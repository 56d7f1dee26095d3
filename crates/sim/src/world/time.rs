//! Time, as the world keeps it: the clock of each party, what moves it on, and how far along its path what runs on it is.

use super::World;
use crate::clock::{Costs, PS};
use crate::lines::Fetched;
use crate::party::Party;
use crate::profile::Reached;
use crate::trace::{Object, Op};

impl World {
    /// The latest of all workers' clocks.
    pub(crate) fn makespan_ns(&self) -> u64 {
        let workers = self.parties.iter().filter(|party| party.side.is_worker());
        workers.map(Party::clock_ns).max().unwrap_or(0)
    }

    pub(crate) fn clock_ns(&self, party: usize) -> u64 {
        self.parties[party].clock_ns()
    }

    /// What operations cost from now on, and when producers that join from now on begin.
    pub(crate) fn set_time(&mut self, costs: Costs, begin_ns: u64) {
        self.costs = costs;
        self.begin_ns = begin_ns;
    }

    /// It takes `party` a while.
    pub(crate) fn spend(&mut self, party: usize, cost_ps: u64) {
        if self.timeless {
            return;
        }
        let clock = &mut self.parties[party].clock_ps;
        *clock = clock.saturating_add(cost_ps);
    }

    /// The task that runs on `party` takes a while.
    pub(crate) fn work(&mut self, party: usize, cost_ns: u64) {
        let cost_ps = cost_ns.saturating_mul(PS);
        self.profiler.works(party, cost_ps);
        self.spend(party, cost_ps);
    }

    /// A slot of a job begins on `party`, which came after `began`.
    pub(crate) fn slot_began(&mut self, party: usize, began: Reached) {
        let began = began.burdened(self.costs.burden_ps());
        self.profiler.begins_at(party, began);
        self.spend(party, self.costs.slot_ps);
    }

    /// A slot of a job has ended on `party`. Gives how far it came.
    pub(crate) fn slot_ended(&mut self, party: usize) -> Reached {
        self.profiler.slot_ended(party, self.parties[party].clock_ps);
        self.path(party)
    }

    /// How far along its path `party` is, and when.
    pub(crate) fn path(&self, party: usize) -> Reached {
        self.profiler.reached(party, self.parties[party].clock_ps)
    }

    /// What `party` does from now on also comes after `reached`.
    pub(crate) fn comes_after(&mut self, party: usize, reached: Reached) {
        let at_ps = self.profiler.comes_after(party, reached);
        self.not_before(party, at_ps);
    }

    /// `party`, which is outside, knows that all is over.
    pub(crate) fn answered(&mut self, party: usize) {
        self.profiler.answered(self.parties[party].clock_ps);
    }

    /// Something that happened at `at_ps` comes before what `party` does next.
    pub(crate) fn not_before(&mut self, party: usize, at_ps: u64) {
        if self.timeless {
            return;
        }
        let clock = &mut self.parties[party].clock_ps;
        *clock = (*clock).max(at_ps);
    }

    /// What an operation of `party` takes that it does now.
    pub(crate) fn cost_ps(&mut self, party: usize, op: Op, object: Object, value: u64) -> u64 {
        let now_ps = self.parties[party].clock_ps;
        let Fetched { comes, wait_ps } =
            (self.lines).touch(party, op, object, now_ps, self.costs.line_write_ps);
        wait_ps.saturating_add(self.costs.of(op, value, comes))
    }

    /// If `party` parks next, it stays on its core for so many instants.
    pub(crate) fn doze(&mut self, party: usize, instants: u32) {
        let instants_ps = u64::from(instants).saturating_mul(self.costs.spin_ps);
        let party = &mut self.parties[party];
        party.dozes_until_ps = party.clock_ps.saturating_add(instants_ps);
    }

    /// How long `party` took to run after it was last unparked, in nanoseconds; each time is told once.
    pub(crate) fn take_wake_delay(&mut self, party: usize) -> u64 {
        std::mem::take(&mut self.parties[party].wake_delay_ps) / PS
    }
}
