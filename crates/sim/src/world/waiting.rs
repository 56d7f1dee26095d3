//! Who waits, for what, and who lets them go: parks and unparks, signals, tickets, delays, and what tasks wait for.

use super::World;
use crate::clock::PS;
use crate::fault::Fault;
use crate::history::Thing;
use crate::mark::Mark;
use crate::party::{Party, State};

impl World {
    /// `party` parks. `false` if it goes on at once: somebody had unparked it before, or for no reason.
    pub(crate) fn park(&mut self, party: usize, timeout_ns: Option<u64>) -> bool {
        let worker = self.parties[party].side.worker();
        if let Some(worker) = worker {
            let verdict = self.oracles.count.parked(party, worker);
            self.judge(verdict);
            let verdict = self.oracles.sleep.keeps_nothing(worker, "parks");
            self.judge(verdict);
            let verdict = self.oracles.reach.parks(worker);
            self.judge(verdict);
            let verdict = self.oracles.protocol.parks(worker);
            self.judge(verdict);
        }
        if std::mem::take(&mut self.parties[party].token) {
            self.marks.hit(Mark::UnparkedBeforeParking);
            return false;
        }
        if self.strikes(Fault::SpuriousWake) {
            self.marks.hit(Mark::SpuriousWake);
            return false;
        }
        let deadline_ns = timeout_ns.map(|timeout| {
            let deadline_ns = self.clock_ns(party).saturating_add(timeout);
            self.late_timer(deadline_ns)
        });
        if let Some(deadline_ns) = deadline_ns {
            self.timers.insert((deadline_ns, party));
        }
        self.block(party, State::Parked { deadline_ns });
        self.oracles.sleep.parked += 1;
        self.check_quiet();
        true
    }

    /// The park of `party` is over; it may have been by its timeout.
    pub(crate) fn awake(&mut self, party: usize, had_timeout: bool) {
        if had_timeout && self.parties[party].side.is_worker() {
            self.oracles.reach.timed_out(party);
        }
    }

    /// `by` unparks the worker `worker`, whose party has the same number.
    pub(crate) fn unpark(&mut self, by: usize, worker: usize) {
        let verdict = self.oracles.economy.unparked(by, self.is_done());
        self.judge(verdict);
        let from_ps = self.parties[by].clock_ps;
        let Party {
            state,
            dozes_until_ps,
            ..
        } = self.parties[worker];
        let (cost_ps, until_ps) = match state {
            State::Parked { .. } if from_ps >= dozes_until_ps => (self.costs.unpark_ps, self.costs.wake_ps),
            _ => (self.costs.unpark_awake_ps, self.costs.doze_wake_ps),
        };
        self.spend(by, cost_ps);
        match state {
            State::Parked { .. } => {
                self.unpark_at(worker, from_ps.saturating_add(until_ps));
                let delay_ps = self.parties[worker].clock_ps.saturating_sub(from_ps);
                self.parties[worker].wake_delay_ps = delay_ps;
                if self.strikes(Fault::LateWake) {
                    let until = self.steps + 1 + self.some_steps();
                    self.delays.insert((until, worker));
                    self.block(worker, State::Waking { until });
                }
            }
            // It takes both at once.
            State::Waking { .. } => {}
            _ => {
                if self.parties[worker].token {
                    self.marks.hit(Mark::UnparkedTwice);
                }
                self.parties[worker].token = true;
            }
        }
    }

    /// `party`, a spare thread, sleeps until it is woken, or until `until_ns`. `false` if it goes on at once. Where time stands still it is
    /// woken by others alone.
    pub(crate) fn rest(&mut self, party: usize, until_ns: Option<u64>) -> bool {
        if std::mem::take(&mut self.parties[party].token) {
            self.marks.hit(Mark::UnparkedBeforeParking);
            return false;
        }
        if until_ns.is_some_and(|until_ns| until_ns <= self.clock_ns(party)) {
            return false;
        }
        if self.strikes(Fault::SpuriousWake) {
            self.marks.hit(Mark::SpuriousWake);
            return false;
        }
        let deadline_ns = match until_ns {
            Some(until_ns) if !self.timeless => Some(self.late_timer(until_ns)),
            _ => None,
        };
        if let Some(deadline_ns) = deadline_ns {
            self.timers.insert((deadline_ns, party));
        }
        self.block(party, State::Resting { deadline_ns });
        true
    }

    /// `by` wakes `party`, a spare thread.
    pub(crate) fn wake_spare(&mut self, by: usize, party: usize) {
        let from_ps = self.parties[by].clock_ps;
        self.spend(by, self.costs.unpark_ps);
        match self.parties[party].state {
            State::Resting { .. } => {
                self.unpark_at(party, from_ps.saturating_add(self.costs.wake_ps));
                if self.strikes(Fault::LateWake) {
                    let until = self.steps + 1 + self.some_steps();
                    self.delays.insert((until, party));
                    self.block(party, State::Waking { until });
                }
            }
            State::Waking { .. } => {}
            _ => self.parties[party].token = true,
        }
    }

    /// `party` waits until there have been more than `ticket` signals. `false` if there have been.
    pub(crate) fn wait_past(&mut self, party: usize, ticket: u64) -> bool {
        if self.signals > ticket {
            self.marks.hit(Mark::SignalledBeforeWaiting);
            return false;
        }
        self.block(party, State::Waiting { ticket });
        true
    }

    pub(crate) fn signals(&self) -> u64 {
        self.signals
    }

    /// Lets all waiting parties look again.
    pub(crate) fn signal(&mut self, by: usize) {
        self.signals += 1;
        let from_ps = self.parties[by].clock_ps;
        let sleeps = |party: &Party| matches!(party.state, State::Waiting { .. });
        let (cost_ps, until_ps) = if self.parties.iter().any(sleeps) {
            (self.costs.unpark_ps, self.costs.wake_ps)
        } else {
            (self.costs.lock_ps, 0)
        };
        self.spend(by, cost_ps);
        for party in 0..self.parties.len() {
            if let State::Waiting { ticket } = self.parties[party].state
                && self.signals > ticket
            {
                self.not_before(party, from_ps.saturating_add(until_ps));
                self.unblock(party);
            }
        }
    }

    /// `party` pauses for a number of micro-steps of others.
    pub(crate) fn delay(&mut self, party: usize, steps: u64) {
        let until = self.steps + steps;
        self.delays.insert((until, party));
        self.block(party, State::Delayed { until });
    }

    /// `party` waits until all producers have finished. `false` if they have.
    pub(crate) fn wait_for_producers(&mut self, party: usize) -> bool {
        self.knows(|history| history.meets(Thing::Producers, false));
        if self.producers_left == 0 {
            return false;
        }
        self.block(party, State::Joining);
        true
    }

    /// `party` waits for a job's ticket.
    pub(crate) fn wait_for_ticket(&mut self, party: usize) {
        self.block(party, State::Ticket);
    }

    /// `by` has fired the ticket that `party` waits for.
    pub(crate) fn ticket_fired(&mut self, by: usize, party: usize) {
        let from_ps = self.parties[by].clock_ps;
        self.spend(by, self.costs.unpark_ps);
        self.not_before(party, from_ps.saturating_add(self.costs.wake_ps));
        self.unblock(party);
    }

    /// A task of `party` waits until `what` holds; it looks again when a task has done something.
    pub(crate) fn await_change(&mut self, party: usize, what: &'static str) {
        self.block(party, State::Awaiting { what });
        self.awaiting += 1;
    }

    /// A task of `by` may have changed what others wait for.
    pub(crate) fn task_acted(&mut self, by: usize) {
        if self.awaiting == 0 {
            return;
        }
        for party in 0..self.parties.len() {
            if let State::Awaiting { .. } = self.parties[party].state {
                self.not_before(party, self.parties[by].clock_ps);
                self.unblock(party);
            }
        }
        self.awaiting = 0;
    }

    pub(super) fn unpark_at(&mut self, party: usize, at_ps: u64) {
        if let State::Parked {
            deadline_ns: Some(deadline),
        }
        | State::Resting {
            deadline_ns: Some(deadline),
        } = self.parties[party].state
        {
            self.timers.remove(&(deadline, party));
        }
        self.not_before(party, at_ps);
        if let State::Parked { .. } = self.parties[party].state {
            self.oracles.sleep.parked -= 1;
        }
        self.unblock(party);
    }

    /// Lets those go whose delay or timeout is over.
    pub(super) fn ring(&mut self) {
        while let Some(&(until, party)) = self.delays.first()
            && until <= self.steps
        {
            self.delays.pop_first();
            self.unblock(party);
        }
        // A timeout is over for everybody as soon as the party that went last has passed it.
        if let Some(last) = self.last {
            let now = self.parties[last].clock_ns();
            while let Some(&(deadline, party)) = self.timers.first()
                && deadline <= now
            {
                self.marks.hit(Mark::TimedOut);
                self.unpark_at(party, deadline.saturating_mul(PS));
            }
        }
    }

    /// Nobody can go: time passes until somebody can.
    pub(super) fn wake_a_late_one(&mut self) -> bool {
        if let Some((_, party)) = self.delays.pop_first() {
            self.unblock(party);
            true
        } else if let Some(&(deadline, party)) = self.timers.first() {
            self.marks.hit(Mark::TimedOut);
            self.unpark_at(party, deadline.saturating_mul(PS));
            true
        } else {
            false
        }
    }

    pub(super) fn block(&mut self, party: usize, state: State) {
        debug_assert_eq!(self.parties[party].state, State::Runnable);
        self.parties[party].state = state;
        // One that could go for a moment only, and was not asked.
        self.arrived.retain(|&other| other != party);
        let place = self.place[party];
        self.runnable.swap_remove(place);
        if let Some(&moved) = self.runnable.get(place) {
            self.place[moved] = place;
        }
    }

    pub(super) fn unblock(&mut self, party: usize) {
        debug_assert_ne!(self.parties[party].state, State::Runnable);
        self.parties[party].state = State::Runnable;
        self.arrived.push(party);
        self.place[party] = self.runnable.len();
        self.runnable.push(party);
    }
}
