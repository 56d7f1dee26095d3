//! The state word: one party ends the executor, and sees all writes.

use std::sync::atomic::Ordering;

use executor_core::RunState;
use executor_core::run_state::{COUNT_UNIT, Closed, Released};
use loom::sync::atomic::AtomicUsize;
use loom::sync::{Arc, Mutex};
use loom::thread::{self, JoinHandle};

use crate::harness::memory::LoomMemory;
use crate::harness::model;

fn open(in_flight: usize) -> Arc<RunState<AtomicUsize>> {
    let state = Arc::new(RunState::new(8, AtomicUsize::new));
    if in_flight > 0 {
        state.accept(&LoomMemory, in_flight).unwrap();
    }
    state
}

fn worker(state: &Arc<RunState<AtomicUsize>>) -> (Arc<AtomicUsize>, JoinHandle<Released>) {
    let effect = Arc::new(AtomicUsize::new(0));
    let worker = thread::spawn({
        let (state, effect) = (state.clone(), effect.clone());
        move || {
            effect.store(1, Ordering::Relaxed);
            state.release(&LoomMemory, 1)
        }
    });
    (effect, worker)
}

#[test]
fn spawn_vs_join_gate_atomicity() {
    model("spawn_vs_join_gate_atomicity", None, || {
        let state = open(0);
        let producer = thread::spawn({
            let state = state.clone();
            move || {
                state
                    .increment_count(&LoomMemory)
                    .is_ok()
                    .then(|| state.release(&LoomMemory, 1))
            }
        });
        let closed = state.close_gate(&LoomMemory);
        match (producer.join().unwrap(), closed) {
            (None | Some(Released::Idle), Closed::Ended) | (Some(Released::Ended), Closed::Draining) => {}
            other => panic!("not ended exactly once: {other:?}"),
        }
    });
}

#[test]
fn completion_vs_join_termination() {
    model("completion_vs_join_termination", None, || {
        let state = open(1);
        let (effect, worker) = worker(&state);
        let closed = state.close_gate(&LoomMemory);
        if closed == Closed::Ended {
            assert_eq!(
                effect.load(Ordering::Relaxed),
                1,
                "the ender must see the last task's writes"
            );
        }
        let settled = worker.join().unwrap();
        assert!(
            (closed == Closed::Ended) != (settled == Released::Ended),
            "{closed:?} {settled:?}"
        );
    });
}

#[test]
fn last_completion_sees_the_other_tasks_writes() {
    model("last_completion_sees_the_other_tasks_writes", None, || {
        let state = open(2);
        let effects = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        assert_eq!(state.close_gate(&LoomMemory), Closed::Draining);
        let finish = |me: usize| {
            let (state, effects) = (state.clone(), effects.clone());
            move || {
                effects[me].store(1, Ordering::Relaxed);
                let ended = state.release(&LoomMemory, 1) == Released::Ended;
                if ended {
                    assert_eq!(
                        effects[1 - me].load(Ordering::Relaxed),
                        1,
                        "a task's writes are lost to the ender"
                    );
                }
                ended
            }
        };
        let other = thread::spawn(finish(1));
        let mine = finish(0)();
        assert!(mine != other.join().unwrap(), "ended exactly once");
    });
}

#[test]
fn last_completion_sees_what_the_closer_wrote() {
    model("last_completion_sees_what_the_closer_wrote", None, || {
        let state = open(1);
        let written = Arc::new(AtomicUsize::new(0));
        let worker = thread::spawn({
            let (state, written) = (state.clone(), written.clone());
            move || {
                let ended = state.release(&LoomMemory, 1) == Released::Ended;
                if ended {
                    assert_eq!(written.load(Ordering::Relaxed), 1, "the closer's writes are lost");
                }
                ended
            }
        });
        written.store(1, Ordering::Relaxed);
        let closed = state.close_gate(&LoomMemory) == Closed::Ended;
        assert!(closed != worker.join().unwrap(), "ended exactly once");
    });
}

#[test]
fn idle_reader_sees_the_tasks_writes() {
    model("idle_reader_sees_the_tasks_writes", None, || {
        let state = open(1);
        let (effect, worker) = worker(&state);
        if state.is_idle(&LoomMemory) {
            assert_eq!(effect.load(Ordering::Relaxed), 1);
        }
        worker.join().unwrap();
    });
}

#[test]
fn concurrent_spawns_no_lost_count() {
    model("concurrent_spawns_no_lost_count", None, || {
        let state = open(0);
        let other = thread::spawn({
            let state = state.clone();
            move || state.accept(&LoomMemory, 2).unwrap()
        });
        state.increment_count(&LoomMemory).unwrap();
        other.join().unwrap();
        assert_eq!(state.in_flight(&LoomMemory), 3);
    });
}

#[test]
fn three_way_spawn_complete_join() {
    model("three_way_spawn_complete_join", None, || {
        let state = open(1);
        let completer = thread::spawn({
            let state = state.clone();
            move || state.release(&LoomMemory, 1) == Released::Ended
        });
        let producer = thread::spawn({
            let state = state.clone();
            move || {
                state.increment_count(&LoomMemory).is_ok() && state.release(&LoomMemory, 1) == Released::Ended
            }
        });
        let closer = state.close_gate(&LoomMemory) == Closed::Ended;
        let enders = [closer, completer.join().unwrap(), producer.join().unwrap()];
        assert_eq!(
            enders.iter().filter(|&&ended| ended).count(),
            1,
            "closer, completer, producer: {enders:?}"
        );
    });
}

#[test]
fn two_closers_end_it_once() {
    model("two_closers_end_it_once", None, || {
        let state = open(0);
        let other = thread::spawn({
            let state = state.clone();
            move || state.close_gate(&LoomMemory)
        });
        let mut both = [state.close_gate(&LoomMemory), other.join().unwrap()];
        both.sort_by_key(|closed| *closed == Closed::Ended);
        assert_eq!(both, [Closed::Already, Closed::Ended]);
    });
}

#[test]
fn credits_of_one_returned_against_close() {
    model("credits_of_one_returned_against_close", None, || {
        credits_returned_against_close(1)
    });
}

#[test]
fn credits_of_two_returned_against_close() {
    model("credits_of_two_returned_against_close", None, || {
        credits_returned_against_close(2)
    });
}

fn credits_returned_against_close(block: usize) {
    let state = open(1);
    let worker = thread::spawn({
        let state = state.clone();
        move || {
            // One count of the block is the child's.
            state.acquire(&LoomMemory, block);
            // Two tasks and the rest of the block.
            state.release(&LoomMemory, block + 1) == Released::Ended
        }
    });
    let closer = state.close_gate(&LoomMemory) == Closed::Ended;
    assert!(closer != worker.join().unwrap(), "ended exactly once");
    assert_eq!(state.in_flight(&LoomMemory), 0);
}

#[test]
fn waiting_for_room_against_the_settle_that_frees() {
    model("waiting_for_room_against_the_settle_that_frees", None, || {
        let state = Arc::new(RunState::new(usize::MAX / COUNT_UNIT - 1, AtomicUsize::new));
        state.accept(&LoomMemory, 1).unwrap();
        let registered = Arc::new(Mutex::new(false));
        let found = Arc::new(AtomicUsize::new(0));
        let release = {
            let (state, registered, found) = (state.clone(), registered.clone(), found.clone());
            move || {
                let (_, was_full) = state.release_and_free(&LoomMemory, 1);
                if was_full && std::mem::take(&mut *registered.lock().unwrap()) {
                    found.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let worker = thread::spawn(release.clone());
        let other = thread::spawn({
            let state = state.clone();
            move || state.accept(&LoomMemory, 1).is_ok()
        });
        *registered.lock().unwrap() = true;
        let is_let_in = state.accept(&LoomMemory, 1).is_ok();
        worker.join().unwrap();
        if other.join().unwrap() {
            release();
        }
        assert!(
            is_let_in || found.load(Ordering::Relaxed) > 0,
            "it sleeps, there is room, and nobody has told it"
        );
    });
}
