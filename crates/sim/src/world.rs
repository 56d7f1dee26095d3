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
mod waiting;

use std::collections::BTreeSet;
use std::rc::Rc;

use executor_core::Scheduler;
use executor_core::sleep::SleepWord;

use crate::clock::{Costs, PS};
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

    /// Number of the parties outside that are in the middle of an operation.
    pub(crate) fn calls(&self) -> usize {
        self.oracles.sleep.publishing
    }

    /// `party` sleeps in the middle of such an operation, or goes on with it. A worker is in none.
    pub(crate) fn outside_pauses(&mut self, party: usize, pauses: bool) {
        if !self.parties[party].side.is_worker() {
            self.outside_call(!pauses);
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
}
