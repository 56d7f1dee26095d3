//! A worker's way into sleep and out of it, and its metrics on the way.

use std::rc::Rc;
use std::time::Duration;

use executor_core::{
    ExecTraceEvent, IdleAction, IdleHooks, IdleRound, Park, TraceHooks, WorkerExit, run_worker,
};

use crate::bench_top::{Meanwhile, Operation, Task, Top, Worker};

struct Parking<'a> {
    meanwhile: Option<Box<dyn FnOnce() + 'a>>,
    idle: Vec<Duration>,
}

impl IdleHooks for Parking<'_> {
    fn on_idle(&mut self, _round: IdleRound) -> IdleAction {
        if let Some(meanwhile) = self.meanwhile.take() {
            meanwhile();
        }
        IdleAction::Park(Park::default())
    }

    fn on_work(&mut self, idle: Duration) {
        self.idle.push(idle);
    }
}

#[derive(Default)]
struct Wakes(Vec<bool>);

impl TraceHooks<Task> for Wakes {
    type Tag = Task;

    fn tag(&mut self, task: &Task) -> Task {
        *task
    }

    fn event(&mut self, event: ExecTraceEvent<Task>) {
        if let ExecTraceEvent::Awake { woken } = event {
            self.0.push(woken);
        }
    }
}

/// Task 99 closes the executor.
fn run(top: &Rc<Top>, idle: &mut Parking<'_>) -> (Worker, Vec<bool>) {
    let mut worker = top.worker(0);
    let mut wakes = Wakes::default();
    let runner = |task: Task, cx: &mut Worker| {
        cx.scratch.push(task);
        if task == 99 {
            top.scheduler.close(&top.ports(0));
        }
    };
    assert_eq!(
        run_worker(&mut worker, &runner, idle, &mut wakes),
        WorkerExit::Done
    );
    (worker, wakes.0)
}

fn while_parked<const N: usize>(top: &Rc<Top>, meanwhile: [Meanwhile; N]) {
    top.while_parked.borrow_mut().extend(meanwhile);
}

#[test]
fn what_comes_between_the_last_search_and_the_sleep_is_found_in_the_last_look() {
    // Among three workers a search probes six victims: four at random, then both.
    for (from_outside, tried, won) in [(true, 12, 0), (false, 14, 1)] {
        let top = Top::of(3);
        let mut idle = Parking {
            meanwhile: Some(Box::new(|| {
                if from_outside {
                    top.place_outside(99);
                } else {
                    top.place(2, 99);
                }
            })),
            idle: Vec::new(),
        };
        let (worker, wakes) = run(&top, &mut idle);
        assert_eq!(worker.scratch, [99]);
        let metrics = &worker.metrics;
        assert_eq!((metrics.steals_tried, metrics.steals_won), (tried, won));
        assert_eq!((metrics.executed_stolen, metrics.executed()), (won, 1));
        assert_eq!((metrics.parks, wakes), (0, vec![false]));
    }
}

#[test]
fn what_was_found_in_the_last_look_runs_before_what_came_with_it_which_wakes_a_sleeper() {
    for (sleeper, woken) in [(None, vec![0]), (Some(1), vec![1, 0])] {
        let top = Top::of(3);
        top.stolen_together.set(3);
        if let Some(sleeper) = sleeper {
            top.register(sleeper, false);
        }
        let mut idle = Parking {
            meanwhile: Some(Box::new(|| (1..=3).for_each(|task| top.place(2, task)))),
            idle: Vec::new(),
        };
        while_parked(&top, [Box::new(|top| top.scheduler.close(&top.ports(1)))]);
        let (worker, _) = run(&top, &mut idle);
        assert_eq!(worker.scratch, [1, 3, 2], "nobody else can take what is in hand");
        assert_eq!(top.unparked.take(), woken, "at the end this worker itself");
        assert_eq!(worker.metrics.wakes, u64::from(sleeper.is_some()));
    }
}

#[test]
fn the_last_searcher_wakes_another_worker_only_if_there_is_more() {
    for (more, woken) in [(None, vec![]), (Some(1), vec![2]), (Some(3), vec![2])] {
        let top = Top::of(4);
        top.register(2, false);
        let mut worker = top.worker(0);
        worker.step();
        top.place_outside(7);
        if let Some(victim) = more {
            top.place(victim, 8);
        }
        worker.step();
        assert_eq!((worker.scratch.clone(), top.unparked.take()), (vec![7], woken));
    }
}

#[test]
fn who_has_nothing_to_give_back_leaves_the_words_alone() {
    let top = Top::of(2);
    let mut worker = top.worker(0);
    worker.step();
    top.take_log();
    worker.step();
    let changes = |operation: &Operation| matches!(operation, Operation::Change(_) | Operation::Store(_));
    assert!(
        !top.take_log().iter().any(changes),
        "it searches, and has no count"
    );
}

#[test]
fn what_a_victim_has_is_counted_as_one_look_that_brought_something_home() {
    let top = Top::of(3);
    top.place(1, 5);
    top.place(1, 6);
    let mut worker = top.worker(0);
    worker.step();
    worker.step();
    assert_eq!(worker.scratch, [5, 6]);
    assert_eq!((worker.metrics.steals_tried, worker.metrics.steals_won), (2, 2));
}

#[test]
fn a_worker_counts_its_parks_and_those_of_its_wakes_that_were_for_nothing() {
    let top = Top::of(2);
    let for_nothing = |top: &Rc<Top>| {
        assert_eq!(top.scheduler.sleep().notify(&top.ports(1), 1), 1);
    };
    while_parked(
        &top,
        [
            Box::new(|top| top.spawn(1)),
            Box::new(for_nothing),
            Box::new(for_nothing),
            Box::new(|top| top.spawn(2)),
            Box::new(|top| top.scheduler.close(&top.ports(1))),
        ],
    );
    let mut idle = Parking {
        meanwhile: None,
        idle: Vec::new(),
    };
    let (worker, wakes) = run(&top, &mut idle);
    assert_eq!(worker.scratch, [1, 2]);
    assert_eq!((worker.metrics.parks, worker.metrics.wakes_for_nothing), (5, 2));
    assert_eq!(wakes, [true, true, true, true, false], "the end is no wake");
}

#[test]
fn the_idle_hooks_are_told_how_long_there_was_nothing_to_do_once_for_each_idle_time() {
    let top = Top::of(2);
    top.spawn(1);
    top.spawn(2);
    let after = |us: u64, delay_us: u64, task: Task| -> Meanwhile {
        Box::new(move |top| {
            top.now_ns.set(top.now_ns.get() + us * 1_000);
            top.wake_delay.set(Duration::from_micros(delay_us));
            top.spawn(task);
        })
    };
    while_parked(&top, [after(70, 0, 3), after(50, 20, 99)]);
    let mut idle = Parking {
        meanwhile: None,
        idle: Vec::new(),
    };
    run(&top, &mut idle);
    let us = Duration::from_micros;
    assert_eq!(
        idle.idle,
        [us(70), us(30)],
        "what the wake itself took is no idle time"
    );
}

#[test]
fn who_takes_one_short_task_after_the_other_from_outside_waits_longer_and_longer_but_not_for_nothing() {
    let top = Top::of(2);
    let mut worker = top.worker(0);
    for task in 0..=16 {
        top.place(0, task);
        worker.step();
    }
    for (there, spun) in [
        (true, None),
        (true, Some(1)),
        (true, Some(2)),
        (true, Some(4)),
        // In vain: half of it next time, and none at once.
        (false, Some(8)),
        (true, None),
        (true, Some(8)),
        (true, Some(16)),
    ] {
        if there {
            top.spawn(100);
        }
        worker.step();
        assert_eq!(top.spun.take(), Vec::from_iter(spun));
    }
}
