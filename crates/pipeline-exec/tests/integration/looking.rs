//! A worker's look at the board: its length, and the jobs that it passes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use pipeline_exec::policy::{JobSpec, LookEnd, PipelinePorts, Refused, Terms};
use pipeline_exec::{Class, Role, Stage, policy::JobHandle};

use crate::plain::{Does, Plain, of_class, spec};
use crate::support::Counting;

const SLOT: Duration = Duration::from_micros(100);

fn timed(slots: usize) -> Vec<Arc<dyn Stage>> {
    vec![Arc::new(Does(slots, |plain, _| plain.pass(SLOT)))]
}

fn claims(plain: &Plain) -> Vec<String> {
    let is_claim = |event: &String| event.contains("claims");
    plain.take_events().into_iter().filter(is_claim).collect()
}

#[test]
fn a_look_visits_jobs_for_a_quantum_and_goes_to_the_back_if_there_is_more() {
    for (quantum_us, ran) in [(0, 1), (250, 3), (300, 3), (301, 4)] {
        let plain = Plain::with_quantum(1, 1, Duration::from_micros(quantum_us)).under_test();
        for name in ["A", "B", "C", "D", "E"] {
            plain.submit(name, 1, Class::Normal, timed(1));
        }
        assert_eq!(plain.look(0), LookEnd::Again, "quantum of {quantum_us} µs");
        let visited = ["A.0", "B.0", "C.0", "D.0"].map(|slot| format!("worker 0 claims {slot}"));
        assert_eq!(claims(&plain), visited[..ran], "quantum of {quantum_us} µs");
    }
}

#[test]
fn a_visit_ends_with_the_quantum_too_and_others_may_have_the_rest() {
    let plain = Plain::with_quantum(2, 0, 3 * SLOT).under_test();
    plain.submit("long", 1, Class::Normal, timed(7));
    for (worker, ran) in [(0, 3), (1, 3)] {
        assert_eq!(plain.look(worker), LookEnd::Again);
        assert_eq!(claims(&plain).len(), ran);
    }
    assert_eq!(plain.look(0), LookEnd::Over);
    assert_eq!(claims(&plain), ["worker 0 claims long.6"]);
}

#[test]
fn looks_are_handed_over_for_as_many_slots_as_there_are_and_laid_down_when_nothing_is_left() {
    let plain = Plain::new(8, 0).under_test();
    assert_eq!(plain.looks_out(), 0);
    let three: Vec<Arc<dyn Stage>> = vec![Counting::new(1), Counting::new(3)];
    plain.submit("stages", 1, Class::Normal, three);
    assert_eq!((plain.handed_over.get(), plain.looks_out()), (1, 1));
    assert_eq!(plain.look(0), LookEnd::Again);
    assert_eq!(
        (plain.handed_over.get(), plain.looks_out()),
        (3, 3),
        "this worker stays for one of the three slots of the second stage"
    );
    for worker in 0..2 {
        assert_eq!(plain.look(worker), LookEnd::Again);
    }
    let last = plain.look(2);
    let idle = [plain.look(1), plain.look(0)];
    assert_eq!((last, idle), (LookEnd::Over, [LookEnd::Over; 2]));
    assert_eq!(plain.looks_out(), 0);
    assert_eq!(
        plain.started.take(),
        [("stages".to_owned(), 0, 1), ("stages".to_owned(), 1, 3)]
    );
}

#[test]
fn no_more_looks_are_out_than_there_are_workers() {
    let plain = Plain::new(2, 1);
    plain.submit("many", 1, Class::Normal, vec![Counting::new(100)]);
    assert_eq!((plain.handed_over.get(), plain.looks_out()), (3, 3));
    plain.submit("more", 1, Class::Normal, vec![Counting::new(100)]);
    assert_eq!((plain.handed_over.get(), plain.looks_out()), (3, 3));
}

#[test]
fn a_job_that_no_look_will_find_comes_back_and_leaves_no_look_out() {
    let plain = Plain::new(2, 0);
    plain.workers_leave.set(true);
    let stage = Counting::new(3);
    let refused = plain.submit_spec(spec("late", vec![stage.clone()])).err();
    let Some(Refused::Stopped(body)) = refused.map(|refused| *refused) else {
        panic!("it was let in, or refused before");
    };
    assert_eq!((&*body.spec().table_name, stage.ran()), ("late", 0));
    assert_eq!((plain.looks_out(), plain.board().len()), (0, 0));
}

#[test]
fn while_as_many_looks_are_out_as_there_may_be_none_is_added() {
    let plain = Plain::new(1, 0);
    plain.submit("first", None, Class::Normal, vec![Counting::new(1)]);
    plain.workers_leave.set(true);
    plain.submit("second", None, Class::Normal, vec![Counting::new(1)]);
    assert_eq!(
        plain.singles(),
        ["first", "second"],
        "the look that is out will see it"
    );
}

#[test]
fn a_job_with_as_many_workers_as_it_may_have_is_passed_over() {
    let plain = Plain::new(2, 1).under_test();
    let stage = Does(2, |plain, slot| {
        if slot == 0 {
            assert!(plain.reserve_runs_one(2) && plain.main_runs_one(1));
            assert!(!plain.reserve_runs_one(2) && !plain.main_runs_one(1));
            assert_eq!(plain.look(1), LookEnd::Over, "nothing that it could do");
        }
    });
    let narrow = JobSpec {
        cost: Some(9),
        terms: at_most(1),
        ..spec("narrow", vec![Arc::new(stage)])
    };
    plain.submit_spec(narrow).expect("there is room");
    plain.submit("wide", 1, Class::Normal, vec![Counting::new(2)]);
    assert!(plain.reserve_runs_one(2));
    assert_eq!(
        claims(&plain),
        [
            "worker 2 claims narrow.0",
            "worker 2 claims wide.0",
            "worker 1 claims wide.1"
        ]
    );
    assert!(plain.main_runs_one(1), "whoever leaves makes room");
    assert_eq!(claims(&plain), ["worker 1 claims narrow.1"]);
}

#[test]
fn as_many_workers_as_a_job_may_have_are_in_it_at_the_same_time() {
    let plain = Plain::new(3, 0).under_test();
    let stage = Does(5, |plain, slot| match slot {
        0 => assert!(plain.main_runs_one(1), "a second one"),
        1 => assert!(!plain.main_runs_one(2), "and no third"),
        _ => {}
    });
    let two = JobSpec {
        terms: at_most(2),
        ..spec("two", vec![Arc::new(stage)])
    };
    plain.submit_spec(two).expect("there is room");
    assert!(plain.main_runs_one(0));
    assert_eq!(claims(&plain), ["worker 0 claims two.0", "worker 1 claims two.1"]);
}

#[test]
fn a_place_that_holds_another_job_by_now_is_not_taken_for_it() {
    let plain = Plain::new(1, 1);
    let stage = Counting::new(2);
    plain.submit("new", 1, Class::Normal, vec![stage.clone() as Arc<dyn Stage>]);
    let old = JobHandle {
        rank: 9,
        seq: 77,
        index: 0,
    };
    plain.shared().board().insert(&plain, old, 0);
    assert!(plain.reserve_runs_one(1) && plain.reserve_runs_one(1));
    stage.assert_each_ran_once();
    assert!(!plain.reserve_runs_one(1) && !plain.main_runs_one(0));
    let board = plain.shared().board();
    assert!(board.remove(&plain, old, 0), "it is not this job's to take off");
    assert_eq!(board.heaviest(&plain, None), None, "and its own is off");
}

#[test]
fn a_look_closes_the_jobs_whose_time_is_over_though_it_goes_into_another() {
    let plain = Plain::with_quantum(1, 1, 3 * SLOT).under_test();
    let due = |name: &str, slots: usize| {
        let terms = Terms {
            deadline: Some(slots as u32 * SLOT),
            workers_max: 1,
            ..Terms::default()
        };
        JobSpec {
            terms: terms.boxed(),
            ..spec(name, vec![Counting::new(2)])
        }
    };
    for (name, slots) in [("late", 9), ("later", 11), ("soon", 2)] {
        plain.submit_spec(due(name, slots)).expect("there is room");
    }
    let heavy = JobSpec {
        cost: Some(1_000),
        terms: of_class(Class::Interactive),
        ..spec("heavy", timed(50))
    };
    plain.submit_spec(heavy).expect("there is room");
    plain.pass(10 * SLOT);
    let overdue = |plain: &Plain| {
        let is_end = |event: &String| event.contains("deadline");
        plain.take_events().into_iter().filter(is_end).count()
    };
    assert_eq!(plain.look(1), LookEnd::Again);
    assert_eq!(overdue(&plain), 2, "and the third has time left");
}

struct SlowToWake(Arc<AtomicU64>);

impl Wake for SlowToWake {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(3 * SLOT.as_nanos() as u64, Ordering::Relaxed);
    }
}

#[test]
fn the_time_in_which_a_worker_closes_the_job_that_it_visits_is_a_part_of_its_quantum() {
    let clock = Arc::new(AtomicU64::new(0));
    let plain = Plain::with_quantum(4, 0, 4 * SLOT).under_test();
    plain.follow(&clock);
    let terms = Terms {
        deadline: Some(2 * SLOT),
        ..Terms::default()
    };
    let late = JobSpec {
        terms: terms.boxed(),
        ..spec("late", [timed(1), timed(4)].concat())
    };
    let late = plain.submit_spec(late).expect("there is room");
    let waker = Waker::from(Arc::new(SlowToWake(clock)));
    assert!(late.state.poll(&*plain, &waker).is_none());
    plain.submit("next", 1, Class::Normal, timed(2));
    plain.waking_takes.set(SLOT);
    assert_eq!(plain.look(0), LookEnd::Again);
    assert_eq!(plain.now(), 5 * SLOT);
    assert_eq!(
        plain.take_events(),
        [
            "worker 0 claims late.0",
            "late stage 0 over",
            "late: the job was not done by its deadline"
        ]
    );
}

#[test]
fn the_time_in_which_a_worker_was_too_late_at_one_job_has_passed_for_the_next() {
    let plain = Plain::with_quantum(2, 0, 10 * SLOT).under_test();
    plain.submit("young", 1, Class::Normal, timed(1));
    let terms = Terms {
        class: Class::Batch,
        deadline: Some(SLOT),
        ..Terms::default()
    };
    let old = JobSpec {
        terms: terms.boxed(),
        ..spec("old", timed(2))
    };
    plain.submit_spec(old).expect("there is room");
    let quicker = |plain: &Plain| assert!(plain.main_runs_one(1));
    plain.after_entering.replace(Some(Box::new(quicker)));
    assert_eq!(plain.look(0), LookEnd::Over);
    assert_eq!(
        plain.take_events(),
        [
            "worker 1 claims young.0",
            "young stage 0 over",
            "young completed",
            "old: the job was not done by its deadline"
        ]
    );
}

#[test]
fn several_main_workers_without_reserve_are_never_in_reserve() {
    let plain = Plain::new(2, 0);
    plain.submit("t", 1, Class::Normal, vec![Counting::new(40)]);
    for turn in 0..40 {
        plain.look(turn % 2);
    }
    assert_eq!(plain.roles.take(), [Role::Main; 40]);
}

#[test]
fn a_lone_worker_is_in_reserve_at_every_seventh_turn_or_so() {
    let plain = Plain::new(1, 0);
    plain.submit("t", 1, Class::Normal, vec![Counting::new(40)]);
    for _ in 0..40 {
        plain.look(0);
    }
    let reserve: Vec<usize> = (1..)
        .zip(plain.roles.take())
        .filter_map(|(turn, role)| (role == Role::Reserve).then_some(turn))
        .collect();
    assert_eq!(reserve, [7, 14, 20, 27, 34, 40]);
}

fn at_most(workers_max: usize) -> Option<Box<Terms>> {
    let terms = Terms {
        workers_max,
        ..Terms::default()
    };
    terms.boxed()
}
