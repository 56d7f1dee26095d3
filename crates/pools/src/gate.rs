//! Counts the mixed pool's work inside, and rejects work once closed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use executor_threaded::lock;
use tokio::task::AbortHandle;

#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    empty: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    aborting: bool,
    next: u64,
    inside: HashMap<u64, Inside>,
    now: [usize; 3],
    counts: GateCounts,
}

#[derive(Debug)]
struct Inside {
    stage: Stage,
    abort: Option<Abort>,
}

pub(crate) struct Abort {
    task: AbortHandle,
    /// Notifies the waiter: a running blocking call cannot be ended.
    tell: Option<Box<dyn FnOnce() + Send>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Task,
    /// Without a thread yet.
    Waiting,
    Blocking,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GateCounts {
    pub(crate) tasks: u64,
    pub(crate) blocking_calls: u64,
    pub(crate) queued: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed;

impl Gate {
    pub(crate) fn enter(self: &Arc<Self>, stage: Stage, blocking_max: usize) -> Result<Pass, Closed> {
        let mut state = lock(&self.state);
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

    pub(crate) fn may_abort(&self, number: u64, abort: Abort) {
        let mut state = lock(&self.state);
        if state.aborting {
            drop(state);
            abort.abort();
        } else if let Some(inside) = state.inside.get_mut(&number) {
            inside.abort = Some(abort);
        }
    }

    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    pub(crate) fn wait_empty(&self, deadline: Instant) -> usize {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self
            .empty
            .wait_timeout_while(lock(&self.state), left, |state| !state.inside.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.inside.len()
    }

    pub(crate) fn abort_all(&self) {
        let all: Vec<_> = {
            let mut state = lock(&self.state);
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

    pub(crate) fn snapshot(&self) -> (GateCounts, [usize; 3]) {
        let state = lock(&self.state);
        (state.counts, state.now)
    }
}

impl Abort {
    pub(crate) fn task(task: AbortHandle) -> Self {
        Self { task, tell: None }
    }

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

#[derive(Debug)]
pub(crate) struct Pass {
    gate: Arc<Gate>,
    number: u64,
}

impl Pass {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn starts(&self) {
        let mut state = lock(&self.gate.state);
        if let Some(inside) = state.inside.get_mut(&self.number) {
            let before = std::mem::replace(&mut inside.stage, Stage::Blocking);
            state.now[before as usize] -= 1;
            state.now[Stage::Blocking as usize] += 1;
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = lock(&self.gate.state);
        let inside = state.inside.remove(&self.number);
        if let Some(inside) = &inside {
            state.now[inside.stage as usize] -= 1;
        }
        if state.inside.is_empty() {
            self.gate.empty.notify_all();
        }
        drop(state);
        // Outside the lock: `tell` may own the last handle to the pools, whose end takes this lock.
        drop(inside);
    }
}
