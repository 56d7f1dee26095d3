//! The width of claims, and the number of workers invited, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use pipeline_exec::policy::{LookEnd, PipelinePorts};
use pipeline_exec::{Class, JobStatus, Stage};

use crate::plain::{Does, Plain, PlainJob};

const QUANTUM: Duration = Duration::from_millis(2);

fn submit(plain: &Plain, slots: usize, does: fn(&Plain, usize)) -> PlainJob {
    plain.submit(
        "job",
        None,
        Class::Normal,
        vec![Arc::new(Does(slots, does)) as Arc<dyn Stage>],
    )
}

fn microsecond(plain: &Plain, _slot: usize) {
    plain.pass(Duration::from_micros(1));
}

#[test]
fn ten_thousand_slots_of_a_microsecond_are_claimed_a_millisecond_at_a_time_and_fewer_towards_the_end() {
    let plain = Plain::with_quantum(2, 0, QUANTUM).under_test();
    let job = submit(&plain, 10_000, microsecond);
    while plain.look(0) == LookEnd::Again {}
    assert!(matches!(plain.status(&job), JobStatus::Completed));
    let widths = plain.widths.take();
    assert_eq!(widths[0], 1, "the first tells how long they take: {widths:?}");
    let first_small = widths.iter().skip(1).position(|&width| width < 900).unwrap() + 1;
    assert!(
        widths[1..first_small]
            .iter()
            .all(|&width| (900..=1_000).contains(&width)),
        "{widths:?}"
    );
    // A quarter of what is left is half the share of each of two workers.
    assert!((6..=9).contains(&first_small), "{widths:?}");
    let mut left = 10_000 - widths[..first_small].iter().sum::<usize>();
    for &width in &widths[first_small..] {
        assert!(width <= (left / 4).max(1), "{width} of {left} in {widths:?}");
        left -= width;
    }
    assert_eq!((left, widths.last()), (0, Some(&1)));
    assert!(widths.len() < 60, "{} claims for 10,000 slots", widths.len());
}

#[test]
fn slots_that_become_a_thousand_times_longer_hold_a_worker_no_longer_than_its_visit_and_one_slot() {
    fn sudden(plain: &Plain, slot: usize) {
        plain.pass(Duration::from_micros(if slot < 2_000 { 1 } else { 1_000 }));
    }
    const SLOT: Duration = Duration::from_millis(1);
    for class in [Class::Normal, Class::Batch] {
        let plain = Plain::with_quantum(2, 0, QUANTUM).under_test();
        let stage = |slots, does| vec![Arc::new(Does(slots, does)) as Arc<dyn Stage>];
        let job = plain.submit("job", None, class, stage(2_500, sudden));
        let other = plain.submit("other", 1, class, stage(3_000, microsecond));
        let old = |job: &PlainJob| job.state.service(&*plain) >= plain.shared().young_tag();
        let over = |job: &PlainJob| matches!(plain.status(job), JobStatus::Completed);
        loop {
            let all_old = [&job, &other].into_iter().all(|job| old(job) || over(job));
            let (before, visit) = (plain.now(), if all_old { 4 * QUANTUM } else { QUANTUM });
            let until_ns = (before + QUANTUM).as_nanos() as u64;
            if !pipeline_exec::policy::run_main_worker(&*plain, 0, until_ns) {
                break;
            }
            let took = plain.now() - before;
            assert!(took <= visit + SLOT, "held for {took:?}, and not {visit:?}");
        }
        assert!(over(&job) && over(&other));
        assert!(
            plain.given_back.get() > 0,
            "a claim of a thousand slots was too much"
        );
        assert_eq!(plain.ran.get(), 5_500, "each slot once");
    }
}

#[test]
fn a_cancel_takes_effect_at_the_next_slot_of_a_claim() {
    let plain = Plain::with_quantum(1, 0, QUANTUM).under_test();
    fn cancels(plain: &Plain, slot: usize) {
        plain.pass(Duration::from_micros(1));
        if slot == 50 {
            plain.cancel_all();
        }
    }
    let job = submit(&plain, 1_000, cancels);
    while plain.look(0) == LookEnd::Again {}
    assert!(matches!(plain.status(&job), JobStatus::Ended(_)));
    assert_eq!(plain.ran.get(), 51, "no slot after the one that cancelled");
    assert_eq!(job.state.claims().progress(&*plain), (1_000, 1_000));
}

#[test]
fn a_job_of_two_milliseconds_does_not_wake_sixty_four_workers() {
    fn short(plain: &Plain, _slot: usize) {
        plain.pass(Duration::from_nanos(31_250));
    }
    fn long(plain: &Plain, _slot: usize) {
        plain.pass(Duration::from_millis(1));
    }
    let plain = Plain::with_quantum(64, 0, QUANTUM).under_test();
    let look = |looks| (0..looks).for_each(|worker| while plain.look(worker) == LookEnd::Again {});
    let invited = |does| {
        let before = plain.handed_over.get();
        submit(&plain, 64, does);
        plain.handed_over.get() - before
    };
    assert_eq!(invited(short), 64, "without experience");
    look(64);
    assert_eq!(plain.looks_out(), 0);
    assert_eq!(invited(short), 8, "one for each quarter of a millisecond");
    look(8);
    assert_eq!(invited(long), 8);
    let before = plain.handed_over.get();
    assert!(plain.main_runs_one(0));
    assert_eq!(
        plain.handed_over.get() - before,
        55,
        "one for each slot that is left"
    );
}
