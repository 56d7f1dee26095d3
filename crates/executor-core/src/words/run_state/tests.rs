//! Values of the state word, one transition at a time, on the machine's own atomics.

use super::*;
use crate::ports::{Native, NativeWord};

fn open(headroom: usize) -> RunState<NativeWord> {
    RunState::new(headroom, NativeWord::new)
}

#[test]
fn it_starts_open_and_idle() {
    let state = open(0);
    assert!(state.is_accepting(&Native));
    assert!(state.is_idle(&Native));
    assert_eq!(state.in_flight(&Native), 0);
}

#[test]
fn it_is_idle_while_nothing_is_in_flight_whether_the_gate_is_open_or_closed() {
    let state = open(0);
    state.increment_count(&Native).unwrap();
    assert!(!state.is_idle(&Native));
    state.close_gate(&Native);
    assert!(!state.is_idle(&Native));
    state.release(&Native, 1);
    assert!(state.is_idle(&Native) && !state.is_accepting(&Native));
}

#[test]
fn a_closed_gate_refuses_and_leaves_the_count_alone() {
    let state = open(0);
    state.increment_count(&Native).unwrap();
    assert_eq!(state.close_gate(&Native), Closed::Draining);
    assert_eq!(state.accept(&Native, 1), Err(Refused::Closed));
    assert_eq!(state.accept(&Native, 0), Err(Refused::Closed));
    assert_eq!(state.in_flight(&Native), 1);
}

#[test]
fn exactly_one_transition_ends_the_executor() {
    let closer_ends = open(0);
    assert_eq!(closer_ends.close_gate(&Native), Closed::Ended);
    assert_eq!(closer_ends.close_gate(&Native), Closed::Already);

    let last_completion_ends = open(0);
    last_completion_ends.accept(&Native, 2).unwrap();
    assert_eq!(last_completion_ends.close_gate(&Native), Closed::Draining);
    assert_eq!(last_completion_ends.close_gate(&Native), Closed::Already);
    assert_eq!(last_completion_ends.release(&Native, 1), Released::InFlight);
    assert_eq!(last_completion_ends.release(&Native, 1), Released::Ended);
}

#[test]
fn zero_with_an_open_gate_is_idle_not_the_end() {
    let state = open(0);
    state.accept(&Native, 3).unwrap();
    assert_eq!(state.release(&Native, 3), Released::Idle);
    assert!(state.is_accepting(&Native));
}

#[test]
fn a_batch_that_would_overflow_is_refused_whole() {
    let state = open(10);
    let max = usize::MAX / COUNT_UNIT - 10;
    assert_eq!(state.accept(&Native, max + 1), Err(Refused::CountOverflow));
    assert_eq!(state.accept(&Native, usize::MAX), Err(Refused::CountOverflow));
    assert_eq!(state.in_flight(&Native), 0);
    state.accept(&Native, max).unwrap();
    assert_eq!(state.increment_count(&Native), Err(Refused::CountOverflow));
    assert!(
        state.is_accepting(&Native),
        "the count must not reach the accepting bit"
    );
    state.acquire(&Native, 10);
    assert_eq!(state.in_flight(&Native), max + 10);
}

#[test]
fn a_taker_from_the_largest_count_is_told_that_there_is_room_now() {
    let state = open(usize::MAX / COUNT_UNIT - 2);
    state.accept(&Native, 2).unwrap();
    assert_eq!(state.accept(&Native, 1), Err(Refused::CountOverflow));
    assert_eq!(state.release_and_free(&Native, 1), (Released::InFlight, true));
    assert_eq!(state.release_and_free(&Native, 1), (Released::Idle, false));
    state.accept(&Native, 2).unwrap();
    assert_eq!(state.close_gate(&Native), Closed::Draining);
    assert_eq!(state.release_and_free(&Native, 2), (Released::Ended, true));
}

#[test]
#[should_panic(expected = "only 1 were out")]
fn putting_back_more_than_is_out_panics_in_every_build() {
    let state = open(0);
    state.increment_count(&Native).unwrap();
    state.release(&Native, 2);
}

#[test]
#[should_panic(expected = "while it held none")]
fn borrowing_without_holding_anything_panics_in_every_build() {
    open(0).acquire(&Native, 1);
}
