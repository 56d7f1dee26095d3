//! Every accepted task runs exactly once or is handed back.
//!
//! Each task gets a number when it is put into a queue for the first time, and the number stays beside it there. A worker
//! that takes a task out has that one, and only that one, in hand until it runs it or hands it back. At the end no
//! task may be on its way any more.

use super::{Oracle, Violation};

/// A task's number.
pub(crate) type TaskId = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// In a queue, or on its way from one to another.
    Queued,
    /// A worker has taken it.
    InHand,
    Running,
    Ran,
    Panicked,
    HandedBack,
}

/// Follows every task.
#[derive(Debug, Default)]
pub(crate) struct TaskOracle {
    stages: Vec<Stage>,
    /// What each worker has in hand or runs.
    hands: Vec<Option<TaskId>>,
    spawned: u64,
}

impl TaskOracle {
    pub(crate) fn begin(&mut self, workers: usize) {
        self.hands = vec![None; workers];
    }

    /// A new task, put into a queue, by a worker or from outside.
    pub(crate) fn queued(&mut self, by_worker: bool) -> TaskId {
        self.spawned += u64::from(by_worker);
        self.stages.push(Stage::Queued);
        self.stages.len() as TaskId - 1
    }

    /// So many of the tasks that a worker queued were handed over as from outside.
    pub(crate) fn not_spawned(&mut self, tasks: usize) {
        self.spawned -= tasks as u64;
    }

    /// `worker` has taken `task`.
    pub(crate) fn taken(&mut self, task: TaskId, worker: usize) -> Result<(), Violation> {
        if let Some(other) = self.hands[worker].replace(task) {
            return Err(violation(format!(
                "worker {worker} took task {task} while it had task {other} in hand"
            )));
        }
        self.step(task, Stage::Queued, Stage::InHand)
    }

    /// `worker` starts what it has in hand.
    pub(crate) fn started(&mut self, worker: usize) -> Result<TaskId, Violation> {
        let Some(task) = self.hands[worker] else {
            return Err(violation(format!(
                "worker {worker} runs a task that it did not take"
            )));
        };
        self.step(task, Stage::InHand, Stage::Running)?;
        Ok(task)
    }

    /// What `worker` runs has ended.
    pub(crate) fn ran(&mut self, worker: usize) -> Result<TaskId, Violation> {
        let Some(task) = self.hands[worker].take() else {
            return Err(violation(format!(
                "worker {worker} ended a task that it did not run"
            )));
        };
        self.step(task, Stage::Running, Stage::Ran)?;
        Ok(task)
    }

    /// What `worker` runs has panicked. `None` if it runs nothing.
    pub(crate) fn panicked(&mut self, worker: usize) -> Option<TaskId> {
        let task = self.hands[worker].filter(|&task| self.stages[task as usize] == Stage::Running)?;
        self.hands[worker] = None;
        self.stages[task as usize] = Stage::Panicked;
        Some(task)
    }

    /// `worker` hands back what it has in hand.
    pub(crate) fn handed_back(&mut self, worker: usize) -> Result<TaskId, Violation> {
        let Some(task) = self.hands[worker].take() else {
            return Err(violation(format!(
                "worker {worker} hands back a task that it did not take"
            )));
        };
        self.step(task, Stage::InHand, Stage::HandedBack)?;
        Ok(task)
    }

    /// At the end: nothing may be on its way, and as many came back as were taken to be handed back.
    pub(crate) fn end(&self, came_back: usize) -> Result<(), Violation> {
        for (task, stage) in self.stages.iter().enumerate() {
            if matches!(stage, Stage::Queued | Stage::InHand | Stage::Running) {
                return Err(violation(format!("task {task} is still {stage:?} at the end")));
            }
        }
        let totals = self.totals();
        if totals.handed_back != came_back as u64 {
            return Err(violation(format!(
                "{} tasks were taken to be handed back, but {came_back} came back",
                totals.handed_back
            )));
        }
        Ok(())
    }

    /// How it came out.
    pub(crate) fn totals(&self) -> Totals {
        let count = |wanted| self.stages.iter().filter(|&&stage| stage == wanted).count() as u64;
        Totals {
            spawned: self.spawned,
            ran: count(Stage::Ran),
            panicked: count(Stage::Panicked),
            handed_back: count(Stage::HandedBack),
        }
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

/// Tasks by what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Spawned by workers; the rest came from outside.
    pub(crate) spawned: u64,
    pub(crate) ran: u64,
    pub(crate) panicked: u64,
    pub(crate) handed_back: u64,
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

    #[test]
    fn a_task_that_starts_twice_is_noticed() {
        let mut oracle = oracle();
        let task = oracle.queued(false);
        oracle.taken(task, 0).expect("it is in a queue");
        assert_eq!(oracle.started(0), Ok(task));
        assert!(oracle.started(0).is_err());
    }

    #[test]
    fn a_task_that_two_workers_take_is_noticed() {
        let mut oracle = oracle();
        let task = oracle.queued(false);
        oracle.taken(task, 0).expect("it is in a queue");
        assert!(oracle.taken(task, 1).is_err());
    }

    #[test]
    fn a_task_that_is_left_in_a_queue_is_noticed_at_the_end() {
        let mut oracle = oracle();
        oracle.queued(false);
        let violation = oracle.end(0).expect_err("it never ran");
        assert!(violation.message.contains("task 0"), "{}", violation.message);
    }

    #[test]
    fn a_task_that_is_dropped_in_favour_of_another_is_noticed() {
        let mut oracle = oracle();
        let (one, other) = (oracle.queued(false), oracle.queued(true));
        oracle.taken(one, 0).expect("it is in a queue");
        assert!(oracle.taken(other, 0).is_err());
    }

    #[test]
    fn a_task_that_was_taken_to_be_handed_back_must_come_back() {
        let mut oracle = oracle();
        let task = oracle.queued(false);
        oracle.taken(task, 1).expect("it is in a queue");
        assert_eq!(oracle.handed_back(1), Ok(task));
        assert!(oracle.end(0).is_err());
        assert_eq!(oracle.end(1), Ok(()));
    }
}
