//! The world: everything that the actors of one run share, as plain data in one thread.
//!
//! Before each shared operation an actor asks the world which actor goes next ([`World::next`]),
//! and suspends unless it is chosen:
//!
//! ```text
//!   actor:  … step() ─► next actor? ── itself ─► operation ─► …
//!                           │ another
//!                           ▼
//!   driver:           resume that one
//! ```
//!
//! So any number of other operations may come between two shared operations of an actor, and none
//! inside one. The world judges no policy: it reports to the [oracles](crate::oracle).

mod faults;
mod fingerprint;
mod tasks;
mod time;
mod waiting;

use std::collections::BTreeSet;
use std::rc::Rc;

use executor_core::Scheduler;
use executor_core::sleep::SleepWord;

use crate::actor::{Actor, ActorKind, State};
use crate::clock::{Costs, PS};
use crate::coverage::{Coverage, CoveragePoint};
use crate::exposure::Exposures;
use crate::fault::{Fault, FaultBudget};
use crate::fingerprint::{Fingerprints, Resource};
use crate::lines::Lines;
use crate::oracle::{Oracle, Oracles, Violation};
use crate::profile::Profiler;
use crate::schedule::{Moment, Schedule};
use crate::trace::{Object, Op, Trace};
use crate::word::{Glass, SimWord, WordName};

use self::faults::{Burst, Weight};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Go(usize),
    /// All actors have finished, or an oracle has failed the run.
    Stop,
}

pub(crate) struct World {
    actors: Vec<Actor>,
    runnable: Vec<usize>,
    place: Vec<usize>,
    last: Option<usize>,
    decided: Option<Next>,
    steps: u64,
    step_limit: u64,
    delays: BTreeSet<(u64, usize)>,
    timers: BTreeSet<(u64, usize)>,
    signals: u64,
    awaiting: usize,
    producers_left: usize,
    words_made: u32,
    /// Picoseconds at which each task was queued, by its pusher's clock.
    pushed_at: Vec<u64>,
    panics_allowed: bool,
    panics: Vec<String>,
    violation: Option<Violation>,
    silenced: Option<Oracle>,
    cut: bool,
    tearing_down: bool,
    scheduler: Option<Rc<Scheduler<SimWord>>>,
    pub(crate) costs: Costs,
    lines: Lines,
    begin_ns: u64,
    /// Nothing takes time, and no actor pauses.
    timeless: bool,
    fingerprints: Option<Box<Fingerprints>>,
    exposures: Exposures,
    private_max: usize,
    arrived: Vec<usize>,
    pub(crate) profiler: Profiler,
    burst: Burst,
    weight: Weight,
    pub(crate) schedule: Schedule,
    pub(crate) trace: Trace,
    pub(crate) coverage: Coverage,
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
            actors: Vec::new(),
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
            fingerprints: None,
            exposures: Exposures::default(),
            private_max: 0,
            burst: Burst::default(),
            weight: Weight::default(),
            schedule,
            trace,
            coverage: Coverage::default(),
            faults,
            oracles: Oracles::default(),
        }
    }

    pub(crate) fn join(&mut self, kind: ActorKind) -> usize {
        let actor = self.actors.len();
        if matches!(kind, ActorKind::Producer(_)) {
            self.producers_left += 1;
        }
        let mut joining = Actor::new(kind);
        if matches!(kind, ActorKind::Producer(_)) {
            joining.clock_ps = self.begin_ns.saturating_mul(PS);
        }
        self.actors.push(joining);
        self.oracles.count.add_actor();
        self.oracles.economy.add_actor();
        self.profiler.add_actor();
        self.lines.add_actor();
        self.arrived.push(actor);
        if let Some(fingerprints) = &mut self.fingerprints {
            fingerprints.join();
        }
        self.place.push(self.runnable.len());
        self.runnable.push(actor);
        actor
    }

    pub(crate) fn watch(&mut self, scheduler: Rc<Scheduler<SimWord>>) {
        self.oracles.begin(scheduler.config());
        self.exposures.begin(scheduler.config());
        self.private_max = scheduler.config().tuning.private_tasks;
        self.scheduler = Some(scheduler);
    }

    pub(crate) fn next_word(&mut self) -> u32 {
        self.words_made += 1;
        self.words_made
    }

    pub(crate) fn is_done(&self) -> bool {
        self.sleep_word().is_some_and(SleepWord::is_done)
    }

    pub(crate) fn is_aborting(&self) -> bool {
        self.sleep_word().is_some_and(SleepWord::is_aborting)
    }

    fn in_flight(&self) -> usize {
        let counted = self.scheduler.as_ref();
        counted.map_or(0, |scheduler| scheduler.state().in_flight(&Glass))
    }

    fn sleep_word(&self) -> Option<SleepWord> {
        let scheduler = self.scheduler.as_ref()?;
        Some(scheduler.sleep().peek(&Glass))
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    pub(crate) fn is_tearing_down(&self) -> bool {
        self.tearing_down
    }

    pub(crate) fn tear_down(&mut self) {
        self.tearing_down = true;
    }

    /// Only the first failure counts.
    pub(crate) fn fail(&mut self, oracle: Oracle, message: impl Into<String>) {
        if self.violation.is_none() && !self.tearing_down && self.hears(oracle) {
            self.violation = Some(Violation {
                oracle,
                message: message.into(),
            });
        }
    }

    pub(crate) fn silence(&mut self, oracle: Option<Oracle>) {
        self.silenced = oracle;
    }

    pub(crate) fn hears(&self, oracle: Oracle) -> bool {
        self.silenced != Some(oracle)
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn judge(&mut self, verdict: Result<(), Violation>) {
        if let Err(Violation { oracle, message }) = verdict {
            self.fail(oracle, message);
        }
    }

    pub(crate) fn take_violation(&mut self) -> Option<Violation> {
        self.violation.take()
    }

    pub(crate) fn next(&mut self) -> Next {
        if self.violation.is_some() || self.tearing_down {
            return Next::Stop;
        }
        self.steps += 1;
        if self.steps > self.step_limit {
            self.fail(
                Oracle::Liveness,
                format!("no end after {} steps\n{}", self.step_limit, self.describe()),
            );
            self.cut = self.violation.is_none();
            return Next::Stop;
        }
        self.ring();
        if self.faults.left(Fault::Stall) > 0 {
            self.maybe_stall();
        }
        if self.runnable.is_empty() && !self.wake_a_late_one() {
            if self.actors.iter().any(|actor| actor.state != State::Finished) {
                let message = format!("no actor can go on{}\n{}", self.who_awaits(), self.describe());
                self.fail(Oracle::Deadlock, message);
                self.cut = self.violation.is_none();
            }
            return Next::Stop;
        }
        let moment = Moment::new(&self.runnable, &self.arrived, &self.actors, self.last);
        let actor = match &self.fingerprints {
            None => self.schedule.pick(&moment),
            Some(fingerprints) => self.schedule.pick(&moment.with_fingerprints(fingerprints)),
        };
        self.arrived.clear();
        self.last = Some(actor);
        if self.fingerprints.is_some() {
            self.begins(actor);
        }
        Next::Go(actor)
    }

    pub(crate) fn decide(&mut self, next: Next) {
        self.decided = Some(next);
    }

    pub(crate) fn decided(&mut self) -> Next {
        match self.decided.take() {
            Some(next) => next,
            None => self.next(),
        }
    }

    pub(crate) fn did(&mut self, actor: usize, op: Op, object: Object, value: u64) {
        let cost_ps = self.cost_ps(actor, op, object, value);
        self.did_for(actor, op, object, value, cost_ps);
    }

    pub(crate) fn did_for(&mut self, actor: usize, op: Op, object: Object, value: u64, cost_ps: u64) {
        self.spend(actor, cost_ps);
        self.note(|fingerprints| fingerprints.did(op, object, value));
        self.trace.did(
            self.steps,
            actor,
            op,
            object,
            value,
            self.actors[actor].clock_ns(),
        );
    }

    pub(crate) fn word_changed(&mut self, actor: usize, name: WordName, before: usize, after: usize) {
        match name {
            WordName::State => {
                let environment = !self.actors[actor].kind.is_worker();
                let verdict = self.oracles.state_changed(actor, environment, before, after);
                self.judge(verdict);
            }
            WordName::Sleep => {
                let [before, after] = [before, after].map(SleepWord::of);
                let aborts = after.is_aborting() && !before.is_aborting();
                if aborts && self.in_flight() > 0 {
                    self.coverage.hit(CoveragePoint::AbortedOverWork);
                }
                let verdict = self.oracles.sleep_changed(actor, before, after);
                self.judge(verdict);
                let verdict = self.oracles.economy.word_changed(actor, after);
                self.judge(verdict);
                // An abort ends all waits.
                if aborts {
                    self.task_acted(actor);
                }
            }
            WordName::Slot(worker) => {
                let verdict = (self.oracles.protocol).slot_changed(actor, worker as usize, before, after);
                self.judge(verdict);
                if worker as usize == actor && after != 0 {
                    self.oracles.reach.registers(actor);
                }
            }
            WordName::Stamps | WordName::Waiters | WordName::Other(_) => {}
        }
        self.note(|fingerprints| fingerprints.word_changed(name, before, after));
    }

    pub(crate) fn take_panics(&mut self) -> Vec<String> {
        std::mem::take(&mut self.panics)
    }

    pub(crate) fn is_any_between_accept_and_push(&self, actor: usize) -> bool {
        let workers = self.actors.iter().filter(|actor| actor.kind.is_worker()).count();
        !self.weight.is_on() && self.oracles.count.is_any_between_accept_and_push(workers, actor)
    }

    pub(crate) fn actor_names(&self) -> Vec<String> {
        self.actors.iter().map(|actor| actor.kind.to_string()).collect()
    }

    pub(crate) fn finish(&mut self, actor: usize) {
        self.block(actor, State::Finished);
        if matches!(self.actors[actor].kind, ActorKind::Producer(_)) {
            self.producers_left -= 1;
            self.note(|fingerprints| fingerprints.changes(Resource::Producers, 0));
            if self.producers_left == 0 {
                for waiter in 0..self.actors.len() {
                    if self.actors[waiter].state == State::Joining {
                        self.unblock(waiter);
                    }
                }
            }
        }
        if let Some(worker) = self.actors[actor].kind.worker() {
            let verdict = self.oracles.sleep.keeps_nothing(worker, "has left");
            self.judge(verdict);
            self.oracles.sleep.left += 1;
        }
        self.check_quiet();
    }

    pub(crate) fn environment_call(&mut self, begins: bool) {
        if begins {
            self.oracles.sleep.publishing += 1;
        } else {
            self.oracles.sleep.publishing -= 1;
            self.check_quiet();
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.oracles.sleep.publishing
    }

    pub(crate) fn environment_pauses(&mut self, actor: usize, pauses: bool) {
        if !self.actors[actor].kind.is_worker() {
            self.environment_call(!pauses);
        }
    }

    fn check_quiet(&mut self) {
        if let Err(violation) = self.oracles.sleep.quiet() {
            let message = format!("{}\n{}", violation.message, self.describe());
            self.fail(violation.oracle, message);
        }
    }

    fn who_awaits(&self) -> String {
        let mut text = String::new();
        for (worker, actor) in self.actors.iter().enumerate() {
            if let State::Awaiting { what } = actor.state {
                let task = self.oracles.tasks.running_on(worker);
                let task = task.map_or("a task".to_owned(), |task| format!("task {task}"));
                let separator = if text.is_empty() { ": " } else { ", " };
                text.push_str(&format!("{separator}{task} on {} waits until {what}", actor.kind));
            }
        }
        text
    }

    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        for actor in &self.actors {
            text.push_str(&format!("  {:<12} {}\n", actor.kind.to_string(), actor.state));
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
