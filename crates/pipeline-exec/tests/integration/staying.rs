//! How long a worker stays in an old job, in virtual time.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use pipeline_exec::policy::LookEnd;
use pipeline_exec::{Class, Stage, StepCx, StepError};

use crate::plain::{Does, Plain, PlainJob};

const SLOT: Duration = Duration::from_micros(100);
const QUANTUM: Duration = Duration::from_millis(1);

/// Length of a job's youth, and of a visit of an old job, in quanta.
const QUANTA: u32 = 4;

fn executor(main: usize, reserve: usize) -> std::rc::Rc<Plain> {
    Plain::with_quantum(main, reserve, QUANTUM).under_test()
}

fn takes_a_slot(plain: &Plain, _slot: usize) {
    plain.pass(SLOT);
}

fn submit(plain: &Plain, name: &str, slots: usize, class: Class, does: fn(&Plain, usize)) -> PlainJob {
    plain.submit(name, slots as u64, class, vec![Arc::new(Does(slots, does))])
}

fn submit_old(plain: &Plain, does: fn(&Plain, usize)) -> PlainJob {
    submit(plain, "old", 1_000, Class::Batch, does)
}

fn submit_young(plain: &Plain) {
    submit(plain, "young", 2, Class::Normal, takes_a_slot);
}

/// The job stays young.
fn use_up_the_allowance(plain: &Plain, run_one: impl Fn(&Plain) -> bool) {
    submit(plain, "young", 900, Class::Interactive, takes_a_slot);
    let began = plain.now();
    while plain.now() - began < 10 * QUANTUM {
        assert!(run_one(plain));
    }
    assert!(claims(plain).iter().all(|claim| claim.starts_with("young")));
}

fn claims(plain: &Plain) -> Vec<String> {
    let claim = |event: String| Some(event.split_once(" claims ")?.1.to_owned());
    plain.take_events().into_iter().filter_map(claim).collect()
}

#[test]
fn an_old_visit_ends_at_the_next_slot_boundary_when_a_young_job_is_submitted() {
    fn submits(plain: &Plain, slot: usize) {
        takes_a_slot(plain, slot);
        if slot == 3 {
            submit_young(plain);
        }
    }
    let plain = executor(2, 0);
    submit_old(&plain, submits);
    assert_eq!(plain.look(0), LookEnd::Again);
    assert_eq!(claims(&plain)[..4], ["old.0", "old.1", "young.0", "young.1"]);
    assert_eq!(plain.widths.take()[..4], [1, 10, 1, 1]);
    assert_eq!(plain.given_back.get(), 7, "the rest of the second claim");
}

#[test]
fn an_old_visit_lasts_four_quanta_when_no_young_job_comes() {
    let plain = executor(2, 0);
    submit_old(&plain, takes_a_slot);
    submit_young(&plain);
    assert_eq!(plain.look(0), LookEnd::Again);
    let before = plain.now();
    plain.take_events();
    assert_eq!(plain.look(0), LookEnd::Again);
    assert_eq!(plain.now() - before, QUANTA * QUANTUM);
    assert!(claims(&plain).iter().all(|claim| claim.starts_with("old")));
}

#[test]
fn a_visit_of_a_young_job_lasts_a_quantum_whatever_comes() {
    fn submits(plain: &Plain, slot: usize) {
        takes_a_slot(plain, slot);
        if slot == 0 {
            submit_young(plain);
        }
    }
    let plain = executor(2, 0);
    submit(&plain, "first", 1_000, Class::Normal, submits);
    assert_eq!(plain.look(0), LookEnd::Again);
    assert_eq!(plain.now(), QUANTUM);
    assert!(claims(&plain).iter().all(|claim| claim.starts_with("first")));
}

#[test]
fn a_young_job_that_another_worker_has_taken_keeps_no_worker_from_staying() {
    fn submits(plain: &Plain, slot: usize) {
        takes_a_slot(plain, slot);
        if slot == 0 {
            submit_young(plain);
            while plain.main_runs_one(1) {}
        }
    }
    let plain = executor(2, 0);
    submit(&plain, "old", 3, Class::Batch, submits);
    assert_eq!(plain.look(0), LookEnd::Over);
    assert_eq!(claims(&plain), ["old.0", "young.0", "young.1", "old.1", "old.2"]);
}

#[test]
fn a_worker_whose_allowance_is_used_up_stays_its_quantum_in_an_old_job_though_a_young_one_waits() {
    fn submits(plain: &Plain, slot: usize) {
        takes_a_slot(plain, slot);
        if slot == 1 {
            submit_young(plain);
        }
    }
    for (main, reserve) in [(2, 0), (1, 1)] {
        let plain = executor(main, reserve);
        submit_old(&plain, submits);
        use_up_the_allowance(&plain, |plain| match reserve {
            0 => plain.main_runs_one(1),
            _ => plain.reserve_runs_one(1),
        });
        let before = plain.now();
        assert_eq!(plain.look(1), LookEnd::Again);
        assert_eq!(plain.now() - before, QUANTUM);
        let claims = claims(&plain);
        assert!(claims.iter().all(|claim| claim.starts_with("old")), "{claims:?}");
        assert_eq!(plain.look(1), LookEnd::Again);
        assert_eq!(self::claims(&plain)[0], "young.100", "it has paid");
    }
}

#[test]
fn a_reserve_worker_takes_a_young_job_before_an_old_one_that_is_heavier() {
    let plain = executor(1, 1);
    submit_old(&plain, takes_a_slot);
    submit_young(&plain);
    plain.submit(
        "single",
        None,
        Class::Normal,
        vec![Arc::new(Does(1, takes_a_slot))],
    );
    for _ in 0..4 {
        assert!(plain.reserve_runs_one(1));
    }
    assert_eq!(claims(&plain)[..4], ["single.0", "young.0", "young.1", "old.0"]);
}

#[test]
fn a_reserve_worker_takes_the_heaviest_job_where_that_is_young() {
    let plain = executor(1, 1);
    submit_old(&plain, takes_a_slot);
    submit_young(&plain);
    submit(&plain, "heavy", 2_000, Class::Normal, takes_a_slot);
    assert!(plain.reserve_runs_one(1));
    assert_eq!(claims(&plain), ["heavy.0"]);
}

#[test]
fn a_reserve_worker_whose_allowance_is_used_up_takes_the_heaviest_of_the_old_jobs() {
    let plain = executor(1, 1);
    submit(&plain, "lighter", 950, Class::Batch, takes_a_slot);
    submit(&plain, "old", 1_000, Class::Batch, takes_a_slot);
    use_up_the_allowance(&plain, |plain| plain.reserve_runs_one(1));
    submit(&plain, "heavy", 2_000, Class::Normal, takes_a_slot);
    assert!(plain.reserve_runs_one(1));
    assert_eq!(claims(&plain), ["old.0"]);
    assert!(plain.reserve_runs_one(1), "it has paid");
    assert_eq!(claims(&plain), ["heavy.0"]);
}

struct Asks;

thread_local! {
    static ANSWERS: RefCell<Vec<bool>> = RefCell::default();
}

impl Stage for Asks {
    fn slots(&self) -> usize {
        1_000
    }

    fn run(&self, slot: usize, cx: &StepCx<'_>) -> Result<(), StepError> {
        let ask = || ANSWERS.with_borrow_mut(|answers| answers.push(cx.should_yield()));
        ask();
        Does(1_000, |plain, slot| {
            takes_a_slot(plain, slot);
            if slot == 1 {
                submit_young(plain);
            }
        })
        .run(slot, cx)?;
        ask();
        ask();
        Ok(())
    }
}

#[test]
fn a_slot_of_an_old_job_is_to_yield_as_soon_as_a_young_job_waits_and_then_its_worker_leaves() {
    let plain = executor(2, 0);
    plain.submit("old", 1_000, Class::Batch, vec![Arc::new(Asks)]);
    assert_eq!(plain.look(0), LookEnd::Again);
    assert_eq!(claims(&plain)[..3], ["old.0", "old.1", "young.0"]);
    assert_eq!(ANSWERS.take()[..6], [false, false, false, false, true, true]);
}

#[test]
fn a_slot_of_an_old_job_is_to_yield_when_four_quanta_are_over() {
    let plain = executor(2, 0);
    plain.submit("old", 1_000, Class::Batch, vec![Arc::new(Asks)]);
    assert_eq!(plain.look(0), LookEnd::Again);
    ANSWERS.take();
    assert_eq!(plain.look(0), LookEnd::Again);
    let answers = ANSWERS.take();
    let slots = (QUANTA * QUANTUM).as_nanos() / SLOT.as_nanos();
    assert_eq!(answers.len() as u128, 3 * slots);
    assert_eq!(answers.iter().position(|&yields| yields), Some(answers.len() - 2));
}
