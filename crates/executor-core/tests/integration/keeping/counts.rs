//! The state word against a model of all tasks: it never under-counts, over-counts little, and ends
//! at zero.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use executor_core::ports::Native;
use executor_core::{ExecutorConfig, Rejected, WorkerStepResult};
use proptest::prelude::*;

use crate::bench_top::{Task, Top, Worker};

const STEPPED: usize = 2;
const IDLER: usize = STEPPED;

#[derive(Clone, Copy, Debug)]
enum Op {
    SpawnLocal,
    SpawnGlobal,
    Publish,
    Outside,
    Step(usize),
    Tick(u64),
    /// The idle worker searches, falls asleep or stays asleep, in turn.
    Idle,
    Close,
    Abort,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => Just(Op::SpawnLocal),
        2 => Just(Op::SpawnGlobal),
        1 => Just(Op::Publish),
        2 => Just(Op::Outside),
        12 => (0..STEPPED).prop_map(Op::Step),
        2 => prop_oneof![Just(10), Just(5_000)].prop_map(Op::Tick),
        2 => Just(Op::Idle),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let end = prop_oneof![Just(Op::Close), Just(Op::Abort)];
    (
        prop::collection::vec(op(), 0..400),
        any::<prop::sample::Index>(),
        end,
    )
        .prop_map(|(mut ops, at, end)| {
            ops.insert(at.index(ops.len() + 1), end);
            ops
        })
}

fn config() -> impl Strategy<Value = ExecutorConfig> {
    (
        prop_oneof![Just(1_usize), Just(2), Just(7)],
        0_usize..=8,
        prop_oneof![Just(1_u32), Just(2), Just(9)],
        1_u32..6,
    )
        .prop_map(
            |(credit_block, private_tasks, fairness_interval, wake_threshold)| {
                ExecutorConfig::new(STEPPED + 1).tune(|tuning| {
                    tuning.spin_iters = 0;
                    tuning.credit_block = credit_block;
                    tuning.fairness_interval = fairness_interval;
                    tuning.private_tasks = private_tasks;
                    tuning.short_task = Duration::from_micros(1);
                    tuning.wake_threshold = wake_threshold;
                })
            },
        )
}

struct World {
    top: Rc<Top>,
    script: RefCell<std::vec::IntoIter<Op>>,
    in_flight: RefCell<BTreeSet<Task>>,
    last: Cell<Task>,
    accepted: Cell<u64>,
    spawned: Cell<u64>,
    idler: Cell<Idler>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Idler {
    Working,
    Searching,
    Sleeping,
}

impl World {
    fn begin(&self) -> Task {
        self.last.set(self.last.get() + 1);
        self.in_flight.borrow_mut().insert(self.last.get());
        self.last.get()
    }

    fn child(&self) -> Task {
        self.spawned.set(self.spawned.get() + 1);
        self.begin()
    }

    fn end(&self, task: Task) {
        assert!(self.in_flight.borrow_mut().remove(&task), "task {task} ran twice");
    }

    fn next(&self) -> Option<Op> {
        self.check();
        self.script.borrow_mut().next()
    }

    fn check(&self) {
        let config = self.top.scheduler.config();
        let (tasks, counted) = (self.in_flight.borrow().len(), self.top.in_flight());
        assert!(counted >= tasks, "{tasks} tasks in flight, but {counted} counted");
        // Two spare blocks, the block of a public task, and credits of private tasks run since the
        // last tick.
        let since_look = config.tuning.fairness_interval as usize;
        let spare = STEPPED * (since_look + 2 * config.tuning.credit_block + 2);
        assert!(
            counted <= tasks + spare,
            "{tasks} tasks in flight, and {counted} counted"
        );
        let word = self.top.scheduler.sleep().peek(&Native);
        assert!(
            !word.is_done() || tasks == 0,
            "it ended with {tasks} tasks in flight"
        );
    }

    fn happen(&self, op: Op) {
        let top = &self.top;
        match op {
            Op::Outside => {
                let task = self.begin();
                match top.scheduler.spawn_external(&top.ports(IDLER), task) {
                    Ok(_) => self.accepted.set(self.accepted.get() + 1),
                    Err(Rejected(task)) => self.end(task),
                }
            }
            Op::Tick(ns) => top.now_ns.set(top.now_ns.get() + ns),
            Op::Idle => self.idle(),
            Op::Close => top.scheduler.close(&top.ports(IDLER)),
            Op::Abort => top.scheduler.abort(&top.ports(IDLER)),
            Op::SpawnLocal | Op::SpawnGlobal | Op::Publish | Op::Step(_) => {}
        }
    }

    fn idle(&self) {
        let top = &self.top;
        if top.scheduler.sleep().peek(&Native).is_done() {
            return;
        }
        if top.unparked.take().contains(&IDLER) {
            self.idler.set(Idler::Searching);
        }
        let next = match self.idler.get() {
            Idler::Working if top.scheduler.sleep().begin_search(&top.ports(IDLER)) => Idler::Searching,
            Idler::Working => Idler::Working,
            Idler::Searching => {
                top.register(IDLER, true);
                Idler::Sleeping
            }
            Idler::Sleeping => Idler::Sleeping,
        };
        self.idler.set(next);
    }

    fn run(&self, task: Task, cx: &mut Worker) {
        while let Some(op) = self.next() {
            match op {
                Op::SpawnLocal => cx.state.spawn_local(self.child()),
                Op::SpawnGlobal => cx.state.spawn_global(self.child()),
                Op::Publish => cx.state.publish(),
                Op::Step(_) => break,
                op => self.happen(op),
            }
        }
        self.end(task);
    }

    fn step(&self, worker: &mut Worker) -> WorkerStepResult<()> {
        let result = worker.step_with(&|task, cx| self.run(task, cx));
        for task in worker.state.take_returned() {
            self.end(task);
        }
        self.check();
        result
    }
}

proptest! {
    #[test]
    fn the_word_counts_every_task_whatever_is_private(config in config(), ops in ops()) {
        let top = Top::new(config);
        let mut workers = [top.worker(0), top.worker(1)];
        let world = World {
            top,
            script: RefCell::new(ops.into_iter()),
            in_flight: RefCell::default(),
            last: Cell::default(),
            accepted: Cell::default(),
            spawned: Cell::default(),
            idler: Cell::new(Idler::Working),
        };
        while let Some(op) = world.next() {
            match op {
                Op::Step(worker) => drop(world.step(&mut workers[worker])),
                op => world.happen(op),
            }
        }
        for worker in &mut workers {
            while !matches!(world.step(worker), WorkerStepResult::ExitDone | WorkerStepResult::ShouldPark { .. }) {}
        }
        for worker in &mut workers {
            while world.step(worker) != WorkerStepResult::ExitDone {}
        }
        prop_assert_eq!(world.in_flight.borrow().len(), 0);
        prop_assert_eq!(world.top.in_flight(), 0);
        let spawned: u64 = workers.iter().map(|worker| worker.metrics.spawned).sum();
        let over: u64 = workers.iter().map(|worker| worker.metrics.executed() + worker.metrics.returned).sum();
        prop_assert_eq!(spawned, world.spawned.get());
        prop_assert_eq!(over, world.accepted.get() + spawned);
    }
}
