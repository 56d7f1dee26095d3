//! What each event of a record means to the oracles, and its display.

use executor_core::sleep::SleepWord;
use executor_core::{in_flight, is_accepting};
use sim::judge::{Came, Oracles, Trace, Violation};
use sim::{Object, Op, Oracle, WordName};

use super::merge::Wait;
use super::{Checked, Rejection};
use crate::event::{Event, TaskId};
use crate::record::Record;

/// A task's moves are counted modulo this.
const MOVES: u8 = 128;

const IN_INJECTOR: u8 = MOVES;

pub(super) struct Course {
    oracles: Oracles,
    workers: usize,
    actors: Vec<Actor>,
    /// Where each actor's tasks begin; last, the number of tasks.
    first_task: Vec<u64>,
    handed_back: Vec<u64>,
    /// By task: its moves into queues, modulo [`MOVES`], and a bit for a last move into the
    /// injector.
    moves: Vec<u8>,
    asleep: Vec<bool>,
    ended: u64,
    steps: u64,
    trace: Trace,
    names: Vec<String>,
}

#[derive(Default)]
struct Actor {
    next: u32,
    running: Option<u64>,
    /// Tasks of a run from the injector that are not named yet.
    of_run: u32,
    publishing: bool,
    state: usize,
    /// The version of each word that it last saw: state, sleep, own slot.
    seen: [u32; 3],
    left: bool,
}

impl Course {
    pub(super) fn new(record: &Record, keep: bool) -> Self {
        let config = record.config();
        let workers = config.workers;
        let mut oracles = Oracles::default();
        oracles.begin(config);
        let mut first_task = vec![0];
        for actor in 0..record.parties() {
            oracles.count.add_actor();
            let tasks = u64::from(record.tasks(actor));
            oracles.tasks.number_many(tasks);
            first_task.push(first_task[actor] + tasks);
        }
        let names = (0..record.parties()).map(|actor| {
            if actor < workers {
                format!("worker {actor}")
            } else {
                format!("environment {}", actor - workers)
            }
        });
        let actor = |_| Actor {
            state: executor_core::ACCEPTING_BIT,
            ..Actor::default()
        };
        let mut course = Self {
            oracles,
            workers,
            actors: (0..record.parties()).map(actor).collect(),
            moves: vec![0; first_task[record.parties()] as usize],
            first_task,
            handed_back: Vec::new(),
            asleep: vec![false; workers],
            ended: 0,
            steps: 0,
            trace: Trace::new(keep),
            names: names.collect(),
        };
        // An unknown task equals none of these.
        let ids = record.returned().iter();
        course.handed_back = ids.map(|&task| course.dense(task).unwrap_or(u64::MAX)).collect();
        course
    }

    pub(super) fn name(&self, actor: usize) -> &str {
        &self.names[actor]
    }

    /// What `actor` must wait for before it can act on `task`.
    pub(super) fn to_take(&self, actor: usize, task: TaskId) -> Result<Option<Wait>, Violation> {
        let (moves, task) = (task.moves(), self.dense(task)?);
        let moved = self.moves[task as usize] % MOVES;
        let is_there = moves == moved && self.oracles.tasks.is_reachable(task, actor);
        Ok((!is_there).then(|| Wait::Task {
            task,
            moves,
            is: format!("{} after {moved}", self.oracles.tasks.describe(task)),
        }))
    }

    pub(super) fn place(&mut self, actor: usize, event: Event) -> Result<(), Violation> {
        self.note(actor, event);
        if self.actors[actor].left {
            return Err(record_violation(format!("{} has left before", self.names[actor])));
        }
        if self.actors[actor].of_run > 0 && !matches!(event, Event::OfRun { .. }) {
            return Err(record_violation(format!(
                "{} has taken {} more tasks from the injector, and goes on without them",
                self.names[actor], self.actors[actor].of_run
            )));
        }
        match event {
            Event::Changed {
                word,
                version,
                before,
                after,
            } => self.changed(actor, word, version, before as usize, after as usize),
            Event::Read { word, version, value } => self.read(actor, word, version, value as usize),
            Event::Injected { task } => self.queued(actor, task, true),
            _ if actor < self.workers => self.worker_did(actor, event),
            Event::HandedOver => self.handed_over(actor),
            Event::Refused { tasks } => self.refused(actor, tasks),
            Event::Idle if in_flight(self.actors[actor].state) == 0 => Ok(()),
            Event::Idle => Err(Violation::new(
                Oracle::Count,
                format!(
                    "{} has waited until nothing is in flight, but last saw {}",
                    self.names[actor],
                    in_flight(self.actors[actor].state)
                ),
            )),
            Event::GaveUp => Err(Violation::new(
                Oracle::Liveness,
                format!(
                    "the run had no end and was ended by force, with {} tasks in queues\n{}",
                    self.oracles.sleep.queued(),
                    self.oracles.sleep.queues()
                ),
            )),
            Event::Unparked { .. } => Ok(()),
            other => Err(record_violation(format!(
                "the environment does not do this: {other:?}"
            ))),
        }
    }

    pub(super) fn end(&mut self, state: u32) -> Result<(), Violation> {
        if let Some(worker) = (0..self.workers).find(|&worker| !self.actors[worker].left) {
            return Err(record_violation(format!("worker {worker} has never left")));
        }
        for (actor, name) in self.names.iter().enumerate() {
            if self.actors[actor].publishing {
                return Err(record_violation(format!("{name} has never ended a hand-over")));
            }
            let (told, tasks) = (
                u64::from(self.actors[actor].next),
                self.first_task[actor + 1] - self.first_task[actor],
            );
            if told != tasks {
                return Err(record_violation(format!(
                    "{name} brought {tasks} tasks into the world, and its events tell of {told}"
                )));
            }
        }
        self.oracles.tasks.end(self.handed_back.iter().copied())?;
        self.oracles.count.end(state as usize)
    }

    pub(super) fn into_checked(mut self, changes: u64) -> Checked {
        Checked {
            events: self.steps,
            tasks: self.ended,
            changes,
            course: self.trace.take_all(),
            actors: self.names,
        }
    }

    pub(super) fn show(&mut self, rejection: &mut Rejection) {
        rejection.neighbourhood = self.trace.tail();
        rejection.actors = std::mem::take(&mut self.names);
    }

    fn worker_did(&mut self, worker: usize, event: Event) -> Result<(), Violation> {
        match event {
            Event::Spawned { tasks } => self.spawned(worker, tasks),
            Event::Pushed { task } => self.queued(worker, task, false),
            Event::Started { task } => self.started(worker, task),
            Event::Ended => {
                let task = self.ends(worker)?;
                self.oracles.tasks.ran(task, worker)?;
                self.oracles.count.ended(worker);
                Ok(())
            }
            Event::Panicked => {
                self.ends(worker)?;
                self.oracles.tasks.panicked(worker);
                self.oracles.count.ended(worker);
                Ok(())
            }
            Event::Returned { task } => {
                let task = self.reached(worker, task)?;
                self.oracles.tasks.handed_back(task, worker)?;
                self.oracles.protocol.hands_back(worker)?;
                self.oracles.count.ended(worker);
                self.ended += 1;
                Ok(())
            }
            Event::TookInjected { task, more } => {
                self.oracles.count.between_tasks(worker)?;
                self.oracles.fairness.looked_at_injector(worker);
                self.actors[worker].of_run = more;
                self.taken(worker, task, true)
            }
            Event::OfRun { task } => {
                let Some(left) = self.actors[worker].of_run.checked_sub(1) else {
                    return Err(record_violation(format!(
                        "worker {worker} names a task that it did not take together with others"
                    )));
                };
                self.actors[worker].of_run = left;
                let task = self.was_in(task, true)?;
                self.oracles.tasks.unpacked(task, worker)?;
                self.oracles.sleep.taken_somewhere();
                self.oracles.sleep.kept(worker);
                Ok(())
            }
            Event::InjectorEmpty => {
                self.oracles.count.between_tasks(worker)?;
                self.oracles.fairness.looked_at_injector(worker);
                Ok(())
            }
            Event::Stole { task, victim } if victim as usize != worker => self.taken(worker, task, false),
            Event::Stole { .. } => Err(Violation::new(
                Oracle::Victim,
                format!("worker {worker} stole from itself"),
            )),
            Event::Parked => {
                self.oracles.count.parked(worker, worker)?;
                self.oracles.sleep.keeps_nothing(worker, "parks")?;
                self.oracles.protocol.parks(worker)?;
                if !self.oracles.protocol.is_chosen(worker) {
                    self.asleep[worker] = true;
                    self.oracles.sleep.parked += 1;
                }
                self.oracles.sleep.quiet()
            }
            Event::Awoke => {
                self.wakes(worker);
                Ok(())
            }
            Event::Left => {
                self.oracles.sleep.keeps_nothing(worker, "has left")?;
                self.actors[worker].left = true;
                self.oracles.sleep.left += 1;
                self.oracles.sleep.quiet()
            }
            Event::Unparked { .. } => Ok(()),
            other => Err(record_violation(format!("no worker does this: {other:?}"))),
        }
    }

    fn changed(
        &mut self,
        actor: usize,
        word: WordName,
        version: u32,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        self.sees(actor, word, version.wrapping_add(1))?;
        match word {
            WordName::State => {
                self.actors[actor].state = after;
                let environment = actor >= self.workers;
                if in_flight(after) > in_flight(before) && self.actors[actor].publishing {
                    return Err(record_violation(format!(
                        "{} was accepted again before it had handed over",
                        self.names[actor]
                    )));
                }
                self.oracles.state_changed(actor, environment, before, after)
            }
            WordName::Sleep => {
                let [before, after] = [before, after].map(SleepWord::of);
                self.oracles.sleep_changed(actor, before, after)
            }
            WordName::Slot(slot) if (slot as usize) < self.workers => {
                let worker = slot as usize;
                (self.oracles.protocol).slot_changed(actor, worker, before, after)?;
                if after == 0 {
                    self.wakes(worker);
                }
                Ok(())
            }
            other => Err(record_violation(format!("no oracle watches the {other}"))),
        }
    }

    fn read(&mut self, actor: usize, word: WordName, version: u32, value: usize) -> Result<(), Violation> {
        self.sees(actor, word, version)?;
        match word {
            WordName::State => self.actors[actor].state = value,
            WordName::Sleep => {
                let word = SleepWord::of(value);
                self.oracles.protocol.learns(actor, word);
            }
            _ => {}
        }
        Ok(())
    }

    /// An actor never reads an older value of a word than it has seen.
    fn sees(&mut self, actor: usize, word: WordName, version: u32) -> Result<(), Violation> {
        let seen = match word {
            WordName::State => &mut self.actors[actor].seen[0],
            WordName::Sleep => &mut self.actors[actor].seen[1],
            WordName::Slot(worker) if worker as usize == actor => &mut self.actors[actor].seen[2],
            _ => return Ok(()),
        };
        let before = std::mem::replace(seen, version);
        if version > before {
            return Ok(());
        }
        Err(record_violation(format!(
            "{} saw the {word} after {version} changes, and had seen it after {before}",
            self.names[actor]
        )))
    }

    fn spawned(&mut self, worker: usize, tasks: u32) -> Result<(), Violation> {
        for _ in 0..tasks {
            let task = self.next_task(worker)?;
            if self.oracles.tasks.kept(task, worker) {
                self.oracles.sleep.kept(worker);
                self.oracles.count.began(worker)?;
            }
        }
        Ok(())
    }

    fn queued(&mut self, actor: usize, task: TaskId, injected: bool) -> Result<(), Violation> {
        let worker = (actor < self.workers).then_some(actor);
        let (moves, task) = (task.moves(), self.dense(task)?);
        let moved = (self.moves[task as usize] + 1) % MOVES;
        self.moves[task as usize] = if injected { moved | IN_INJECTOR } else { moved };
        if moved != moves {
            return Err(record_violation(format!(
                "task {task} was put into a queue for the {moves}th time, but that was the {moved}th"
            )));
        }
        match self.oracles.tasks.queued(task, worker)? {
            Came::New => {
                if worker.is_none() {
                    if self.next_task(actor)? != task {
                        return Err(record_violation(format!(
                            "{} hands over task {task} out of turn",
                            self.names[actor]
                        )));
                    }
                    if !std::mem::replace(&mut self.actors[actor].publishing, true) {
                        self.oracles.sleep.publishing += 1;
                    }
                }
                self.oracles.count.began(actor)?;
            }
            Came::Private { worker } | Came::OfRun { worker } => self.oracles.sleep.kept_no_longer(worker),
        }
        self.oracles.sleep.pushed_somewhere();
        Ok(())
    }

    fn handed_over(&mut self, actor: usize) -> Result<(), Violation> {
        if !std::mem::take(&mut self.actors[actor].publishing) {
            return Err(record_violation(format!(
                "{} has handed nothing over",
                self.names[actor]
            )));
        }
        self.oracles.count.environment_is_even(actor)?;
        self.oracles.sleep.publishing -= 1;
        self.oracles.sleep.quiet()
    }

    fn refused(&mut self, actor: usize, tasks: u32) -> Result<(), Violation> {
        if is_accepting(self.actors[actor].state) {
            return Err(Violation::new(
                Oracle::Gate,
                format!(
                    "{tasks} tasks of {} were refused, which had seen the gate open",
                    self.names[actor]
                ),
            ));
        }
        for _ in 0..tasks {
            let task = self.next_task(actor)?;
            self.oracles.tasks.refused(task)?;
            self.ended += 1;
        }
        Ok(())
    }

    fn started(&mut self, worker: usize, task: TaskId) -> Result<(), Violation> {
        if let Some(running) = self.actors[worker].running {
            return Err(record_violation(format!(
                "worker {worker} starts task {task:?} in the middle of task {running}"
            )));
        }
        let task = self.reached(worker, task)?;
        self.oracles.tasks.started(task, worker)?;
        self.oracles.protocol.starts(worker)?;
        self.actors[worker].running = Some(task);
        Ok(())
    }

    fn ends(&mut self, worker: usize) -> Result<u64, Violation> {
        self.ended += 1;
        let running = self.actors[worker].running.take();
        running.ok_or_else(|| record_violation(format!("worker {worker} runs nothing that could end")))
    }

    /// This event is the first to show that `worker` took `task`.
    fn reached(&mut self, worker: usize, task: TaskId) -> Result<u64, Violation> {
        let id = task;
        let task = self.dense(task)?;
        let oracles = &mut self.oracles;
        if oracles.tasks.is_private_to(task, worker) {
            oracles.sleep.kept_no_longer(worker);
            // A task from the injector bypasses nothing there.
            let bypasses = !oracles.tasks.is_of_run(task, worker);
            oracles.tasks.taken(task, worker)?;
            if bypasses {
                oracles.fairness.took_own(worker)?;
            }
        } else if !oracles.tasks.is_in_hand(task, worker) {
            self.taken(worker, id, false)?;
            self.oracles.fairness.took_own(worker)?;
        }
        Ok(task)
    }

    fn taken(&mut self, worker: usize, task: TaskId, injected: bool) -> Result<(), Violation> {
        let place = self.dense(task)?;
        self.oracles.tasks.taken(place, worker)?;
        self.was_in(task, injected)?;
        self.oracles.sleep.taken_somewhere();
        Ok(())
    }

    fn was_in(&self, task: TaskId, injector: bool) -> Result<u64, Violation> {
        let task = self.dense(task)?;
        if (self.moves[task as usize] & IN_INJECTOR != 0) == injector {
            return Ok(task);
        }
        let [said, is] = if injector {
            ["the injector", "a worker's queue"]
        } else {
            ["a worker's queue", "the injector"]
        };
        Err(record_violation(format!(
            "task {task} comes out of {said}, but was put into {is}"
        )))
    }

    fn wakes(&mut self, worker: usize) {
        if std::mem::take(&mut self.asleep[worker]) {
            self.oracles.sleep.parked -= 1;
        }
    }

    fn next_task(&mut self, actor: usize) -> Result<u64, Violation> {
        let number = self.actors[actor].next;
        self.actors[actor].next += 1;
        self.dense(TaskId::new(actor as u32, number))
    }

    fn dense(&self, task: TaskId) -> Result<u64, Violation> {
        let actor = task.party();
        let bounds = self.first_task.get(actor).zip(self.first_task.get(actor + 1));
        bounds
            .map(|(first, end)| (first + u64::from(task.number()), end))
            .filter(|(task, end)| task < end)
            .map(|(task, _)| task)
            .ok_or_else(|| record_violation(format!("task {task:?} was never created")))
    }

    fn note(&mut self, actor: usize, event: Event) {
        self.steps += 1;
        let task = |task| match self.dense(task) {
            Ok(task) => (Object::Task(task), task),
            Err(_) => (Object::None, 0),
        };
        let (op, (object, value)) = match event {
            Event::Spawned { tasks } => (Op::Keep, (Object::None, u64::from(tasks))),
            Event::Started { task: id } => (Op::Start, task(id)),
            Event::Ended => (Op::End, running(&self.actors[actor])),
            Event::Panicked => (Op::Panic, running(&self.actors[actor])),
            Event::Returned { task: id } => (Op::HandBack, task(id)),
            Event::Pushed { task: id } => (Op::Push, task(id)),
            Event::Injected { task: id } => (Op::Inject, task(id)),
            Event::TookInjected { task: id, .. } | Event::OfRun { task: id } => (Op::TakeInjected, task(id)),
            Event::InjectorEmpty => (Op::TakeEmpty, (Object::Injector, 0)),
            Event::Stole { task: id, victim } => (Op::TakeFrom, (Object::Worker(victim), task(id).1)),
            Event::Parked => (Op::Park, (Object::None, 0)),
            Event::Awoke => (Op::Awake, (Object::None, 0)),
            Event::Unparked { worker } => (Op::Unpark, (Object::Worker(worker), 0)),
            Event::Left => (Op::Leave, (Object::None, 0)),
            Event::Changed { word, after, .. } => (Op::Fetch, (Object::Word(word), u64::from(after))),
            Event::Read { word, value, .. } => (Op::Load, (Object::Word(word), u64::from(value))),
            Event::HandedOver => (Op::HandOver, (Object::Injector, 0)),
            Event::Refused { tasks } => (Op::Refused, (Object::None, u64::from(tasks))),
            Event::Idle => (Op::Wait, (Object::None, 0)),
            Event::GaveUp => (Op::GiveUp, (Object::None, 0)),
        };
        self.trace.did(self.steps, actor, op, object, value, self.steps);
    }
}

fn running(actor: &Actor) -> (Object, u64) {
    actor
        .running
        .map_or((Object::None, 0), |task| (Object::Task(task), task))
}

fn record_violation(message: String) -> Violation {
    Violation::new(Oracle::Record, message)
}
