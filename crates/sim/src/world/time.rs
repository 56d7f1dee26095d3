//! Virtual time: the clock of each actor, what moves it, and the positions on paths.

use super::World;
use crate::actor::Actor;
use crate::clock::{Costs, PS};
use crate::lines::Fetched;
use crate::profile::Reached;
use crate::trace::{Object, Op};

impl World {
    pub(crate) fn makespan_ns(&self) -> u64 {
        let workers = self.actors.iter().filter(|actor| actor.kind.is_worker());
        workers.map(Actor::clock_ns).max().unwrap_or(0)
    }

    pub(crate) fn clock_ns(&self, actor: usize) -> u64 {
        self.actors[actor].clock_ns()
    }

    pub(crate) fn set_time(&mut self, costs: Costs, begin_ns: u64) {
        self.costs = costs;
        self.begin_ns = begin_ns;
    }

    pub(crate) fn spend(&mut self, actor: usize, cost_ps: u64) {
        if self.timeless {
            return;
        }
        let clock = &mut self.actors[actor].clock_ps;
        *clock = clock.saturating_add(cost_ps);
    }

    pub(crate) fn work(&mut self, actor: usize, cost_ns: u64) {
        let cost_ps = cost_ns.saturating_mul(PS);
        self.profiler.works(actor, cost_ps);
        self.spend(actor, cost_ps);
    }

    pub(crate) fn slot_began(&mut self, actor: usize, began: Reached) {
        let began = began.burdened(self.costs.burden_ps());
        self.profiler.begins_at(actor, began);
        self.spend(actor, self.costs.slot_ps);
    }

    pub(crate) fn slot_ended(&mut self, actor: usize) -> Reached {
        self.profiler.slot_ended(actor, self.actors[actor].clock_ps);
        self.path(actor)
    }

    pub(crate) fn path(&self, actor: usize) -> Reached {
        self.profiler.reached(actor, self.actors[actor].clock_ps)
    }

    pub(crate) fn comes_after(&mut self, actor: usize, reached: Reached) {
        let at_ps = self.profiler.comes_after(actor, reached);
        self.not_before(actor, at_ps);
    }

    pub(crate) fn answered(&mut self, actor: usize) {
        self.profiler.answered(self.actors[actor].clock_ps);
    }

    /// What happened at `at_ps` comes before what `actor` does next.
    pub(crate) fn not_before(&mut self, actor: usize, at_ps: u64) {
        if self.timeless {
            return;
        }
        let clock = &mut self.actors[actor].clock_ps;
        *clock = (*clock).max(at_ps);
    }

    pub(crate) fn cost_ps(&mut self, actor: usize, op: Op, object: Object, value: u64) -> u64 {
        let now_ps = self.actors[actor].clock_ps;
        let Fetched { comes, wait_ps } =
            (self.lines).touch(actor, op, object, now_ps, self.costs.line_write_ps);
        wait_ps.saturating_add(self.costs.of(op, value, comes))
    }

    pub(crate) fn spin_before_park(&mut self, actor: usize, spins: u32) {
        let instants_ps = u64::from(spins).saturating_mul(self.costs.spin_ps);
        let actor = &mut self.actors[actor];
        actor.dozes_until_ps = actor.clock_ps.saturating_add(instants_ps);
    }

    pub(crate) fn take_wake_delay(&mut self, actor: usize) -> u64 {
        std::mem::take(&mut self.actors[actor].wake_delay_ps) / PS
    }
}
