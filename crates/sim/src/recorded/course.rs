//! What each event of a record means to the oracles, and how it is shown.

use executor_core::record::{Event, Record, TaskId, WordName};
use executor_core::sleep::SleepWord;
use executor_core::{in_flight, is_accepting};

use super::merge::Wait;
use super::{Checked, Rejection};
use crate::oracle::{Came, Oracle, Oracles, Violation};
use crate::trace::{Object, Op, Trace};

/// A record counts the moves of a task up to here, and then begins again.
const MOVES: u8 = 128;

/// The bit above that.
const IN_INJECTOR: u8 = MOVES;

/// The run so far, in the order that was found.
pub(super) struct Course {
    oracles: Oracles,
    workers: usize,
    parties: Vec<Party>,
    /// Where the numbers of each party's tasks begin, and, last, how many tasks there are.
    first_task: Vec<u64>,
    handed_back: Vec<u64>,
    /// By task: how many times it has been put into a queue, modulo 128, and in the bit above whether that was the injector.
    moves: Vec<u8>,
    /// Whether each worker is parked, and no waker has chosen it.
    asleep: Vec<bool>,
    /// Tasks that came to their end.
    ended: u64,
    steps: u64,
    trace: Trace,
    names: Vec<String>,
}

/// What is known of one party.
#[derive(Default)]
struct Party {
    /// The next task that it brings into the world, by number.
    next: u32,
    /// The task that runs.
    running: Option<u64>,
    /// Tasks of a run from the injector that are still to be named.
    of_run: u32,
    /// Whether it hands something over.
    publishing: bool,
    /// The state word as it last saw it.
    state: usize,
    /// The last version of each word that it has seen: state, sleep, own slot.
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
        for party in 0..record.parties() {
            oracles.count.add_party();
            let tasks = u64::from(record.tasks(party));
            oracles.tasks.number_many(tasks);
            first_task.push(first_task[party] + tasks);
        }
        let names = (0..record.parties()).map(|party| {
            if party < workers {
                format!("worker {party}")
            } else {
                format!("outside {}", party - workers)
            }
        });
        let party = |_| Party {
            state: executor_core::ACCEPTING_BIT,
            ..Party::default()
        };
        let mut course = Self {
            oracles,
            workers,
            parties: (0..record.parties()).map(party).collect(),
            moves: vec![0; first_task[record.parties()] as usize],
            first_task,
            handed_back: Vec::new(),
            asleep: vec![false; workers],
            ended: 0,
            steps: 0,
            trace: Trace::new(keep),
            names: names.collect(),
        };
        // A task that nobody knows is none of these, and the end will not find it.
        let ids = record.handed_back().iter();
        course.handed_back = ids.map(|&task| course.dense(task).unwrap_or(u64::MAX)).collect();
        course
    }

    pub(super) fn name(&self, party: usize) -> &str {
        &self.names[party]
    }

    /// What `party` has to wait for before it can come with `task`.
    pub(super) fn to_take(&self, party: usize, task: TaskId) -> Result<Option<Wait>, Violation> {
        let (moves, task) = (task.moves(), self.dense(task)?);
        let moved = self.moves[task as usize] % MOVES;
        let is_there = moves == moved && self.oracles.tasks.is_reachable(task, party);
        Ok((!is_there).then(|| Wait::Task {
            task,
            moves,
            is: format!("{} after {moved}", self.oracles.tasks.describe(task)),
        }))
    }

    /// The next event is this one of `party`.
    pub(super) fn place(&mut self, party: usize, event: Event) -> Result<(), Violation> {
        self.note(party, event);
        if self.parties[party].left {
            return Err(record_violation(format!("{} has left before", self.names[party])));
        }
        if self.parties[party].of_run > 0 && !matches!(event, Event::OfRun { .. }) {
            return Err(record_violation(format!(
                "{} has taken {} more tasks from the injector, and goes on without them",
                self.names[party], self.parties[party].of_run
            )));
        }
        match event {
            Event::Changed {
                word,
                version,
                before,
                after,
            } => self.changed(party, word, version, before as usize, after as usize),
            Event::Read { word, version, value } => self.read(party, word, version, value as usize),
            Event::Injected { task } => self.queued(party, task, true),
            _ if party < self.workers => self.worker_did(party, event),
            Event::HandedOver => self.handed_over(party),
            Event::Refused { tasks } => self.refused(party, tasks),
            Event::Idle if in_flight(self.parties[party].state) == 0 => Ok(()),
            Event::Idle => Err(Violation::new(
                Oracle::Count,
                format!(
                    "{} has waited until nothing is in flight, but last saw {}",
                    self.names[party],
                    in_flight(self.parties[party].state)
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
            other => Err(record_violation(format!("nobody outside does this: {other:?}"))),
        }
    }

    /// All events are placed, and the state word is this.
    pub(super) fn end(&mut self, state: u32) -> Result<(), Violation> {
        if let Some(worker) = (0..self.workers).find(|&worker| !self.parties[worker].left) {
            return Err(record_violation(format!("worker {worker} has never left")));
        }
        for (party, name) in self.names.iter().enumerate() {
            if self.parties[party].publishing {
                return Err(record_violation(format!("{name} has never ended a hand-over")));
            }
            let (told, tasks) = (
                u64::from(self.parties[party].next),
                self.first_task[party + 1] - self.first_task[party],
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
            parties: self.names,
        }
    }

    /// Shows what came before a rejection.
    pub(super) fn show(&mut self, rejection: &mut Rejection) {
        rejection.neighbourhood = self.trace.tail();
        rejection.parties = std::mem::take(&mut self.names);
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
            Event::HandedBack { task } => {
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
                self.parties[worker].of_run = more;
                self.taken(worker, task, true)
            }
            Event::OfRun { task } => {
                let Some(left) = self.parties[worker].of_run.checked_sub(1) else {
                    return Err(record_violation(format!(
                        "worker {worker} names a task that it did not take together with others"
                    )));
                };
                self.parties[worker].of_run = left;
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
                self.parties[worker].left = true;
                self.oracles.sleep.left += 1;
                self.oracles.sleep.quiet()
            }
            Event::Unparked { .. } => Ok(()),
            other => Err(record_violation(format!("no worker does this: {other:?}"))),
        }
    }

    fn changed(
        &mut self,
        party: usize,
        word: WordName,
        version: u32,
        before: usize,
        after: usize,
    ) -> Result<(), Violation> {
        self.sees(party, word, version.wrapping_add(1))?;
        match word {
            WordName::State => {
                self.parties[party].state = after;
                let outside = party >= self.workers;
                if in_flight(after) > in_flight(before) && self.parties[party].publishing {
                    return Err(record_violation(format!(
                        "{} was let in again before it had handed over",
                        self.names[party]
                    )));
                }
                self.oracles.state_changed(party, outside, before, after)
            }
            WordName::Sleep => {
                let [before, after] = [before, after].map(SleepWord::of_value);
                self.oracles.sleep_changed(party, before, after)
            }
            WordName::Slot(slot) if (slot as usize) < self.workers => {
                let worker = slot as usize;
                (self.oracles.protocol).slot_changed(party, worker, before, after)?;
                if after == 0 {
                    self.wakes(worker);
                }
                Ok(())
            }
            other => Err(record_violation(format!("nobody watches the {other}"))),
        }
    }

    fn read(&mut self, party: usize, word: WordName, version: u32, value: usize) -> Result<(), Violation> {
        self.sees(party, word, version)?;
        match word {
            WordName::State => self.parties[party].state = value,
            WordName::Sleep => {
                let word = SleepWord::of_value(value);
                self.oracles.protocol.learns(party, word);
            }
            _ => {}
        }
        Ok(())
    }

    /// Nobody sees an older value of a word than it has seen.
    fn sees(&mut self, party: usize, word: WordName, version: u32) -> Result<(), Violation> {
        let seen = match word {
            WordName::State => &mut self.parties[party].seen[0],
            WordName::Sleep => &mut self.parties[party].seen[1],
            WordName::Slot(worker) if worker as usize == party => &mut self.parties[party].seen[2],
            _ => return Ok(()),
        };
        let before = std::mem::replace(seen, version);
        if version > before {
            return Ok(());
        }
        Err(record_violation(format!(
            "{} saw the {word} after {version} changes, and had seen it after {before}",
            self.names[party]
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

    fn queued(&mut self, party: usize, task: TaskId, injected: bool) -> Result<(), Violation> {
        let worker = (party < self.workers).then_some(party);
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
                    if self.next_task(party)? != task {
                        return Err(record_violation(format!(
                            "{} hands over task {task} out of turn",
                            self.names[party]
                        )));
                    }
                    if !std::mem::replace(&mut self.parties[party].publishing, true) {
                        self.oracles.sleep.publishing += 1;
                    }
                }
                self.oracles.count.began(party)?;
            }
            Came::Private { worker } | Came::OfRun { worker } => self.oracles.sleep.kept_no_longer(worker),
        }
        self.oracles.sleep.pushed_somewhere();
        Ok(())
    }

    fn handed_over(&mut self, party: usize) -> Result<(), Violation> {
        if !std::mem::take(&mut self.parties[party].publishing) {
            return Err(record_violation(format!(
                "{} has handed nothing over",
                self.names[party]
            )));
        }
        self.oracles.count.outside_is_even(party)?;
        self.oracles.sleep.publishing -= 1;
        self.oracles.sleep.quiet()
    }

    fn refused(&mut self, party: usize, tasks: u32) -> Result<(), Violation> {
        if is_accepting(self.parties[party].state) {
            return Err(Violation::new(
                Oracle::Gate,
                format!(
                    "{tasks} tasks of {} were refused, which had seen the gate open",
                    self.names[party]
                ),
            ));
        }
        for _ in 0..tasks {
            let task = self.next_task(party)?;
            self.oracles.tasks.refused(task)?;
            self.ended += 1;
        }
        Ok(())
    }

    fn started(&mut self, worker: usize, task: TaskId) -> Result<(), Violation> {
        if let Some(running) = self.parties[worker].running {
            return Err(record_violation(format!(
                "worker {worker} starts task {task:?} in the middle of task {running}"
            )));
        }
        let task = self.reached(worker, task)?;
        self.oracles.tasks.started(task, worker)?;
        self.oracles.protocol.starts(worker)?;
        self.parties[worker].running = Some(task);
        Ok(())
    }

    fn ends(&mut self, worker: usize) -> Result<u64, Violation> {
        self.ended += 1;
        let running = self.parties[worker].running.take();
        running.ok_or_else(|| record_violation(format!("worker {worker} runs nothing that could end")))
    }

    /// `worker` comes with `task`. If it has not been heard of its being taken, this is it.
    fn reached(&mut self, worker: usize, task: TaskId) -> Result<u64, Violation> {
        let id = task;
        let task = self.dense(task)?;
        let oracles = &mut self.oracles;
        if oracles.tasks.is_private_to(task, worker) {
            oracles.sleep.kept_no_longer(worker);
            // What came from the injector bypasses nobody there.
            let bypasses = !oracles.tasks.is_of_run(task, worker);
            oracles.tasks.taken(task, worker)?;
            if bypasses {
                oracles.fairness.took_own(worker)?;
            }
        } else if !oracles.tasks.is_in_hand(task, worker) {
            // Out of its own queue, where it had pushed it or a theft had brought it.
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

    /// The place among all of a task that comes out of the injector, or out of a worker's queue.
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

    fn next_task(&mut self, party: usize) -> Result<u64, Violation> {
        let number = self.parties[party].next;
        self.parties[party].next += 1;
        self.dense(TaskId::new(party as u32, number))
    }

    /// The task's place among all.
    fn dense(&self, task: TaskId) -> Result<u64, Violation> {
        let party = task.party();
        let bounds = self.first_task.get(party).zip(self.first_task.get(party + 1));
        bounds
            .map(|(first, end)| (first + u64::from(task.number()), end))
            .filter(|(task, end)| task < end)
            .map(|(task, _)| task)
            .ok_or_else(|| record_violation(format!("nobody has brought task {task:?} into the world")))
    }

    /// Keeps the event for those who read.
    fn note(&mut self, party: usize, event: Event) {
        self.steps += 1;
        let task = |task| match self.dense(task) {
            Ok(task) => (Object::Task(task), task),
            Err(_) => (Object::None, 0),
        };
        let (op, (object, value)) = match event {
            Event::Spawned { tasks } => (Op::Keep, (Object::None, u64::from(tasks))),
            Event::Started { task: id } => (Op::Start, task(id)),
            Event::Ended => (Op::End, running(&self.parties[party])),
            Event::Panicked => (Op::Panic, running(&self.parties[party])),
            Event::HandedBack { task: id } => (Op::HandBack, task(id)),
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
        self.trace.did(self.steps, party, op, object, value, self.steps);
    }
}

fn running(party: &Party) -> (Object, u64) {
    party
        .running
        .map_or((Object::None, 0), |task| (Object::Task(task), task))
}

fn record_violation(message: String) -> Violation {
    Violation::new(Oracle::Record, message)
}
