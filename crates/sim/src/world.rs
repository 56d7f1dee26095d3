//! The world: everything that the parties of one run share, as plain data in one thread.
//!
//! Who may go, who waits and for what, how late it is for each, what has been chosen so far, and what the
//! oracles know. A party is a coroutine; before each shared operation it asks the world who goes next
//! ([`World::next`]), and unless that is itself it lets go of the core:
//!
//! ```text
//!   party:  … step() ─► next party? ── itself ─► operation ─► …
//!                           │ another
//!                           ▼
//!   driver:           resume that one
//! ```
//!
//! So between two shared operations of one party any number of operations of others may happen, and nothing
//! happens inside an operation. The world judges no policy: it tells the [oracles](crate::oracle) what was done.

mod knowledge;
mod tasks;

use std::collections::BTreeSet;
use std::rc::Rc;

use executor_core::Scheduler;

use crate::clock::Costs;
use crate::exposure::Exposures;
use crate::fault::{Fault, FaultBudget};
use crate::history::{History, Thing};
use crate::mark::{Mark, Marks};
use crate::oracle::{Oracle, Oracles, Violation};
use crate::party::{Party, Side, State};
use crate::schedule::{Moment, Schedule};
use crate::trace::{Object, Op, Trace};
use crate::word::{Glass, SimWord, WordName};

/// Who goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This party.
    Go(usize),
    /// Nobody: everybody has finished, or an oracle has spoken.
    Stop,
}

/// Everything that the parties of one run share.
pub(crate) struct World {
    parties: Vec<Party>,
    /// Parties that may go, in no particular but in a determined order.
    runnable: Vec<usize>,
    /// Where each party stands in `runnable`.
    place: Vec<usize>,
    last: Option<usize>,
    decided: Option<Next>,
    steps: u64,
    step_limit: u64,
    /// Parties that wait for a number of micro-steps, soonest first.
    delays: BTreeSet<(u64, usize)>,
    /// Parties that are parked with a timeout, soonest first.
    timers: BTreeSet<(u64, usize)>,
    signals: u64,
    producers_left: usize,
    words_made: u32,
    /// When each task was put into a queue, by its pusher's clock.
    pushed_at: Vec<u64>,
    panics_allowed: bool,
    panics: Vec<String>,
    violation: Option<Violation>,
    tearing_down: bool,
    scheduler: Option<Rc<Scheduler<SimWord>>>,
    costs: Costs,
    /// Nothing takes time, and nobody pauses.
    timeless: bool,
    /// What is known of states, if anybody needs to know.
    history: Option<Box<History>>,
    exposures: Exposures,
    /// Size of a worker's buffer of private tasks.
    private_max: usize,
    pub(crate) schedule: Schedule,
    pub(crate) trace: Trace,
    pub(crate) marks: Marks,
    pub(crate) faults: FaultBudget,
    pub(crate) oracles: Oracles,
}

impl World {
    pub(crate) fn new(
        schedule: Schedule,
        faults: FaultBudget,
        step_limit: u64,
        panics_allowed: bool,
        trace: Trace,
    ) -> Self {
        Self {
            parties: Vec::new(),
            runnable: Vec::new(),
            place: Vec::new(),
            last: None,
            decided: None,
            steps: 0,
            step_limit,
            delays: BTreeSet::new(),
            timers: BTreeSet::new(),
            signals: 0,
            producers_left: 0,
            words_made: 0,
            pushed_at: Vec::new(),
            panics_allowed,
            panics: Vec::new(),
            violation: None,
            tearing_down: false,
            scheduler: None,
            costs: Costs::default(),
            timeless: false,
            history: None,
            exposures: Exposures::default(),
            private_max: 0,
            schedule,
            trace,
            marks: Marks::default(),
            faults,
            oracles: Oracles::default(),
        }
    }

    /// Adds a party, which may go at once. Gives its number.
    pub(crate) fn join(&mut self, side: Side) -> usize {
        let party = self.parties.len();
        if matches!(side, Side::Producer(_)) {
            self.producers_left += 1;
        }
        self.parties.push(Party::new(side));
        self.oracles.count.add_party();
        if let Some(history) = &mut self.history {
            history.join();
        }
        self.place.push(self.runnable.len());
        self.runnable.push(party);
        party
    }

    /// The executor whose words the oracles read.
    pub(crate) fn watch(&mut self, scheduler: Rc<Scheduler<SimWord>>) {
        self.oracles.begin(scheduler.config());
        self.exposures.begin(scheduler.config());
        self.private_max = scheduler.config().private_tasks;
        self.scheduler = Some(scheduler);
    }

    /// A number for a word that is none of the executor's own.
    pub(crate) fn next_word(&mut self) -> u32 {
        self.words_made += 1;
        self.words_made
    }

    /// Whether the executor has ended.
    pub(crate) fn is_done(&self) -> bool {
        let sleep = self
            .scheduler
            .as_ref()
            .map(|scheduler| scheduler.sleep().peek(&Glass));
        sleep.is_some_and(|word| word.is_done())
    }

    /// Micro-steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// The latest of all workers' clocks.
    pub(crate) fn makespan_ns(&self) -> u64 {
        let workers = self.parties.iter().filter(|party| party.side.is_worker());
        workers.map(|party| party.clock_ns).max().unwrap_or(0)
    }

    pub(crate) fn clock_ns(&self, party: usize) -> u64 {
        self.parties[party].clock_ns
    }

    /// It takes `party` a while.
    pub(crate) fn spend(&mut self, party: usize, cost_ns: u64) {
        if !self.timeless {
            self.parties[party].clock_ns += cost_ns;
        }
    }

    /// Something that happened at `at_ns` comes before what `party` does next.
    pub(crate) fn not_before(&mut self, party: usize, at_ns: u64) {
        let clock = &mut self.parties[party].clock_ns;
        *clock = (*clock).max(at_ns);
    }

    /// Whether the parties are only being unwound.
    pub(crate) fn is_tearing_down(&self) -> bool {
        self.tearing_down
    }

    pub(crate) fn tear_down(&mut self) {
        self.tearing_down = true;
    }

    /// An oracle has seen something wrong. The first one counts.
    pub(crate) fn fail(&mut self, oracle: Oracle, message: impl Into<String>) {
        if self.violation.is_none() && !self.tearing_down {
            self.violation = Some(Violation {
                oracle,
                message: message.into(),
            });
        }
    }

    /// Passes on what an oracle found.
    pub(crate) fn judge(&mut self, verdict: Result<(), Violation>) {
        if let Err(Violation { oracle, message }) = verdict {
            self.fail(oracle, message);
        }
    }

    pub(crate) fn take_violation(&mut self) -> Option<Violation> {
        self.violation.take()
    }

    /// A micro-step is due: who takes it?
    pub(crate) fn next(&mut self) -> Next {
        if self.violation.is_some() || self.tearing_down {
            return Next::Stop;
        }
        self.steps += 1;
        if self.steps > self.step_limit {
            self.fail(
                Oracle::Liveness,
                format!(
                    "no end after {} micro-steps\n{}",
                    self.step_limit,
                    self.describe()
                ),
            );
            return Next::Stop;
        }
        self.ring();
        if self.runnable.is_empty() && !self.wake_a_late_one() {
            if self.parties.iter().any(|party| party.state != State::Finished) {
                self.fail(Oracle::Deadlock, format!("nobody can go on\n{}", self.describe()));
            }
            return Next::Stop;
        }
        let moment = Moment::new(&self.runnable, &self.parties, self.last);
        let party = match &self.history {
            None => self.schedule.pick(&moment),
            Some(history) => self.schedule.pick(&moment.knowing(history)),
        };
        self.last = Some(party);
        if self.history.is_some() {
            self.begins(party);
        }
        Next::Go(party)
    }

    /// Leaves a decision for the driver.
    pub(crate) fn decide(&mut self, next: Next) {
        self.decided = Some(next);
    }

    /// A decision that a party left, or a new one.
    pub(crate) fn decided(&mut self) -> Next {
        match self.decided.take() {
            Some(next) => next,
            None => self.next(),
        }
    }

    /// `party` did one operation.
    pub(crate) fn did(&mut self, party: usize, op: Op, object: Object, value: u64) {
        if self.timeless {
            self.knows(|history| history.did(op, object, value));
        } else {
            self.parties[party].clock_ns += self.costs.of(op);
        }
        self.trace
            .did(self.steps, party, op, object, value, self.parties[party].clock_ns);
    }

    /// A word changed; the oracles look at it.
    pub(crate) fn word_changed(&mut self, party: usize, name: WordName, before: usize, after: usize) {
        match name {
            WordName::State => {
                let outside = !self.parties[party].side.is_worker();
                let verdict = self.oracles.count.state_changed(party, outside, before, after);
                self.judge(verdict);
            }
            WordName::Sleep => {
                if let Some(scheduler) = &self.scheduler {
                    let verdict = self.oracles.sleep.word_changed(scheduler.sleep());
                    self.judge(verdict);
                }
            }
            _ => {}
        }
        self.knows(|history| history.word_changed(name, before, after));
    }

    /// What tasks said when they panicked, if that was allowed.
    pub(crate) fn take_panics(&mut self) -> Vec<String> {
        std::mem::take(&mut self.panics)
    }

    /// Whether anybody outside but `party` was let in and has not pushed yet.
    pub(crate) fn anybody_between_accept_and_push(&self, party: usize) -> bool {
        let workers = self.parties.iter().filter(|party| party.side.is_worker()).count();
        self.oracles.count.anybody_between_accept_and_push(workers, party)
    }

    /// What each party is called.
    pub(crate) fn party_names(&self) -> Vec<String> {
        self.parties.iter().map(|party| party.side.to_string()).collect()
    }

    /// Whether a fault of this kind strikes now.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        if self.faults.left(fault) == 0 {
            return false;
        }
        let strikes = self.schedule.happens(self.faults.rarity(fault));
        if strikes {
            self.faults.spend(fault);
        }
        self.knows_of_fault(fault, strikes);
        strikes
    }

    /// `party` parks. `false` if it goes on at once: somebody had unparked it before, or for no reason.
    pub(crate) fn park(&mut self, party: usize, timeout_ns: Option<u64>) -> bool {
        let worker = self.parties[party].side.worker();
        if let Some(worker) = worker {
            let verdict = self.oracles.count.parked(party, worker);
            self.judge(verdict);
            let verdict = self.oracles.sleep.keeps_nothing(worker, "parks");
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
        let deadline_ns = timeout_ns.map(|timeout| self.parties[party].clock_ns.saturating_add(timeout));
        if let Some(deadline_ns) = deadline_ns {
            self.timers.insert((deadline_ns, party));
        }
        self.block(party, State::Parked { deadline_ns });
        self.oracles.sleep.parked += 1;
        self.check_quiet();
        true
    }

    /// `by` unparks the worker `worker`, whose party has the same number.
    pub(crate) fn unpark(&mut self, by: usize, worker: usize) {
        let at_ns = self.parties[by].clock_ns;
        match self.parties[worker].state {
            State::Parked { .. } => self.unpark_at(worker, at_ns),
            _ => {
                if self.parties[worker].token {
                    self.marks.hit(Mark::UnparkedTwice);
                }
                self.parties[worker].token = true;
            }
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
        let at_ns = self.parties[by].clock_ns;
        for party in 0..self.parties.len() {
            if let State::Waiting { ticket } = self.parties[party].state
                && self.signals > ticket
            {
                self.not_before(party, at_ns);
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
        self.not_before(party, self.parties[by].clock_ns);
        self.unblock(party);
    }

    /// `party` has come to its end.
    pub(crate) fn finish(&mut self, party: usize) {
        self.block(party, State::Finished);
        if matches!(self.parties[party].side, Side::Producer(_)) {
            self.producers_left -= 1;
            self.knows(|history| history.changes(Thing::Producers, 0));
            if self.producers_left == 0 {
                for waiter in 0..self.parties.len() {
                    if self.parties[waiter].state == State::Joining {
                        self.unblock(waiter);
                    }
                }
            }
        }
        if let Some(worker) = self.parties[party].side.worker() {
            let verdict = self.oracles.sleep.keeps_nothing(worker, "has left");
            self.judge(verdict);
            self.oracles.sleep.left += 1;
        }
        self.check_quiet();
    }

    /// A party outside is in the middle of an operation on the scheduler, or has ended it.
    pub(crate) fn outside_call(&mut self, begins: bool) {
        if begins {
            self.oracles.sleep.publishing += 1;
        } else {
            self.oracles.sleep.publishing -= 1;
            self.check_quiet();
        }
    }

    /// All asleep and work in a queue?
    fn check_quiet(&mut self) {
        if let Err(violation) = self.oracles.sleep.quiet() {
            let message = format!("{}\n{}", violation.message, self.describe());
            self.fail(violation.oracle, message);
        }
    }

    /// Who is where and what lies where, for a person to read.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for party in &self.parties {
            text.push_str(&format!("  {:<12} {}\n", party.side.to_string(), party.state));
        }
        if let Some(scheduler) = &self.scheduler {
            text.push_str(&format!(
                "  state word   {} in flight, gate {}\n  sleep word   {:?}\n",
                scheduler.state().in_flight(&Glass),
                if scheduler.state().is_accepting(&Glass) {
                    "open"
                } else {
                    "closed"
                },
                scheduler.sleep().peek(&Glass),
            ));
            text.push_str(&self.oracles.sleep.queues());
        }
        text
    }

    fn unpark_at(&mut self, party: usize, at_ns: u64) {
        if let State::Parked {
            deadline_ns: Some(deadline),
        } = self.parties[party].state
        {
            self.timers.remove(&(deadline, party));
        }
        self.not_before(party, at_ns);
        self.oracles.sleep.parked -= 1;
        self.unblock(party);
    }

    /// Lets those go whose delay or timeout is over.
    fn ring(&mut self) {
        while let Some(&(until, party)) = self.delays.first()
            && until <= self.steps
        {
            self.delays.pop_first();
            self.unblock(party);
        }
        // A timeout is over for everybody as soon as the party that went last has passed it.
        if let Some(last) = self.last {
            let now = self.parties[last].clock_ns;
            while let Some(&(deadline, party)) = self.timers.first()
                && deadline <= now
            {
                self.marks.hit(Mark::TimedOut);
                self.unpark_at(party, deadline);
            }
        }
    }

    /// Nobody can go: time passes until somebody can.
    fn wake_a_late_one(&mut self) -> bool {
        if let Some((_, party)) = self.delays.pop_first() {
            self.unblock(party);
            true
        } else if let Some(&(deadline, party)) = self.timers.first() {
            self.marks.hit(Mark::TimedOut);
            self.unpark_at(party, deadline);
            true
        } else {
            false
        }
    }

    fn block(&mut self, party: usize, state: State) {
        debug_assert_eq!(self.parties[party].state, State::Runnable);
        self.parties[party].state = state;
        let place = self.place[party];
        self.runnable.swap_remove(place);
        if let Some(&moved) = self.runnable.get(place) {
            self.place[moved] = place;
        }
    }

    fn unblock(&mut self, party: usize) {
        debug_assert_ne!(self.parties[party].state, State::Runnable);
        self.parties[party].state = State::Runnable;
        self.place[party] = self.runnable.len();
        self.runnable.push(party);
    }
}
