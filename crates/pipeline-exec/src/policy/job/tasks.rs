//! The tasks of a job that grows.
//!
//! The table is in the job's ledger, under its lock. A worker takes out the task that it runs, so
//! no two workers can be in one task.
//!
//! ```text
//!                  spawn
//!                    │
//!                    ▼           take
//!      wake ───►  ready  ──────────────────►  running
//!        ▲          ▲                        │   │   │
//!        │          └── put back: Again, or ─┘   │   └── finish: Done, cancelled, closed
//!      parked           woken during the turn    │
//!        ▲                                       │
//!        └────────── put back: Parked ───────────┘
//! ```
//!
//! | state | `paused` | `ready` |
//! |---|---|---|
//! | parked | the task | no |
//! | ready, its number is in the queue | the task | yes |
//! | running | – | no |
//! | running, and woken meanwhile | – | yes |

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::task::Waker;

use crate::task::{Task, Turn};

/// Number of the only stage. Its one slot stays claimed.
pub(crate) const STAGE: usize = 0;

/// Number of ready tasks, from the head, among which a worker prefers its own last ones.
const NEAR: usize = 8;

/// Number of consecutive takes that may pass over the queue's head.
const PASSES_MAX: usize = 4;

#[derive(Debug)]
pub(crate) struct Tasks {
    entries: BTreeMap<usize, Entry>,
    queue: VecDeque<usize>,
    passes: usize,
    spawned: usize,
    open: bool,
    closed: bool,
    over: bool,
}

#[derive(Debug)]
struct Entry {
    /// `None` while a worker runs the task or a closer drops it.
    paused: Option<Paused>,
    ready: bool,
    cancelled: bool,
    worker: Option<usize>,
}

pub(crate) struct Paused {
    pub(crate) task: Box<dyn Task>,
    pub(crate) waker: Waker,
}

#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) number: usize,
    pub(crate) paused: Paused,
    pub(crate) cancelled: bool,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            queue: VecDeque::new(),
            passes: 0,
            spawned: 0,
            open: true,
            closed: false,
            over: false,
        }
    }

    pub(crate) fn spawn(
        &mut self,
        task: Box<dyn Task>,
        waker: impl FnOnce(usize) -> Waker,
    ) -> Result<usize, Box<dyn Task>> {
        if self.closed || self.over {
            return Err(task);
        }
        let number = self.spawned;
        self.spawned += 1;
        let paused = Paused {
            task,
            waker: waker(number),
        };
        self.entries.insert(
            number,
            Entry {
                paused: Some(paused),
                ready: true,
                cancelled: false,
                worker: None,
            },
        );
        self.queue.push_back(number);
        Ok(number)
    }

    /// Returns whether the task became ready; then the caller makes it claimable.
    pub(crate) fn wake(&mut self, number: usize) -> bool {
        if self.closed {
            return false;
        }
        let Some(entry) = self.entries.get_mut(&number) else {
            return false;
        };
        let runs = entry.paused.is_none();
        if entry.ready {
            return false;
        }
        entry.ready = true;
        if !runs {
            self.queue.push_back(number);
        }
        !runs
    }

    /// Returns what [`wake`](Self::wake) does.
    pub(crate) fn cancel(&mut self, number: usize) -> bool {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.cancelled = true;
        }
        self.wake(number)
    }

    /// Prefers a near task that `worker` ran last, because that core's caches have its memory.
    pub(crate) fn take(&mut self, worker: usize) -> Option<Taken> {
        let own = |number: &usize| {
            let entry = self.entries.get(number);
            entry.is_some_and(|entry| entry.worker == Some(worker))
        };
        let place = match self.passes {
            PASSES_MAX.. => 0,
            _ => self.queue.iter().take(NEAR).position(own).unwrap_or(0),
        };
        let number = self.queue.remove(place)?;
        self.passes = if place == 0 { 0 } else { self.passes + 1 };
        let entry = self.entries.get_mut(&number)?;
        let paused = entry.paused.take()?;
        entry.ready = false;
        entry.worker = Some(worker);
        Some(Taken {
            number,
            paused,
            cancelled: entry.cancelled,
        })
    }

    /// Returns as [`wake`](Self::wake). A task without a further turn comes back; the caller drops
    /// it and calls [`finish`](Self::finish).
    pub(crate) fn put_back(&mut self, number: usize, paused: Paused, turn: Turn) -> Result<bool, Paused> {
        let Some(entry) = self.entries.get_mut(&number) else {
            return Err(paused);
        };
        if turn == Turn::Done || self.closed || entry.cancelled {
            return Err(paused);
        }
        entry.paused = Some(paused);
        entry.ready |= turn == Turn::Again;
        if entry.ready {
            self.queue.push_back(number);
        }
        Ok(entry.ready)
    }

    /// Returns whether the caller ends the job.
    pub(crate) fn finish(&mut self, numbers: impl IntoIterator<Item = usize>) -> bool {
        for number in numbers {
            self.entries.remove(&number);
        }
        self.is_over()
    }

    pub(crate) fn leave(&mut self) -> bool {
        self.open = false;
        self.is_over()
    }

    /// Returns the tasks that no worker runs. The caller drops them and calls
    /// [`finish`](Self::finish), even for none.
    pub(crate) fn close(&mut self) -> Vec<(usize, Paused)> {
        self.closed = true;
        self.open = false;
        self.queue.clear();
        let paused = self.entries.iter_mut();
        paused
            .filter_map(|(&number, entry)| Some((number, entry.paused.take()?)))
            .collect()
    }

    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.spawned - self.entries.len(), self.spawned)
    }

    fn is_over(&mut self) -> bool {
        !self.open && self.entries.is_empty() && !std::mem::replace(&mut self.over, true)
    }
}

impl fmt::Debug for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paused").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StepError;
    use crate::step_cx::StepCx;

    struct Idle;

    impl Task for Idle {
        fn name(&self) -> &'static str {
            "idle"
        }

        fn turn(&mut self, _: &StepCx<'_>, _: &Waker) -> Result<Turn, StepError> {
            Ok(Turn::Again)
        }
    }

    fn ready(number: usize) -> Tasks {
        let mut tasks = Tasks::new();
        for _ in 0..number {
            assert!(
                tasks
                    .spawn(Box::new(Idle), |_number| Waker::noop().clone())
                    .is_ok()
            );
        }
        tasks
    }

    fn turn(tasks: &mut Tasks, worker: usize) -> usize {
        let taken = tasks.take(worker).unwrap();
        assert!(tasks.put_back(taken.number, taken.paused, Turn::Again).unwrap());
        taken.number
    }

    #[test]
    fn a_worker_takes_the_task_that_it_ran_last_before_one_that_another_ran() {
        let mut tasks = ready(2);
        assert_eq!((turn(&mut tasks, 0), turn(&mut tasks, 1)), (0, 1));
        assert_eq!((turn(&mut tasks, 1), turn(&mut tasks, 0)), (1, 0));
    }

    #[test]
    fn a_task_that_is_not_near_the_first_is_not_looked_for() {
        let mut tasks = ready(NEAR + 1);
        assert_eq!(turn(&mut tasks, 0), 0);
        assert_eq!(turn(&mut tasks, 0), 1, "task 0 is behind eight others");
    }

    #[test]
    fn the_task_that_has_been_ready_for_longest_is_passed_over_a_few_times_in_a_row() {
        let mut tasks = ready(3);
        let taken: Vec<_> = (0..3 * (PASSES_MAX + 1)).map(|_| turn(&mut tasks, 0)).collect();
        for number in 0..3 {
            assert!(taken.contains(&number), "{number} of {taken:?}");
        }
        let runs = taken.chunk_by(|one, next| one == next);
        assert!(
            runs.map(<[usize]>::len).max() <= Some(PASSES_MAX + 1),
            "{taken:?}"
        );
    }
}
