//! Who is inside a pool, how often, and that nobody comes in any more once it is closed.
//!
//! One lock guards all of it: a mixed task is about I/O, and costs far more than that.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::AbortHandle;

/// The entrance of the mixed pool.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    empty: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    /// Whoever is inside is to end.
    aborting: bool,
    next: u64,
    inside: HashMap<u64, Inside>,
    /// How many are inside, by stage.
    now: [usize; 3],
    counts: GateCounts,
}

/// Somebody inside.
#[derive(Debug)]
struct Inside {
    stage: Stage,
    abort: Option<Abort>,
}

/// What ends a piece of work.
pub(crate) struct Abort {
    task: AbortHandle,
    /// A blocking call that runs cannot be ended; whoever waits for it can be told.
    tell: Option<Box<dyn FnOnce() + Send>>,
}

/// How far a piece of work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// An async task.
    Task,
    /// A blocking call that has no thread yet.
    Waiting,
    /// A blocking call on its thread.
    Blocking,
}

/// What a gate has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GateCounts {
    pub(crate) tasks: u64,
    pub(crate) blocking_calls: u64,
    /// Blocking calls that came when as many as there may be were inside.
    pub(crate) queued: u64,
}

/// The gate is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed;

impl Gate {
    /// Goes in; `blocking_max` is how many blocking calls can have a thread.
    pub(crate) fn enter(self: &Arc<Self>, stage: Stage, blocking_max: usize) -> Result<Pass, Closed> {
        let mut state = self.lock();
        if state.closed {
            return Err(Closed);
        }
        if stage == Stage::Task {
            state.counts.tasks += 1;
        } else {
            let before = state.now[Stage::Waiting as usize] + state.now[Stage::Blocking as usize];
            let queues = before >= blocking_max;
            state.counts.queued += u64::from(queues);
            state.counts.blocking_calls += 1;
        }
        let number = state.next;
        state.next += 1;
        state.inside.insert(number, Inside { stage, abort: None });
        state.now[stage as usize] += 1;
        Ok(Pass {
            gate: Arc::clone(self),
            number,
        })
    }

    /// What ends the piece of work with this number, if it is still inside.
    pub(crate) fn may_abort(&self, number: u64, abort: Abort) {
        let mut state = self.lock();
        if state.aborting {
            drop(state);
            abort.abort();
        } else if let Some(inside) = state.inside.get_mut(&number) {
            inside.abort = Some(abort);
        }
    }

    /// Lets nobody in any more.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Blocks until nobody is inside, or until `deadline`. Gives how many still are.
    pub(crate) fn wait_empty(&self, deadline: Instant) -> usize {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self
            .empty
            .wait_timeout_while(self.lock(), left, |state| !state.inside.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.inside.len()
    }

    /// Ends everything that is inside and can be ended.
    pub(crate) fn abort_all(&self) {
        let all: Vec<_> = {
            let mut state = self.lock();
            state.aborting = true;
            state
                .inside
                .values_mut()
                .filter_map(|inside| inside.abort.take())
                .collect()
        };
        // Outside the lock: an aborted task may be dropped at once, and leaves through the gate.
        for abort in all {
            abort.abort();
        }
    }

    /// What was counted, and how many are inside now: tasks, blocking calls that wait, and those that run.
    pub(crate) fn snapshot(&self) -> (GateCounts, [usize; 3]) {
        let state = self.lock();
        (state.counts, state.now)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Abort {
    pub(crate) fn task(task: AbortHandle) -> Self {
        Self { task, tell: None }
    }

    /// With somebody to be told that nobody waits for the work any more.
    pub(crate) fn telling(task: AbortHandle, tell: Box<dyn FnOnce() + Send>) -> Self {
        Self {
            task,
            tell: Some(tell),
        }
    }

    fn abort(self) {
        self.task.abort();
        if let Some(tell) = self.tell {
            tell();
        }
    }
}

impl fmt::Debug for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abort")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

/// A piece of work inside; leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<Gate>,
    number: u64,
}

impl Pass {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// A blocking call has its thread.
    pub(crate) fn starts(&self) {
        let mut state = self.gate.lock();
        if let Some(inside) = state.inside.get_mut(&self.number) {
            let before = std::mem::replace(&mut inside.stage, Stage::Blocking);
            state.now[before as usize] -= 1;
            state.now[Stage::Blocking as usize] += 1;
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        let inside = state.inside.remove(&self.number);
        if let Some(inside) = &inside {
            state.now[inside.stage as usize] -= 1;
        }
        if state.inside.is_empty() {
            self.gate.empty.notify_all();
        }
        drop(state);
        // Outside the lock: whom it would tell may hold the last handle to the pools, whose end comes by here.
        drop(inside);
    }
}
