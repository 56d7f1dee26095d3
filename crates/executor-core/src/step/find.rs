//! Where a worker looks for a task, and in which order.
//!
//! ```text
//!   in hand ─► (every so often: injector) ─► private tasks, then own queue, newest first ─► injector, a batch
//!                                                                                              │ nothing: become a searcher
//!                                                                  random victims, a few ◄─────┘
//!                                                                       │ nothing
//!                                                                  every victim once
//! ```
//!
//! The sweep at the end is needed: four random tries among 64 victims miss the only one that has work 94 times
//! out of a hundred. A contended probe is repeated; it says nothing about emptiness.

use crate::mutant;
use crate::ports::{Entropy, Parking, Run, Stealing, WorkerPorts};
use crate::state::{WorkerState, retry_while_contended};
use crate::step::{PopSource, Popped};
use crate::task_ctx::WorkerCtxLike;
use crate::victim::nth_victim;

/// Finds the next task of this worker, if there is one anywhere it may look.
///
/// A worker that has nothing of its own looks into others' queues only as a *searcher*, and only so many search at a
/// time; see [`crate::sleep`]. Whether it came to that is kept in its [`crate::WorkerState`].
#[inline]
pub fn pop_task<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C) -> Option<Popped<T>> {
    if let Some(popped) = nearby(cx) {
        return Some(popped);
    }
    let state = cx.state();
    if !state.searching && !state.scheduler().sleep().begin_search(&state.ports) {
        return None;
    }
    state.searching = true;
    let popped = steal(cx)?;
    let state = cx.state();
    state.found_work(false);
    state.took_public();
    Some(popped)
}

/// Looks at every source of work once, whatever the order of the day: for the last look before parking. Adds to
/// `steals_tried` how many other workers it looked at.
pub(crate) fn look_everywhere<T, P: WorkerPorts<T>>(
    ports: &P,
    me: usize,
    steals_tried: &mut u64,
) -> Option<Popped<T>> {
    // One, and no run: there is no place for the others but the own queue, where they could wait for long.
    let mut run = Run::new();
    retry_while_contended(ports, || ports.steal_injected(1, &mut run));
    if let Some(task) = run.pop() {
        return Some(Popped {
            task,
            source: PopSource::Injector,
            victim: None,
        });
    }
    let others = ports.scheduler().config().workers - 1;
    if mutant::m54_last_look_left_to_a_searcher() && ports.scheduler().sleep().peek(ports).searchers() > 0 {
        return None;
    }
    (0..others).map(|k| nth_victim(me, k)).find_map(|victim| {
        *steals_tried += 1;
        let task = retry_while_contended(ports, || ports.steal_from(victim))?;
        Some(Popped {
            task,
            source: PopSource::Steal,
            victim: Some(victim),
        })
    })
}

/// What the worker has in hand, its own tasks, the injector.
#[inline]
fn nearby<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C) -> Option<Popped<T>> {
    let state = cx.state();
    if let Some(popped) = state.in_hand.take() {
        // Whoever put it there has handed on already, unless a waker came in between.
        if state.searching {
            state.found_work(false);
        }
        state.took_public();
        return Some(popped);
    }
    state.tick(true);
    let injector_first = state.injector_is_due();
    if injector_first && let Some(popped) = from_injector(state) {
        return Some(popped);
    }
    if let Some(popped) = own(state) {
        return Some(popped);
    }
    if injector_first {
        return None;
    }
    if let Some(spins) = state.backoff.spins_before_search(state.idle_rounds) {
        state.ports.spin(spins);
    }
    from_injector(state)
}

#[inline]
fn own<T, P: WorkerPorts<T>>(state: &mut WorkerState<T, P>) -> Option<Popped<T>> {
    let private = if mutant::m34_parks_on_private() {
        None
    } else {
        state.pop_private()
    };
    let task = match private {
        Some(task) => task,
        None => {
            let task = state.ports.pop()?;
            if state.searching {
                state.found_work(false);
            }
            state.took_public();
            task
        }
    };
    Some(Popped {
        task,
        source: PopSource::Local,
        victim: None,
    })
}

#[inline]
fn from_injector<T, P: WorkerPorts<T>>(state: &mut WorkerState<T, P>) -> Option<Popped<T>> {
    state.looked_at_injector();
    let task = state.take_injected()?;
    state.found_work(false);
    state.took_public();
    Some(Popped {
        task,
        source: PopSource::Injector,
        victim: None,
    })
}

/// Random victims, then every victim, starting at a random one.
#[inline(never)]
fn steal<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C) -> Option<Popped<T>> {
    let me = cx.state().worker;
    let config = cx.state().scheduler().config();
    let (others, tries) = (config.workers - 1, config.steal_tries as usize);
    if others == 0 {
        return None;
    }
    for _ in 0..tries {
        let k = cx.state().ports.below(others);
        let victim = if mutant::m12_steal_from_self() {
            k
        } else {
            nth_victim(me, k)
        };
        if let Some(popped) = steal_from(cx, victim) {
            return Some(popped);
        }
    }
    let start = if mutant::m40_process_wide_victims() {
        mutant::count_of_the_process() % others
    } else {
        cx.state().ports.below(others)
    };
    (0..others).find_map(|k| steal_from(cx, nth_victim(me, (start + k) % others)))
}

fn steal_from<T, S, C: WorkerCtxLike<T, S>>(cx: &mut C, victim: usize) -> Option<Popped<T>> {
    let ports = &cx.state().ports;
    let found = retry_while_contended(ports, || ports.steal_from(victim));
    let metrics = cx.metrics();
    metrics.steals_tried += 1;
    let task = found?;
    metrics.steals_won += 1;
    Some(Popped {
        task,
        source: PopSource::Steal,
        victim: Some(victim),
    })
}
