//! Waiting until nothing is in flight, by threads that are not workers.

use std::rc::Rc;

use crate::bench_top::{Meanwhile, Top};

fn release(n: usize) -> Meanwhile {
    Box::new(move |top| top.scheduler.release(&top.ports(0), n))
}

fn wait_idle<const N: usize>(top: &Rc<Top>, meanwhile: [Meanwhile; N]) {
    top.while_waiting.borrow_mut().extend(meanwhile);
    top.scheduler.wait_idle(&top.ports(1));
    assert!(
        top.while_waiting.borrow().is_empty(),
        "it did not wait long enough"
    );
}

#[test]
fn who_waits_for_nothing_does_not_wait() {
    let top = Top::of(1);
    wait_idle(&top, []);
    top.scheduler.close(&top.ports(0));
    wait_idle(&top, []);
}

#[test]
fn who_waits_is_told_when_the_last_count_is_back() {
    let top = Top::of(1);
    (0..3).for_each(|task| top.spawn(task));
    wait_idle(&top, [release(1), release(1), release(1)]);
    assert_eq!((top.signals.get(), top.in_flight()), (1, 0));
}

#[test]
fn who_is_told_too_early_waits_on() {
    let top = Top::of(1);
    top.spawn(1);
    let again = |top: &Rc<Top>| {
        release(1)(top);
        top.spawn(2);
    };
    wait_idle(&top, [Box::new(again), release(1)]);
    assert_eq!(top.signals.get(), 2);
}

#[test]
fn who_waits_is_told_of_the_end_as_well() {
    let top = Top::of(1);
    top.spawn(1);
    let close = |top: &Rc<Top>| top.scheduler.close(&top.ports(0));
    wait_idle(&top, [Box::new(close), release(1)]);
    assert_eq!(top.signals.get(), 1);
}

#[test]
fn no_waiter_is_told_if_there_is_none() {
    let top = Top::of(1);
    for _ in 0..2 {
        top.spawn(1);
        release(1)(&top);
        assert_eq!(top.signals.get(), 0);
        top.spawn(1);
        wait_idle(&top, [release(1)]);
        top.signals.set(0);
    }
}
