//! The order in which main and reserve workers take jobs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pipeline_exec::{Class, Job, PipelineExecutor, Role, Stage, step, steps};

use crate::plain::Plain;
use crate::support::{Counting, Gate};

fn slots(n: usize) -> Vec<Arc<dyn Stage>> {
    vec![Counting::new(n)]
}

fn shares(plain: &Plain, visits: usize) -> Vec<String> {
    for _ in 0..visits {
        assert!(plain.main_runs_one(0));
    }
    plain
        .take_events()
        .into_iter()
        .filter_map(|event| {
            Some(
                event
                    .strip_prefix("worker 0 claims ")?
                    .split('.')
                    .next()?
                    .to_owned(),
            )
        })
        .collect()
}

struct Takes {
    clock: Arc<AtomicU64>,
    us: u64,
}

impl Stage for Takes {
    fn slots(&self) -> usize {
        10_000
    }

    fn run(&self, _slot: usize, _cx: &pipeline_exec::StepCx<'_>) -> Result<(), pipeline_exec::StepError> {
        self.clock.fetch_add(self.us * 1_000, Ordering::Relaxed);
        Ok(())
    }
}

struct One(Arc<AtomicU64>);

impl Stage for One {
    fn slots(&self) -> usize {
        1
    }

    fn run(&self, _slot: usize, _cx: &pipeline_exec::StepCx<'_>) -> Result<(), pipeline_exec::StepError> {
        self.0.fetch_add(100_000, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_main_worker_takes_turns_between_old_and_new_jobs() {
    let plain = Plain::new(2, 1);
    plain.submit("heavy", 1_000, Class::Normal, slots(1_000));
    let first = shares(&plain, 100);
    assert!(first.iter().all(|name| name == "heavy"));
    plain.submit("light", 1, Class::Normal, slots(10));
    let both = shares(&plain, 20);
    assert_eq!(
        both.iter().filter(|name| *name == "light").count(),
        10,
        "{both:?}"
    );
    assert_eq!(
        both[..10].iter().filter(|name| *name == "light").count(),
        5,
        "{both:?}"
    );
}

#[test]
fn of_equally_served_jobs_the_first_submitted_comes_first() {
    let plain = Plain::new(1, 0);
    for name in ["A", "B", "C"] {
        plain.submit(name, 1, Class::Normal, slots(10));
    }
    assert_eq!(shares(&plain, 7), ["A", "B", "C", "A", "B", "C", "A"]);
}

#[test]
fn a_slot_that_takes_no_time_counts_as_a_microsecond() {
    let plain = Plain::new(1, 0);
    // The clock has run for long: only the time between matters.
    let clock = Arc::new(AtomicU64::new(3_600_000_000_000));
    for (name, us) in [("three", 3), ("none", 0)] {
        let stage = Takes {
            clock: clock.clone(),
            us,
        };
        plain.submit(name, 1, Class::Normal, vec![Arc::new(stage)]);
    }
    plain.follow(&clock);
    let three = shares(&plain, 400).iter().filter(|name| *name == "three").count();
    assert!(
        (99..=101).contains(&three),
        "{three} of 400, three times as long each"
    );
}

fn quanta(clock: &Arc<AtomicU64>) -> Vec<Arc<dyn Stage>> {
    vec![Arc::new(Takes {
        clock: clock.clone(),
        us: 100,
    })]
}

#[test]
fn a_young_job_comes_before_old_ones_and_gets_in_line_when_it_grows_old() {
    let plain = Plain::with_quantum(1, 0, std::time::Duration::from_micros(100));
    let clock = Arc::new(AtomicU64::new(0));
    plain.submit("old", 1, Class::Normal, quanta(&clock));
    plain.follow(&clock);
    assert_eq!(shares(&plain, 100).len(), 100);
    plain.submit("new", 1, Class::Normal, quanta(&clock));
    assert_eq!(
        shares(&plain, 4),
        ["new"; 4],
        "as long as it is young: for four quanta"
    );
    let both = shares(&plain, 40);
    let new = both.iter().filter(|name| *name == "new").count();
    assert!((19..=21).contains(&new), "{new} of 40");
}

#[test]
fn a_stream_of_young_jobs_leaves_an_old_one_three_parts_of_twenty() {
    let plain = Plain::with_quantum(1, 0, std::time::Duration::from_micros(100));
    let clock = Arc::new(AtomicU64::new(0));
    plain.submit("old", 1, Class::Normal, quanta(&clock));
    plain.follow(&clock);
    assert_eq!(shares(&plain, 100).len(), 100);
    let one = |clock: &Arc<AtomicU64>| -> Arc<dyn Stage> { Arc::new(One(clock.clone())) };
    let mut names = Vec::new();
    for _ in 0..500 {
        if names.last().is_none_or(|name| name == "young") {
            plain.submit("young", 9, Class::Normal, vec![one(&clock)]);
        }
        names.extend(shares(&plain, 1));
    }
    assert_eq!(names[..10], ["young"; 10], "ten quanta in a row");
    let old = names.iter().filter(|name| *name == "old").count();
    assert!((72..=75).contains(&old), "{old} of 500");
}

#[test]
fn a_reserve_worker_stays_with_the_heaviest_job() {
    let plain = Plain::new(2, 1);
    plain.submit("light", 1, Class::Interactive, slots(10));
    plain.submit("heavy", 1_000, Class::Batch, slots(5));
    for _ in 0..5 {
        assert!(plain.reserve_runs_one(2));
    }
    assert_eq!(plain.board(), ["light"]);
    assert!(plain.reserve_runs_one(2), "then it takes what is left");
}

#[test]
fn main_takes_heavy_work_when_there_is_no_other_and_reserve_light() {
    let plain = Plain::new(1, 1);
    plain.submit("heavy", 1_000, Class::Normal, slots(3));
    while plain.main_runs_one(0) {}
    assert_eq!(plain.board(), [""; 0]);
    plain.submit("light", 1, Class::Normal, slots(3));
    while plain.reserve_runs_one(1) {}
    assert_eq!(plain.board(), [""; 0]);
}

#[test]
fn a_job_behind_many_old_ones_is_found() {
    let plain = Plain::new(1, 0);
    for n in 0..15 {
        plain.submit(&format!("old {n}"), 5, Class::Normal, slots(1));
    }
    plain.submit("new", 1, Class::Normal, slots(1));
    while plain.main_runs_one(0) {}
    assert_eq!(plain.board(), [""; 0]);
}

#[test]
fn classes_share_four_to_one() {
    for (one, other) in [(Class::Interactive, Class::Normal), (Class::Normal, Class::Batch)] {
        let plain = Plain::new(1, 0);
        let clock = Arc::new(AtomicU64::new(0));
        let stage = || {
            vec![Arc::new(Takes {
                clock: clock.clone(),
                us: 100,
            }) as Arc<dyn Stage>]
        };
        plain.submit("more", 1, one, stage());
        plain.submit("less", 1, other, stage());
        plain.follow(&clock);
        let mut more = 0;
        for _ in 0..1_000 {
            assert!(plain.main_runs_one(0));
            more += plain
                .take_events()
                .iter()
                .filter(|event| event.contains("claims more"))
                .count();
        }
        assert!((780..=820).contains(&more), "{one:?} got {more} of 1,000 slots");
    }
}

#[test]
fn reserve_takes_the_heaviest_first_while_main_is_held() {
    let executor = PipelineExecutor::new(2).unwrap();
    let (main_gate, reserve_gate) = (Gate::new(), Gate::new());
    let both = {
        let (main_gate, reserve_gate) = (main_gate.clone(), reserve_gate.clone());
        move || {
            let (main_gate, reserve_gate) = (main_gate.clone(), reserve_gate.clone());
            step(move |cx| {
                match cx.worker_id() {
                    0 => main_gate.pass(),
                    _ => reserve_gate.pass(),
                }
                Ok(())
            })
        }
    };
    let held = executor
        .submit(Job::from_steps("hold", vec![both(), both()]))
        .unwrap();
    main_gate.wait_for(1);
    reserve_gate.wait_for(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let tickets = [("B", 30), ("D", 10), ("A", 40), ("C", 20)].map(|(name, cost)| {
        let order = order.clone();
        let one = step(move |cx| {
            assert_eq!(cx.role(), Role::Reserve);
            order.lock().unwrap().push(name);
            Ok(())
        });
        let job = Job::builder(name).cost(cost).stage(steps(vec![one])).build();
        executor.submit(job).unwrap()
    });
    reserve_gate.open();
    for ticket in tickets {
        ticket.wait().unwrap();
    }
    main_gate.open();
    held.wait().unwrap();
    assert_eq!(*order.lock().unwrap(), ["A", "B", "C", "D"]);
}

#[test]
fn a_single_worker_has_both_roles_17_to_3() {
    let executor = PipelineExecutor::builder()
        .threads(1)
        .quantum(std::time::Duration::ZERO)
        .build()
        .unwrap();
    executor
        .submit(Job::builder("t").stage(Counting::new(2_000)).build())
        .unwrap()
        .wait()
        .unwrap();
    let worker = executor.snapshot().workers[0];
    assert_eq!((worker.slots_main, worker.slots_reserve), (1_700, 300));
}

#[test]
fn roles_that_are_asked_for_are_had() {
    for (main, reserve, other) in [(2, 0, Role::Reserve), (0, 2, Role::Main)] {
        let executor = PipelineExecutor::builder().roles(main, reserve).build().unwrap();
        let tickets = [1, 50].map(|slots| {
            let steps = (0..slots).map(|_| {
                step(move |cx| {
                    assert_ne!(cx.role(), other, "{main} main and {reserve} reserve");
                    assert!(cx.worker_id() < 2);
                    Ok(())
                })
            });
            executor
                .submit(Job::from_steps("either", steps.collect()))
                .unwrap()
        });
        for ticket in tickets {
            ticket.wait().unwrap();
        }
    }
    let nobody = PipelineExecutor::builder().roles(0, 0).build();
    assert!(nobody.is_err());
    let as_ever = PipelineExecutor::builder().roles(0, 0).threads(2).build();
    assert!(as_ever.is_ok(), "the last word counts");
}

#[test]
fn what_the_steps_of_a_job_took_says_nothing_about_costs_that_are_stated() {
    let executor = PipelineExecutor::builder().roles(2, 0).build().unwrap();
    let took = std::time::Duration::from_millis(3);
    let slow = Job::from_steps(
        "slow",
        vec![step(move |_| {
            std::thread::sleep(took);
            Ok(())
        })],
    );
    executor.submit(slow).unwrap().wait().unwrap();

    let gates = [Gate::new(), Gate::new()];
    let held = gates.clone().map(|gate| {
        step(move |_| {
            gate.pass();
            Ok(())
        })
    });
    let held = executor.submit(Job::from_steps("held", held.into())).unwrap();
    gates.iter().for_each(|gate| gate.wait_for(1));
    let order = Arc::new(Mutex::new(Vec::new()));
    let notes = |name: &'static str, cost| {
        let order = Arc::clone(&order);
        let stage = steps(vec![step(move |_| {
            order.lock().unwrap().push(name);
            Ok(())
        })]);
        Job::builder(name).cost(cost).stage(stage).build()
    };
    let first = executor.submit(notes("of a thousand bytes", 1_000)).unwrap();
    let second = executor.submit(notes("of two", 2)).unwrap();
    gates[0].open();
    for ticket in [first, second] {
        ticket.wait().unwrap();
    }
    gates[1].open();
    held.wait().unwrap();
    assert_eq!(*order.lock().unwrap(), ["of a thousand bytes", "of two"]);
}
