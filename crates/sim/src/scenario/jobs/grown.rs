//! Growing jobs: tasks joined by bounded channels, drawn from the seed.
//!
//! ```text
//!   source ──► task ──► root        a chain, or a tree: each task but the first sends to an earlier one.
//!   source ──────────────┘          A source makes numbers, a task passes on what it receives,
//!                                   the root counts what arrives.
//! ```
//!
//! A turn does a few steps and returns `Again`, or `Parked` after leaving its waker with a full or
//! empty channel, or with the [`Environment`]. The tasks check that a channel is in order, and that
//! a completed job has passed on every number made.

mod environment;
mod task;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pipeline_exec::open_job::Task;

use super::Jobs;
use super::plan::{Inner, Plan};
use crate::oracle::{Oracle, Violation};
use crate::pipeline::{Ask, Asks};
use crate::scheduler::Dice;
use task::{GrownTask, Shared, channel};

pub(super) use environment::{Environment, Next};

#[derive(Clone)]
pub(super) struct GrownPlan {
    first: Vec<TaskPlan>,
    later: Vec<TaskPlan>,
    pub(super) handle: Handle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handle {
    AtOnce,
    Later,
    AtLast,
}

#[derive(Clone)]
struct TaskPlan {
    /// `None`: it keeps what it has.
    to: Option<usize>,
    /// Numbers that it makes, if no task sends to it.
    makes: u64,
    room: usize,
    steps: usize,
    has_handle: bool,
    turns: Vec<TurnPlan>,
}

#[derive(Clone)]
struct TurnPlan {
    whim: Whim,
    ns: u64,
}

#[derive(Clone)]
enum Whim {
    None,
    /// Asks whether to stop and to yield; both questions are steps.
    Asks,
    WakesItself,
    WakesOthers,
    Waits,
    Adds(Box<TaskPlan>),
    Cancels(usize),
    Nests(Arc<Inner>),
    Fails,
    Panics,
}

pub(super) struct Grown {
    job: usize,
    asks: Asks,
    environment: Environment,
    alive: AtomicUsize,
    cut: AtomicUsize,
    made: AtomicUsize,
    kept: AtomicUsize,
    complaints: Arc<Mutex<Vec<Violation>>>,
}

pub(super) type Held = Arc<Leaves>;

pub(super) struct Leaves {
    job: usize,
    asks: Asks,
}

impl GrownPlan {
    pub(super) fn draw(dice: &mut Dice, plan: &Plan, jobs: &Jobs) -> Self {
        let is_chain = dice.below(2) == 0;
        let first = 1 + dice.below(jobs.tasks as usize);
        let to = |dice: &mut Dice, number: usize| match number {
            0 => None,
            _ if is_chain => Some(number - 1),
            _ => Some(dice.below(number)),
        };
        let first: Vec<TaskPlan> = (0..first)
            .map(|number| TaskPlan {
                to: to(dice, number),
                ..TaskPlan::draw(dice, plan, jobs, 0)
            })
            .collect();
        let later = dice.below(6).saturating_sub(3);
        Self {
            first,
            later: (0..later).map(|_| TaskPlan::draw(dice, plan, jobs, 1)).collect(),
            handle: [Handle::AtOnce, Handle::Later, Handle::Later, Handle::AtLast][dice.below(4)],
        }
    }

    pub(super) fn first(&self, grown: &Arc<Grown>, handle: &Held) -> Vec<Box<dyn Task>> {
        let each = self.first.iter();
        let channels: Vec<Option<Shared>> = each.map(|task| task.to.map(|_| channel(task.room))).collect();
        let inputs = |reader: usize| {
            let writers = self.first.iter().zip(&channels);
            let to_it = writers.filter(move |(task, _)| task.to == Some(reader));
            to_it.filter_map(|(_, channel)| channel.clone()).collect()
        };
        let tasks = self.first.iter().zip(&channels).enumerate();
        tasks
            .map(|(number, (plan, output))| {
                GrownTask::boxed(plan, grown, inputs(number), output.clone(), Some(handle))
            })
            .collect()
    }

    pub(super) fn later(&self, grown: &Arc<Grown>, handle: &Held) -> Vec<Box<dyn Task>> {
        let each = self.later.iter();
        each.map(|plan| GrownTask::boxed(plan, grown, Vec::new(), None, Some(handle)))
            .collect()
    }
}

impl TaskPlan {
    fn draw(dice: &mut Dice, plan: &Plan, jobs: &Jobs, depth: usize) -> Self {
        let turns = dice.below(5);
        Self {
            to: None,
            makes: dice.below(5) as u64,
            room: 1 + dice.below(2),
            steps: 1 + dice.below(3),
            has_handle: dice.below(4) == 0,
            turns: (0..turns)
                .map(|_| TurnPlan::draw(dice, plan, jobs, depth))
                .collect(),
        }
    }
}

/// Tasks in a row that may add each other.
const DEPTH_MAX: usize = 2;

impl TurnPlan {
    fn draw(dice: &mut Dice, plan: &Plan, jobs: &Jobs, depth: usize) -> Self {
        let whim = match dice.below(if jobs.troubles { 24 } else { 22 }) {
            0..6 => Whim::None,
            6..8 => Whim::Asks,
            8..11 => Whim::WakesItself,
            11..14 => Whim::WakesOthers,
            14..17 => Whim::Waits,
            17..19 if depth < DEPTH_MAX => Whim::Adds(Box::new(TaskPlan::draw(dice, plan, jobs, depth + 1))),
            17..20 => Whim::Cancels(dice.below(4)),
            20..22 if jobs.nests => Whim::Nests(Arc::new(plan.inner(dice, "a turn".to_owned(), jobs, 2))),
            20..22 => Whim::None,
            22 => Whim::Fails,
            _ => Whim::Panics,
        };
        Self {
            whim,
            ns: [0, 0, jobs.slot_ns, 3 * jobs.slot_ns][dice.below(4)],
        }
    }
}

impl Grown {
    pub(super) fn new(
        job: usize,
        asks: Asks,
        environment: Environment,
        complaints: Arc<Mutex<Vec<Violation>>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            job,
            asks,
            environment,
            alive: AtomicUsize::new(0),
            cut: AtomicUsize::new(0),
            made: AtomicUsize::new(0),
            kept: AtomicUsize::new(0),
            complaints,
        })
    }

    pub(super) fn handle(&self) -> Held {
        Arc::new(Leaves {
            job: self.job,
            asks: self.asks.clone(),
        })
    }

    pub(super) fn judge(&self, completed: bool, cancels: bool) {
        // Ordering: Relaxed, here and everywhere in this file. There is one thread.
        let [alive, cut, made, kept] =
            [&self.alive, &self.cut, &self.made, &self.kept].map(|count| count.load(Ordering::Relaxed));
        if alive > 0 {
            self.complain(
                Oracle::Ticket,
                format!("{alive} of its tasks are there, and its ticket has told"),
            );
        }
        if completed && cut > 0 && !cancels {
            self.complain(
                Oracle::Ticket,
                format!("it completed, and {cut} of its tasks were not done"),
            );
        }
        if completed && cut == 0 && made != kept {
            self.complain(
                Oracle::Ticket,
                format!("it completed, and of {made} values {kept} arrived"),
            );
        }
    }

    fn complain(&self, oracle: Oracle, about: String) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        complaints.push(Violation::new(oracle, format!("job {}: {about}", self.job)));
    }
}

fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Leaves {
    fn drop(&mut self) {
        self.asks.ask(Ask::Leave { job: self.job });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::jobs::PLAN;
    use crate::search::configurations::{CHANNEL, ENDS};

    #[test]
    fn the_jobs_that_grow_and_are_searched_exhaustively_are_what_their_configurations_say() {
        for (seed, values, handle) in [(CHANNEL, 1, Handle::AtLast), (ENDS, 0, Handle::Later)] {
            let jobs = Jobs {
                stages: 1,
                slots: 1,
                tasks: 2,
                ..Jobs::default()
            };
            let handed = Plan::default().any(&mut Dice::new(seed ^ PLAN), 0, &jobs);
            let plan = handed.grows.expect("it grows");
            let [root, source] = &plan.first[..] else {
                panic!("it has {} tasks", plan.first.len());
            };
            assert_eq!((source.to, source.makes, plan.later.len()), (Some(0), values, 0));
            assert!(root.turns.is_empty() && source.turns.is_empty());
            assert_eq!((root.has_handle, source.has_handle), (seed == CHANNEL, false));
            assert_eq!(plan.handle, handle);
            assert_eq!(handed.spec.terms().workers_max, usize::MAX);
        }
    }
}
