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

mod faults;
mod knowledge;
mod tasks;
mod time;

use std::collections::BTreeSet;
use std::rc::Rc;

use executor_core::Scheduler;
use executor_core::sleep::SleepWord;

use crate::clock::Costs;
use crate::exposure::Exposures;
use crate::fault::{Fault, FaultBudget};
use crate::history::{History, Thing};
use crate::lines::Lines;
use crate::mark::{Mark, Marks};
use crate::oracle::{Oracle, Oracles, Violation};
use crate::party::{Party, Side, State};
use crate::profile::Profiler;
use crate::schedule::{Moment, Schedule};
use crate::trace::{Object, Op, Trace};
use crate::word::{Glass, SimWord, WordName};

use self::faults::{Storm, Weight};

/// Who goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This party.
    Go(usize),
    /// Nobody: everybody has finished, or an oracle has spoken.
    Stop,
}

/// Picoseconds of a nanosecond.
const PS: u64 = 1_000;

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
    /// Parties whose task waits until something holds.
    awaiting: usize,
    producers_left: usize,
    words_made: u32,
    /// When each task was put into a queue, by its pusher's clock, in picoseconds.
    pushed_at: Vec<u64>,
    panics_allowed: bool,
    panics: Vec<String>,
    violation: Option<Violation>,
    /// An oracle that nobody listens to, to see who else would have spoken.
    silenced: Option<Oracle>,
    cut: bool,
    tearing_down: bool,
    scheduler: Option<Rc<Scheduler<SimWord>>>,
    pub(crate) costs: Costs,
    lines: Lines,
    /// When the producers begin, in nanoseconds.
    begin_ns: u64,
    /// Nothing takes time, and nobody pauses.
    timeless: bool,
    /// What is known of states, if anybody needs to know.
    history: Option<Box<History>>,
    exposures: Exposures,
    /// Size of a worker's buffer of private tasks.
    private_max: usize,
    /// Parties that may go since the last pick, and might not before.
    arrived: Vec<usize>,
    pub(crate) profiler: Profiler,
    storm: Storm,
    weight: Weight,
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
            awaiting: 0,
            producers_left: 0,
            words_made: 0,
            pushed_at: Vec::new(),
            panics_allowed,
            panics: Vec::new(),
            violation: None,
            silenced: None,
            cut: false,
            tearing_down: false,
            scheduler: None,
            costs: Costs::default(),
            lines: Lines::default(),
            begin_ns: 0,
            profiler: Profiler::default(),
            arrived: Vec::new(),
            timeless: false,
            history: None,
            exposures: Exposures::default(),
            private_max: 0,
            storm: Storm::default(),
            weight: Weight::default(),
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
        let mut joining = Party::new(side);
        if matches!(side, Side::Producer(_)) {
            joining.clock_ps = self.begin_ns.saturating_mul(PS);
        }
        self.parties.push(joining);
        self.oracles.count.add_party();
        self.oracles.economy.add_party();
        self.profiler.add_party();
        self.lines.add_party();
        self.arrived.push(party);
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
        self.sleep_word().is_some_and(SleepWord::is_done)
    }

    /// Whether the executor has been aborted.
    pub(crate) fn is_aborting(&self) -> bool {
        self.sleep_word().is_some_and(SleepWord::is_aborting)
    }

    /// How much the state word counts.
    fn in_flight(&self) -> usize {
        let counted = self.scheduler.as_ref();
        counted.map_or(0, |scheduler| scheduler.state().in_flight(&Glass))
    }

    fn sleep_word(&self) -> Option<SleepWord> {
        let scheduler = self.scheduler.as_ref()?;
        Some(scheduler.sleep().peek(&Glass))
    }

    /// Micro-steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
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
        if self.violation.is_none() && !self.tearing_down && self.hears(oracle) {
            self.violation = Some(Violation {
                oracle,
                message: message.into(),
            });
        }
    }

    /// Nobody listens to this oracle from now on.
    pub(crate) fn silence(&mut self, oracle: Option<Oracle>) {
        self.silenced = oracle;
    }

    /// Whether anybody listens to `oracle`.
    pub(crate) fn hears(&self, oracle: Oracle) -> bool {
        self.silenced != Some(oracle)
    }

    /// Whether the run was given up where an oracle would have ended it that nobody listens to. It has no end to judge.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut
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
            self.cut = self.violation.is_none();
            return Next::Stop;
        }
        self.ring();
        if self.faults.left(Fault::Stall) > 0 {
            self.maybe_stall();
        }
        if self.runnable.is_empty() && !self.wake_a_late_one() {
            if self.parties.iter().any(|party| party.state != State::Finished) {
                let message = format!("nobody can go on{}\n{}", self.who_awaits(), self.describe());
                self.fail(Oracle::Deadlock, message);
                self.cut = self.violation.is_none();
            }
            return Next::Stop;
        }
        let moment = Moment::new(&self.runnable, &self.arrived, &self.parties, self.last);
        let party = match &self.history {
            None => self.schedule.pick(&moment),
            Some(history) => self.schedule.pick(&moment.knowing(history)),
        };
        self.arrived.clear();
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
        let cost_ps = self.cost_ps(party, op, object, value);
        self.did_for(party, op, object, value, cost_ps);
    }

    /// `party` did one operation, which took so long.
    pub(crate) fn did_for(&mut self, party: usize, op: Op, object: Object, value: u64, cost_ps: u64) {
        self.spend(party, cost_ps);
        self.knows(|history| history.did(op, object, value));
        self.trace.did(
            self.steps,
            party,
            op,
            object,
            value,
            self.parties[party].clock_ns(),
        );
    }

    /// A word changed; the oracles look at it.
    pub(crate) fn word_changed(&mut self, party: usize, name: WordName, before: usize, after: usize) {
        match name {
            WordName::State => {
                let outside = !self.parties[party].side.is_worker();
                let verdict = self.oracles.state_changed(party, outside, before, after);
                self.judge(verdict);
            }
            WordName::Sleep => {
                let [before, after] = [before, after].map(SleepWord::of_value);
                let aborts = after.is_aborting() && !before.is_aborting();
                if aborts && self.in_flight() > 0 {
                    self.marks.hit(Mark::AbortedOverWork);
                }
                let verdict = self.oracles.sleep_changed(party, before, after);
                self.judge(verdict);
                let verdict = self.oracles.economy.word_changed(party, after);
                self.judge(verdict);
                // An executor that aborts lets nobody wait.
                if aborts {
                    self.task_acted(party);
                }
            }
            WordName::Slot(worker) => {
                let verdict = (self.oracles.protocol).slot_changed(party, worker as usize, before, after);
                self.judge(verdict);
                // A stamp, and not the nothing that a slot is set back to.
                if worker as usize == party && after != 0 {
                    self.oracles.reach.registers(party);
                }
            }
            WordName::Stamps | WordName::Waiters | WordName::Other(_) => {}
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
        !self.weight.is_on() && self.oracles.count.anybody_between_accept_and_push(workers, party)
    }

    /// What each party is called.
    pub(crate) fn party_names(&self) -> Vec<String> {
        self.parties.iter().map(|party| party.side.to_string()).collect()
    }

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

    /// Which tasks wait, and for what.
    fn who_awaits(&self) -> String {
        let mut text = String::new();
        for (worker, party) in self.parties.iter().enumerate() {
            if let State::Awaiting { what } = party.state {
                let task = self.oracles.tasks.running_on(worker);
                let task = task.map_or("a task".to_owned(), |task| format!("task {task}"));
                let separator = if text.is_empty() { ": " } else { ", " };
                text.push_str(&format!("{separator}{task} on {} waits until {what}", party.side));
            }
        }
        text
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

    fn unpark_at(&mut self, party: usize, at_ps: u64) {
        if let State::Parked {
            deadline_ns: Some(deadline),
        } = self.parties[party].state
        {
            self.timers.remove(&(deadline, party));
        }
        self.not_before(party, at_ps);
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
    fn wake_a_late_one(&mut self) -> bool {
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

    fn block(&mut self, party: usize, state: State) {
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

    fn unblock(&mut self, party: usize) {
        debug_assert_ne!(self.parties[party].state, State::Runnable);
        self.parties[party].state = State::Runnable;
        self.arrived.push(party);
        self.place[party] = self.runnable.len();
        self.runnable.push(party);
    }
}
