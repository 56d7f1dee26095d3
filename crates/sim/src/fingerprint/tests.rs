//! What fingerprints distinguish, and what they do not.

use super::*;
use crate::actor::ActorKind;

const A: Object = Object::Word(WordName::Other(1));
const B: Object = Object::Word(WordName::Other(2));

type Step = fn(&mut Fingerprints);

fn fingerprint(steps: &[(usize, Step)]) -> u64 {
    let mut fingerprints = Fingerprints::default();
    let actors = [ActorKind::Worker(0), ActorKind::Worker(1)].map(Actor::new);
    actors.iter().for_each(|_| fingerprints.join());
    for (actor, step) in steps {
        fingerprints.begins(*actor);
        step(&mut fingerprints);
    }
    fingerprints.fingerprint(&actors)
}

fn reads_a(fingerprints: &mut Fingerprints) {
    fingerprints.did(Op::Load, A, 0);
}

fn writes_a(fingerprints: &mut Fingerprints) {
    fingerprints.did(Op::Store, A, 7);
    fingerprints.word_changed(WordName::Other(1), 0, 7);
}

fn writes_b(fingerprints: &mut Fingerprints) {
    fingerprints.did(Op::Store, B, 7);
    fingerprints.word_changed(WordName::Other(2), 0, 7);
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
    let seven = |fingerprints: &mut Fingerprints| fingerprints.did(Op::Load, A, 7);
    assert_ne!(
        fingerprint(&[(1, reads_a), (0, writes_a)]),
        fingerprint(&[(0, writes_a), (1, seven)])
    );
}

#[test]
fn what_is_in_a_queue_matters_and_not_how_it_came_there() {
    let push = |fingerprints: &mut Fingerprints| {
        fingerprints.number();
        fingerprints.did(Op::Push, Object::Task(0), 0);
    };
    let inject = |fingerprints: &mut Fingerprints| {
        fingerprints.number();
        fingerprints.did(Op::Inject, Object::Task(0), 0);
    };
    assert_ne!(fingerprint(&[(0, push)]), fingerprint(&[(0, inject)]));
    let empties = |fingerprints: &mut Fingerprints| {
        fingerprints.did(Op::TakeInjected, Object::Injector, 1);
        fingerprints.at_rest(5);
    };
    let pops = |fingerprints: &mut Fingerprints| {
        fingerprints.did(Op::Pop, Object::Task(0), 0);
        fingerprints.at_rest(5);
    };
    let gone = fingerprint(&[(0, inject), (0, empties)]);
    assert_ne!(gone, fingerprint(&[(0, inject)]));
    assert_ne!(gone, fingerprint(&[(0, push), (0, pops)]));
}

#[test]
fn rest_forgets_the_way_and_nothing_else() {
    let rests = |fingerprints: &mut Fingerprints| fingerprints.at_rest(1);
    let first = fingerprint(&[(0, reads_a), (0, rests)]);
    assert_eq!(first, fingerprint(&[(0, rests)]));
    let elsewhere = |fingerprints: &mut Fingerprints| fingerprints.at_rest(2);
    assert_ne!(first, fingerprint(&[(0, elsewhere)]));
    assert_ne!(first, fingerprint(&[(0, writes_a), (0, rests)]));
}

#[test]
fn a_loop_is_stuck_until_what_it_reads_changes() {
    let mut fingerprints = Fingerprints::default();
    fingerprints.join();
    fingerprints.join();
    for _ in 0..LOOKS_MAX {
        assert!(!fingerprints.is_stuck(0));
        fingerprints.begins(0);
        reads_a(&mut fingerprints);
    }
    assert!(fingerprints.is_stuck(0));
    fingerprints.begins(1);
    writes_a(&mut fingerprints);
    assert!(!fingerprints.is_stuck(0));
}

#[test]
fn a_loop_that_yields_is_stuck_after_its_second_round() {
    let mut fingerprints = Fingerprints::default();
    fingerprints.join();
    fingerprints.join();
    for round in 0..2 {
        assert!(!fingerprints.is_stuck(0), "{round}");
        fingerprints.begins(0);
        reads_a(&mut fingerprints);
        fingerprints.begins(0);
        fingerprints.did(Op::Yield, Object::None, 0);
    }
    assert!(fingerprints.is_stuck(0));
    fingerprints.begins(1);
    writes_a(&mut fingerprints);
    assert!(!fingerprints.is_stuck(0));
}

#[test]
fn steps_are_independent_unless_one_writes_what_the_other_touches() {
    let touched = |step: fn(&mut Fingerprints)| {
        let mut fingerprints = Fingerprints::default();
        fingerprints.join();
        writes_a(&mut fingerprints);
        writes_b(&mut fingerprints);
        fingerprints.begins(0);
        step(&mut fingerprints);
        fingerprints.slice().touched
    };
    let (reads_a, writes_a, writes_b) = (touched(reads_a), touched(writes_a), touched(writes_b));
    assert!(reads_a.is_independent_of(reads_a));
    assert!(reads_a.is_independent_of(writes_b));
    assert!(!reads_a.is_independent_of(writes_a));
    assert!(!writes_a.is_independent_of(reads_a));
    assert!(!writes_a.is_independent_of(writes_a));
    assert!(!reads_a.is_empty() && Footprint::default().is_empty());
}
