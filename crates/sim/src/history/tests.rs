//! What histories tell apart, and what they do not.

use super::*;
use crate::party::Side;

const A: Object = Object::Word(WordName::Other(1));
const B: Object = Object::Word(WordName::Other(2));

/// What a party does.
type Step = fn(&mut History);

/// Two parties, and what each does in which order: who, and what.
fn fingerprint(steps: &[(usize, Step)]) -> u64 {
    let mut history = History::default();
    let parties = [Side::Worker(0), Side::Worker(1)].map(Party::new);
    parties.iter().for_each(|_| history.join());
    for (party, step) in steps {
        history.begins(*party);
        step(&mut history);
    }
    history.fingerprint(&parties)
}

fn reads_a(history: &mut History) {
    history.did(Op::Load, A, 0);
}

fn writes_a(history: &mut History) {
    history.did(Op::Store, A, 7);
    history.word_changed(WordName::Other(1), 0, 7);
}

fn writes_b(history: &mut History) {
    history.did(Op::Store, B, 7);
    history.word_changed(WordName::Other(2), 0, 7);
}

#[test]
fn the_order_of_independent_steps_does_not_matter() {
    let first = fingerprint(&[(0, writes_a), (1, writes_b)]);
    assert_eq!(first, fingerprint(&[(1, writes_b), (0, writes_a)]));
    assert_ne!(first, fingerprint(&[(1, writes_a), (0, writes_b)]));
    assert_ne!(first, fingerprint(&[(0, writes_a)]));
}

#[test]
fn what_was_read_matters() {
    let seven = |history: &mut History| history.did(Op::Load, A, 7);
    assert_ne!(
        fingerprint(&[(1, reads_a), (0, writes_a)]),
        fingerprint(&[(0, writes_a), (1, seven)])
    );
}

#[test]
fn what_is_in_a_queue_matters_and_not_how_it_came_there() {
    let push = |history: &mut History| {
        history.number();
        history.did(Op::Push, Object::Task(0), 0);
    };
    let inject = |history: &mut History| {
        history.number();
        history.did(Op::Inject, Object::Task(0), 0);
    };
    assert_ne!(fingerprint(&[(0, push)]), fingerprint(&[(0, inject)]));
    let empties = |history: &mut History| {
        history.did(Op::TakeInjected, Object::Injector, 1);
        history.at_rest(5);
    };
    let pops = |history: &mut History| {
        history.did(Op::Pop, Object::Task(0), 0);
        history.at_rest(5);
    };
    let gone = fingerprint(&[(0, inject), (0, empties)]);
    assert_ne!(gone, fingerprint(&[(0, inject)]));
    // The versions of the two empty queues are all that is left.
    assert_ne!(gone, fingerprint(&[(0, push), (0, pops)]));
}

#[test]
fn rest_forgets_the_way_and_nothing_else() {
    let rests = |history: &mut History| history.at_rest(1);
    let first = fingerprint(&[(0, reads_a), (0, rests)]);
    assert_eq!(first, fingerprint(&[(0, rests)]));
    let elsewhere = |history: &mut History| history.at_rest(2);
    assert_ne!(first, fingerprint(&[(0, elsewhere)]));
    assert_ne!(first, fingerprint(&[(0, writes_a), (0, rests)]));
}

#[test]
fn a_loop_is_stuck_until_what_it_reads_changes() {
    let mut history = History::default();
    history.join();
    history.join();
    for _ in 0..LOOKS_MAX {
        assert!(!history.is_stuck(0));
        history.begins(0);
        reads_a(&mut history);
    }
    assert!(history.is_stuck(0));
    history.begins(1);
    writes_a(&mut history);
    assert!(!history.is_stuck(0));
}

#[test]
fn a_loop_that_yields_is_stuck_after_its_second_round() {
    let mut history = History::default();
    history.join();
    history.join();
    for round in 0..2 {
        assert!(!history.is_stuck(0), "{round}");
        history.begins(0);
        reads_a(&mut history);
        history.begins(0);
        history.did(Op::Yield, Object::None, 0);
    }
    assert!(history.is_stuck(0));
    history.begins(1);
    writes_a(&mut history);
    assert!(!history.is_stuck(0));
}

#[test]
fn steps_are_independent_unless_one_writes_what_the_other_touches() {
    let touched = |step: fn(&mut History)| {
        let mut history = History::default();
        history.join();
        // So that the words have their places.
        writes_a(&mut history);
        writes_b(&mut history);
        history.begins(0);
        step(&mut history);
        history.slice().touched
    };
    let (reads_a, writes_a, writes_b) = (touched(reads_a), touched(writes_a), touched(writes_b));
    assert!(reads_a.is_independent_of(reads_a));
    assert!(reads_a.is_independent_of(writes_b));
    assert!(!reads_a.is_independent_of(writes_a));
    assert!(!writes_a.is_independent_of(reads_a));
    assert!(!writes_a.is_independent_of(writes_a));
    assert!(!reads_a.is_empty() && Footprint::default().is_empty());
}
