//! Waiting and waking: parks, signals, tickets, delays, and conditions of tasks.

use super::World;
use crate::actor::{Actor, State};
use crate::clock::PS;
use crate::coverage::CoveragePoint;
use crate::fault::Fault;
use crate::fingerprint::Resource;

impl World {
    /// Returns `false` if `actor` was unparked before, or wakes spuriously.
    pub(crate) fn park(&mut self, actor: usize, timeout_ns: Option<u64>) -> bool {
        let worker = self.actors[actor].kind.worker();
        if let Some(worker) = worker {
            let verdict = self.oracles.count.parked(actor, worker);
            self.judge(verdict);
            let verdict = self.oracles.sleep.keeps_nothing(worker, "parks");
            self.judge(verdict);
            let verdict = self.oracles.reach.parks(worker);
            self.judge(verdict);
            let verdict = self.oracles.protocol.parks(worker);
            self.judge(verdict);
        }
        if std::mem::take(&mut self.actors[actor].token) {
            self.coverage.hit(CoveragePoint::UnparkedBeforeParking);
            return false;
        }
        if self.strikes(Fault::SpuriousWake) {
            self.coverage.hit(CoveragePoint::SpuriousWake);
            return false;
        }
        let deadline_ns = timeout_ns.map(|timeout| {
            let deadline_ns = self.clock_ns(actor).saturating_add(timeout);
            self.late_timer(deadline_ns)
        });
        if let Some(deadline_ns) = deadline_ns {
            self.timers.insert((deadline_ns, actor));
        }
        self.block(actor, State::Parked { deadline_ns });
        self.oracles.sleep.parked += 1;
        self.check_quiet();
        true
    }

    pub(crate) fn awake(&mut self, actor: usize, had_timeout: bool) {
        if had_timeout && self.actors[actor].kind.is_worker() {
            self.oracles.reach.timed_out(actor);
        }
    }

    pub(crate) fn unpark(&mut self, by: usize, worker: usize) {
        let verdict = self.oracles.economy.unparked(by, self.is_done());
        self.judge(verdict);
        let from_ps = self.actors[by].clock_ps;
        let Actor {
            state,
            dozes_until_ps,
            ..
        } = self.actors[worker];
        let (cost_ps, until_ps) = match state {
            State::Parked { .. } if from_ps >= dozes_until_ps => (self.costs.unpark_ps, self.costs.wake_ps),
            _ => (self.costs.unpark_awake_ps, self.costs.doze_wake_ps),
        };
        self.spend(by, cost_ps);
        match state {
            State::Parked { .. } => {
                self.unpark_at(worker, from_ps.saturating_add(until_ps));
                let delay_ps = self.actors[worker].clock_ps.saturating_sub(from_ps);
                self.actors[worker].wake_delay_ps = delay_ps;
                if self.strikes(Fault::LateWake) {
                    let until = self.steps + 1 + self.some_steps();
                    self.delays.insert((until, worker));
                    self.block(worker, State::Waking { until });
                }
            }
            State::Waking { .. } => {}
            _ => {
                if self.actors[worker].token {
                    self.coverage.hit(CoveragePoint::UnparkedTwice);
                }
                self.actors[worker].token = true;
            }
        }
    }

    /// Returns `false` if the spare thread continues at once. Without time only a wake ends the
    /// sleep.
    pub(crate) fn rest(&mut self, actor: usize, until_ns: Option<u64>) -> bool {
        if std::mem::take(&mut self.actors[actor].token) {
            self.coverage.hit(CoveragePoint::UnparkedBeforeParking);
            return false;
        }
        if until_ns.is_some_and(|until_ns| until_ns <= self.clock_ns(actor)) {
            return false;
        }
        if self.strikes(Fault::SpuriousWake) {
            self.coverage.hit(CoveragePoint::SpuriousWake);
            return false;
        }
        let deadline_ns = match until_ns {
            Some(until_ns) if !self.timeless => Some(self.late_timer(until_ns)),
            _ => None,
        };
        if let Some(deadline_ns) = deadline_ns {
            self.timers.insert((deadline_ns, actor));
        }
        self.block(actor, State::Resting { deadline_ns });
        true
    }

    pub(crate) fn wake_spare(&mut self, by: usize, actor: usize) {
        let from_ps = self.actors[by].clock_ps;
        self.spend(by, self.costs.unpark_ps);
        match self.actors[actor].state {
            State::Resting { .. } => {
                self.unpark_at(actor, from_ps.saturating_add(self.costs.wake_ps));
                if self.strikes(Fault::LateWake) {
                    let until = self.steps + 1 + self.some_steps();
                    self.delays.insert((until, actor));
                    self.block(actor, State::Waking { until });
                }
            }
            State::Waking { .. } => {}
            _ => self.actors[actor].token = true,
        }
    }

    /// Returns `false` if more than `ticket` signals have come.
    pub(crate) fn wait_past(&mut self, actor: usize, ticket: u64) -> bool {
        if self.signals > ticket {
            self.coverage.hit(CoveragePoint::SignalledBeforeWaiting);
            return false;
        }
        self.block(actor, State::Waiting { ticket });
        true
    }

    pub(crate) fn signals(&self) -> u64 {
        self.signals
    }

    pub(crate) fn signal(&mut self, by: usize) {
        self.signals += 1;
        let from_ps = self.actors[by].clock_ps;
        let sleeps = |actor: &Actor| matches!(actor.state, State::Waiting { .. });
        let (cost_ps, until_ps) = if self.actors.iter().any(sleeps) {
            (self.costs.unpark_ps, self.costs.wake_ps)
        } else {
            (self.costs.lock_ps, 0)
        };
        self.spend(by, cost_ps);
        for actor in 0..self.actors.len() {
            if let State::Waiting { ticket } = self.actors[actor].state
                && self.signals > ticket
            {
                self.not_before(actor, from_ps.saturating_add(until_ps));
                self.unblock(actor);
            }
        }
    }

    pub(crate) fn delay(&mut self, actor: usize, steps: u64) {
        let until = self.steps + steps;
        self.delays.insert((until, actor));
        self.block(actor, State::Delayed { until });
    }

    pub(crate) fn wait_for_producers(&mut self, actor: usize) -> bool {
        self.note(|fingerprints| fingerprints.meets(Resource::Producers, false));
        if self.producers_left == 0 {
            return false;
        }
        self.block(actor, State::Joining);
        true
    }

    pub(crate) fn wait_for_ticket(&mut self, actor: usize) {
        self.block(actor, State::Ticket);
    }

    pub(crate) fn ticket_fired(&mut self, by: usize, actor: usize) {
        let from_ps = self.actors[by].clock_ps;
        self.spend(by, self.costs.unpark_ps);
        self.not_before(actor, from_ps.saturating_add(self.costs.wake_ps));
        self.unblock(actor);
    }

    /// `actor` checks the condition `what` again when a task has acted.
    pub(crate) fn await_change(&mut self, actor: usize, what: &'static str) {
        self.block(actor, State::Awaiting { what });
        self.awaiting += 1;
    }

    pub(crate) fn task_acted(&mut self, by: usize) {
        if self.awaiting == 0 {
            return;
        }
        for actor in 0..self.actors.len() {
            if let State::Awaiting { .. } = self.actors[actor].state {
                self.not_before(actor, self.actors[by].clock_ps);
                self.unblock(actor);
            }
        }
        self.awaiting = 0;
    }

    pub(super) fn unpark_at(&mut self, actor: usize, at_ps: u64) {
        if let State::Parked {
            deadline_ns: Some(deadline),
        }
        | State::Resting {
            deadline_ns: Some(deadline),
        } = self.actors[actor].state
        {
            self.timers.remove(&(deadline, actor));
        }
        self.not_before(actor, at_ps);
        if let State::Parked { .. } = self.actors[actor].state {
            self.oracles.sleep.parked -= 1;
        }
        self.unblock(actor);
    }

    pub(super) fn ring(&mut self) {
        while let Some(&(until, actor)) = self.delays.first()
            && until <= self.steps
        {
            self.delays.pop_first();
            self.unblock(actor);
        }
        // A timeout is over for all once the last actor has passed it.
        if let Some(last) = self.last {
            let now = self.actors[last].clock_ns();
            while let Some(&(deadline, actor)) = self.timers.first()
                && deadline <= now
            {
                self.coverage.hit(CoveragePoint::TimedOut);
                self.unpark_at(actor, deadline.saturating_mul(PS));
            }
        }
    }

    /// No actor can go: time passes until one can.
    pub(super) fn wake_a_late_one(&mut self) -> bool {
        if let Some((_, actor)) = self.delays.pop_first() {
            self.unblock(actor);
            true
        } else if let Some(&(deadline, actor)) = self.timers.first() {
            self.coverage.hit(CoveragePoint::TimedOut);
            self.unpark_at(actor, deadline.saturating_mul(PS));
            true
        } else {
            false
        }
    }

    pub(super) fn block(&mut self, actor: usize, state: State) {
        debug_assert_eq!(self.actors[actor].state, State::Runnable);
        self.actors[actor].state = state;
        self.arrived.retain(|&other| other != actor);
        let place = self.place[actor];
        self.runnable.swap_remove(place);
        if let Some(&moved) = self.runnable.get(place) {
            self.place[moved] = place;
        }
    }

    pub(super) fn unblock(&mut self, actor: usize) {
        debug_assert_ne!(self.actors[actor].state, State::Runnable);
        self.actors[actor].state = State::Runnable;
        self.arrived.push(actor);
        self.place[actor] = self.runnable.len();
        self.runnable.push(actor);
    }
}
