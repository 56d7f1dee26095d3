//! Every accepted task runs exactly once or is handed back.
//!
//! ```text
//!                ┌──────── pushed ────────┐
//!   numbered ─► New ─► Private ─ exposed ─► Queued ─► in hand ─► running ─► ran, or panicked
//!                │        └───────── taken ───────────► │
//!                └► refused                             └► handed back
//! ```
//!
//! A task that another returns is new, and *next* of its worker: that one runs it, keeps it or
//! pushes it.
//!
//! A worker has at most one task in hand. The take of a private task is invisible: it is in hand
//! when its worker acts on it. No task may be under way at the end.

use super::{Oracle, Violation};

pub(crate) type TaskId = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Task,
    /// A worker may call the external hand-over, too.
    External,
}

/// Where a task was before a queue got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// It was just spawned.
    New,
    /// Private to a worker.
    Private {
        /// The worker.
        worker: usize,
    },
    /// Private, and from a run of the injector.
    OfRun {
        /// The worker.
        worker: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    /// A task of this worker has returned it.
    Next(u32),
    Private(u32),
    /// Private to the worker that took it from the injector in a run.
    OfRun(u32),
    Queued,
    InHand,
    Running,
    Ran,
    Panicked,
    HandedBack,
    /// A hook panicked over it.
    Dropped,
    Refused,
}

/// Checks that an accepted task runs exactly once or is handed back.
#[derive(Debug, Default)]
pub struct TaskOracle {
    stages: Vec<Stage>,
    hands: Vec<Option<TaskId>>,
    spawned: u64,
}

impl TaskOracle {
    pub(crate) fn begin(&mut self, workers: usize) {
        self.hands = vec![None; workers];
    }

    pub(crate) fn number(&mut self, origin: Origin) -> TaskId {
        self.spawned += u64::from(origin == Origin::Task);
        self.stages.push(Stage::New);
        self.stages.len() as TaskId - 1
    }

    /// Numbers tasks whose kind is reported later.
    pub fn number_many(&mut self, tasks: u64) {
        self.stages.resize(self.stages.len() + tasks as usize, Stage::New);
    }

    /// Whether `worker` could act on `task` now.
    pub fn is_reachable(&self, task: TaskId, worker: usize) -> bool {
        match self.stages[task as usize] {
            Stage::New => false,
            Stage::Next(keeper) | Stage::Private(keeper) | Stage::OfRun(keeper) => keeper as usize == worker,
            _ => true,
        }
    }

    /// Whether `worker` has taken the task and not started it.
    pub fn is_in_hand(&self, task: TaskId, worker: usize) -> bool {
        self.hands[worker] == Some(task)
    }

    /// Describes where the task is.
    pub fn describe(&self, task: TaskId) -> String {
        format!("{:?}", self.stages[task as usize])
    }

    /// The task was refused.
    pub fn refused(&mut self, task: TaskId) -> Result<(), Violation> {
        self.step(task, Stage::New, Stage::Refused)
    }

    /// Records a push by the worker `by`, or the environment. Returns where `task` was before.
    pub fn queued(&mut self, task: TaskId, by: Option<usize>) -> Result<Came, Violation> {
        match (std::mem::replace(self.stage(task), Stage::Queued), by) {
            (Stage::New, _) => Ok(Came::New),
            (Stage::Next(worker), Some(by)) if worker as usize == by => Ok(Came::New),
            (Stage::Private(worker), Some(by)) if worker as usize == by => Ok(Came::Private { worker: by }),
            (Stage::OfRun(worker), Some(by)) if worker as usize == by => Ok(Came::OfRun { worker: by }),
            (before, by) => Err(violation(format!(
                "task {task} was queued by {}, but was {before:?}",
                by.map_or("the environment".to_owned(), |worker| format!("worker {worker}"))
            ))),
        }
    }

    /// A task of `worker` has returned the task.
    pub(crate) fn returned_by(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        self.step(task, Stage::New, Stage::Next(worker as u32))
    }

    /// Whether the task is what `worker` does next.
    pub(crate) fn is_next_of(&self, task: TaskId, worker: usize) -> bool {
        self.stages[task as usize] == Stage::Next(worker as u32)
    }

    /// Returns whether the task is new, or the worker's next.
    pub fn kept(&mut self, task: TaskId, worker: usize) -> bool {
        let stage = self.stage(task);
        let kept = [Stage::New, Stage::Next(worker as u32)].contains(stage);
        if kept {
            *stage = Stage::Private(worker as u32);
        }
        kept
    }

    /// `worker` took the task behind the first of a run.
    pub fn unpacked(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        self.step(task, Stage::Queued, Stage::OfRun(worker as u32))
    }

    /// Whether the task is private to `worker`.
    pub fn is_private_to(&self, task: TaskId, worker: usize) -> bool {
        self.stages[task as usize] == Stage::Private(worker as u32) || self.is_of_run(task, worker)
    }

    /// Whether it came to `worker` behind the first of a run.
    pub fn is_of_run(&self, task: TaskId, worker: usize) -> bool {
        self.stages[task as usize] == Stage::OfRun(worker as u32)
    }

    /// `worker` took the task.
    pub fn taken(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        if let Some(other) = self.hands[worker].replace(task) {
            return Err(violation(format!(
                "worker {worker} took task {task} while it had task {other} in hand"
            )));
        }
        if self.is_private_to(task, worker) || self.is_next_of(task, worker) {
            *self.stage(task) = Stage::InHand;
            return Ok(());
        }
        self.step(task, Stage::Queued, Stage::InHand)
    }

    pub(crate) fn in_hand(&self, worker: usize) -> Option<TaskId> {
        self.hands[worker]
    }

    /// `worker` starts the task.
    pub fn started(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        self.has(worker, task, "starts")?;
        self.step(task, Stage::InHand, Stage::Running)
    }

    /// The task returned.
    pub fn ran(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        self.has(worker, task, "ended")?;
        self.hands[worker] = None;
        self.step(task, Stage::Running, Stage::Ran)
    }

    pub(crate) fn running_on(&self, worker: usize) -> Option<TaskId> {
        self.hands[worker].filter(|&task| self.stages[task as usize] == Stage::Running)
    }

    /// The task of `worker` panicked. Returns it.
    pub fn panicked(&mut self, worker: usize) -> Option<TaskId> {
        let task = self.running_on(worker)?;
        self.hands[worker] = None;
        *self.stage(task) = Stage::Panicked;
        Some(task)
    }

    pub(crate) fn dropped(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        self.has(worker, task, "drops")?;
        self.hands[worker] = None;
        self.step(task, Stage::InHand, Stage::Dropped)
    }

    /// `worker` returned the task to the owner.
    pub fn handed_back(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        self.has(worker, task, "hands back")?;
        self.hands[worker] = None;
        self.step(task, Stage::InHand, Stage::HandedBack)
    }

    /// Fails if a task is under way at the end, or others `came_back` than were handed back.
    pub fn end(&self, came_back: impl Iterator<Item = TaskId>) -> Result<(), Violation> {
        for (task, stage) in self.stages.iter().enumerate() {
            match stage {
                Stage::Ran | Stage::Panicked | Stage::HandedBack | Stage::Dropped | Stage::Refused => {}
                Stage::New
                | Stage::Next(_)
                | Stage::Private(_)
                | Stage::OfRun(_)
                | Stage::Queued
                | Stage::InHand
                | Stage::Running => {
                    return Err(violation(format!("task {task} is still {stage:?} at the end")));
                }
            }
        }
        let mut returned = 0;
        for task in came_back {
            let stage = self.stages[task as usize];
            if stage != Stage::HandedBack {
                return Err(violation(format!("task {task} came back, but is {stage:?}")));
            }
            returned += 1;
        }
        let totals = self.totals();
        if totals.handed_back != returned {
            return Err(violation(format!(
                "{} tasks were taken to be handed back, but {returned} came back",
                totals.handed_back
            )));
        }
        Ok(())
    }

    pub(crate) fn totals(&self) -> Totals {
        let count = |wanted| self.stages.iter().filter(|&&stage| stage == wanted).count() as u64;
        Totals {
            spawned: self.spawned,
            ran: count(Stage::Ran),
            panicked: count(Stage::Panicked),
            handed_back: count(Stage::HandedBack),
            dropped: count(Stage::Dropped),
        }
    }

    fn has(&self, worker: usize, task: TaskId, does: &str) -> Result<(), Violation> {
        if self.hands[worker] == Some(task) {
            return Ok(());
        }
        let stage = self.stages[task as usize];
        Err(violation(match self.hands[worker] {
            Some(other) => format!(
                "worker {worker} {does} task {task}, which is {stage:?}, and has task {other} in hand"
            ),
            None => format!("worker {worker} {does} task {task}, which it did not take: it is {stage:?}"),
        }))
    }

    fn stage(&mut self, task: TaskId) -> &mut Stage {
        &mut self.stages[task as usize]
    }

    fn step(&mut self, task: TaskId, from: Stage, to: Stage) -> Result<(), Violation> {
        let stage = &mut self.stages[task as usize];
        let before = std::mem::replace(stage, to);
        if before == from {
            Ok(())
        } else {
            Err(violation(format!(
                "task {task} became {to:?}, but was {before:?} and not {from:?}"
            )))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) spawned: u64,
    pub(crate) ran: u64,
    pub(crate) panicked: u64,
    pub(crate) handed_back: u64,
    pub(crate) dropped: u64,
}

fn violation(message: String) -> Violation {
    Violation::new(Oracle::ExactlyOnce, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oracle() -> TaskOracle {
        let mut oracle = TaskOracle::default();
        oracle.begin(2);
        oracle
    }

    fn queued(oracle: &mut TaskOracle) -> TaskId {
        let task = oracle.number(Origin::External);
        assert_eq!(oracle.queued(task, None), Ok(Came::New));
        task
    }

    fn kept(oracle: &mut TaskOracle, worker: usize) -> TaskId {
        let task = oracle.number(Origin::Task);
        assert!(oracle.kept(task, worker));
        task
    }

    #[test]
    fn a_task_that_starts_twice_is_noticed() {
        let mut oracle = oracle();
        let task = queued(&mut oracle);
        assert_eq!(oracle.taken(task, 0), Ok(()));
        assert_eq!(oracle.started(task, 0), Ok(()));
        assert!(oracle.started(task, 0).is_err());
    }

    #[test]
    fn a_task_that_runs_again_after_its_end_is_noticed() {
        let mut oracle = oracle();
        let task = queued(&mut oracle);
        assert_eq!(oracle.taken(task, 0), Ok(()));
        assert_eq!(oracle.started(task, 0), Ok(()));
        assert_eq!(oracle.ran(task, 0), Ok(()));
        assert!(oracle.started(task, 0).is_err());
    }

    #[test]
    fn a_task_that_two_workers_take_is_noticed() {
        let mut oracle = oracle();
        let task = queued(&mut oracle);
        assert_eq!(oracle.taken(task, 0), Ok(()));
        assert!(oracle.taken(task, 1).is_err());
    }

    #[test]
    fn a_task_that_runs_while_it_is_queued_is_noticed() {
        let mut oracle = oracle();
        let task = queued(&mut oracle);
        assert!(oracle.started(task, 0).is_err());
    }

    #[test]
    fn another_task_than_the_one_in_hand_is_noticed() {
        let mut oracle = oracle();
        let (one, other) = (queued(&mut oracle), queued(&mut oracle));
        assert_eq!(oracle.taken(one, 0), Ok(()));
        assert!(oracle.started(other, 0).is_err());
        assert!(oracle.handed_back(other, 0).is_err());
        assert_eq!(oracle.handed_back(one, 0), Ok(()));
    }

    #[test]
    fn a_task_that_is_left_in_a_queue_is_noticed_at_the_end() {
        let mut oracle = oracle();
        queued(&mut oracle);
        let violation = oracle.end([].into_iter()).expect_err("it never ran");
        assert!(violation.message.contains("task 0"), "{}", violation.message);
    }

    #[test]
    fn a_task_that_never_gets_anywhere_is_noticed_at_the_end_unless_it_was_refused() {
        let mut oracle = oracle();
        let task = oracle.number(Origin::External);
        assert!(oracle.end([].into_iter()).is_err());
        assert_eq!(oracle.refused(task), Ok(()));
        assert_eq!(oracle.end([].into_iter()), Ok(()));
    }

    #[test]
    fn a_task_that_was_let_in_and_refused_is_noticed() {
        let mut oracle = oracle();
        let task = queued(&mut oracle);
        assert!(oracle.refused(task).is_err());
    }

    #[test]
    fn a_task_that_is_dropped_in_favour_of_another_is_noticed() {
        let mut oracle = oracle();
        let (one, other) = (queued(&mut oracle), kept(&mut oracle, 0));
        assert_eq!(oracle.taken(one, 0), Ok(()));
        assert!(oracle.taken(other, 0).is_err());
    }

    #[test]
    fn a_task_that_was_taken_to_be_handed_back_must_come_back() {
        let mut oracle = oracle();
        let task = queued(&mut oracle);
        assert_eq!(oracle.taken(task, 1), Ok(()));
        assert_eq!(oracle.handed_back(task, 1), Ok(()));
        assert!(oracle.end([].into_iter()).is_err());
        assert_eq!(oracle.end([task].into_iter()), Ok(()));
    }

    #[test]
    fn a_task_that_a_hook_dropped_neither_runs_nor_comes_back() {
        let mut oracle = oracle();
        let task = queued(&mut oracle);
        assert_eq!(oracle.taken(task, 0), Ok(()));
        assert_eq!(oracle.dropped(task, 0), Ok(()));
        assert_eq!(oracle.end([].into_iter()), Ok(()));
        assert!(oracle.started(task, 0).is_err());
        assert!(oracle.end([task].into_iter()).is_err());
    }

    #[test]
    fn a_task_that_ran_must_not_come_back() {
        let mut oracle = oracle();
        let (ran, back) = (queued(&mut oracle), queued(&mut oracle));
        assert_eq!(oracle.taken(ran, 0), Ok(()));
        assert_eq!(oracle.started(ran, 0), Ok(()));
        assert_eq!(oracle.ran(ran, 0), Ok(()));
        assert_eq!(oracle.taken(back, 0), Ok(()));
        assert_eq!(oracle.handed_back(back, 0), Ok(()));
        assert!(oracle.end([ran].into_iter()).is_err());
    }

    #[test]
    fn a_private_task_runs_with_its_worker_or_becomes_public() {
        let mut oracle = oracle();
        let (runs, exposed) = (kept(&mut oracle, 0), kept(&mut oracle, 0));
        assert_eq!(oracle.queued(exposed, Some(0)), Ok(Came::Private { worker: 0 }));
        assert_eq!(oracle.taken(exposed, 1), Ok(()));
        assert!(oracle.is_private_to(runs, 0));
        assert_eq!(oracle.taken(runs, 0), Ok(()));
        assert_eq!(oracle.started(runs, 0), Ok(()));
        assert_eq!(oracle.ran(runs, 0), Ok(()));
        assert_eq!(oracle.totals().spawned, 2);
    }

    #[test]
    fn a_task_that_a_queue_has_seen_is_not_private() {
        let mut oracle = oracle();
        let task = oracle.number(Origin::Task);
        assert_eq!(oracle.queued(task, Some(0)), Ok(Came::New));
        assert!(!oracle.kept(task, 0));
    }

    #[test]
    fn no_worker_runs_or_publishes_what_another_keeps() {
        let mut oracle = oracle();
        let task = kept(&mut oracle, 0);
        assert!(!oracle.is_private_to(task, 1));
        assert!(oracle.started(task, 1).is_err());
        assert!(oracle.taken(task, 1).is_err());
        let task = kept(&mut oracle, 0);
        assert!(oracle.queued(task, Some(1)).is_err());
        let task = kept(&mut oracle, 0);
        assert!(oracle.queued(task, None).is_err());
    }

    #[test]
    fn a_published_task_is_run_only_by_the_worker_that_takes_it() {
        let mut oracle = oracle();
        let task = kept(&mut oracle, 0);
        assert_eq!(oracle.queued(task, Some(0)), Ok(Came::Private { worker: 0 }));
        assert!(oracle.started(task, 0).is_err());
        assert!(oracle.queued(task, Some(0)).is_err(), "it is exposed twice");
    }

    #[test]
    fn a_private_task_that_is_forgotten_is_noticed_at_the_end() {
        let mut oracle = oracle();
        kept(&mut oracle, 1);
        assert!(oracle.end([].into_iter()).is_err());
    }
}
