//! One task spawns many small ones: how fast others get to help, and from which size on it pays.
//!
//! Two times are told. *Inside* is from the root task's first instruction to the end of the last task, with the pool
//! running; *whole* is from the call that hands the root over to its return with the answer, so it has two wake-ups in
//! it. The end of the last task is seen where each contender sees it without paying for it: rayon's `join` returns; our
//! workers and the channel's threads look at the clock when they find nothing more to do.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use ::rayon::prelude::*;
use crossbeam::channel;
use crossbeam::utils::CachePadded;
use executor_threaded::{Executor, ExecutorConfig, IdleAction, IdleHooks, IdleRound, TieredIdle};

use super::recursion::halved;
use super::{Column, Family, Workload};
use crate::THREADS;
use crate::burn::{STEPS_180_NS, burn, now_ns};
use crate::contender::{Contender, Named, Outcome, Role};
use crate::pool::{Ours, rayon_pool};
use crate::tally::{Meter, Tally};
use crate::target::{Of, Target};

const SIZES: [u32; 6] = [8, 32, 128, 512, 2_048, 8_192];

/// Tasks of a measured run together, in as many fan-outs as it takes, so that a run is some milliseconds long.
const TASKS: u32 = 32_768;

pub(super) fn workloads() -> Vec<Workload> {
    SIZES.into_iter().map(workload).collect()
}

fn workload(size: u32) -> Workload {
    let times = TASKS / size;
    let beside_peers = || Target::at_most(1.05, Of::Best(&["rayon join", "channel and threads"]));
    let mut targets = vec![beside_peers(), beside_peers().column(1)];
    if size == 8 {
        targets.push(Target::at_most(1.2, Of::Row("serial")));
    }
    if size >= 512 {
        targets.push(Target::at_most(0.6, Of::Row("serial")));
    }
    Workload {
        name: format!("fan-out of {size}"),
        story: format!(
            "A task in a running pool spawns {size} tasks of some 180 ns, {times} times. *Inside*: from the root's first \
             instruction to the end of the last task. *Whole*: from outside, hand-over and wake-up of the caller included."
        ),
        units: u64::from(TASKS),
        columns: vec![
            Column::Measured {
                head: "inside, ns per task",
                index: 0,
            },
            Column::ns_per("whole, ns per task"),
        ],
        warm_ups: 1,
        rounds_max: usize::MAX,
        answer: Box::new(move || serial(size).wrapping_mul(times.into())),
        contenders: contenders(size),
        targets,
        is_elsewhere: false,
        family: Some(Family {
            name: "fan-out",
            axis: "tasks",
            size: size.into(),
        }),
    }
}

fn contenders(size: u32) -> Vec<Box<dyn Contender>> {
    let mut all: Vec<Box<dyn Contender>> = Vec::new();
    let hoards = [
        Ours::with("windlass, hoard of 8", |config| ExecutorConfig {
            hoard_threshold: 8,
            ..config
        }),
        Ours::with("windlass, hoard of 128", |config| ExecutorConfig {
            hoard_threshold: 128,
            ..config
        }),
    ];
    for ours in [Ours::plain(), Ours::pinned()].into_iter().chain(hoards) {
        let start = move || repeated(size, windlass(size, ours.config()));
        all.push(Named::new(ours.name, Role::Ours, start).boxed());
    }
    let installed = |name, sum: fn(u32) -> u64| {
        let start = move || {
            let pool = rayon_pool(Arc::default());
            repeated(size, move || pool.install(|| timed(|| sum(size))))
        };
        Named::new(name, Role::Peer, start).boxed()
    };
    all.push(installed("rayon join", |size| halved(0, size, &work)));
    all.push(installed("rayon par_iter", |size| {
        (0..size)
            .into_par_iter()
            .map(work)
            .reduce(|| 0, u64::wrapping_add)
    }));
    all.push(
        Named::new("channel and threads", Role::Peer, move || {
            repeated(size, channel_and_threads(size))
        })
        .boxed(),
    );
    all.push(
        Named::new("std scope, chunks", Role::Peer, move || {
            repeated(size, move || timed(|| chunks(size)))
        })
        .boxed(),
    );
    all.push(
        Named::new("serial", Role::Baseline, move || {
            repeated(size, move || timed(|| serial(size)))
        })
        .boxed(),
    );
    all
}

/// One fan-out: its answer, and the time inside in nanoseconds.
type Once = (u64, u64);

/// As many fan-outs as make up a run.
fn repeated(size: u32, mut once: impl FnMut() -> Once) -> impl FnMut() -> Outcome {
    move || {
        let (mut answer, mut inside) = (0_u64, 0);
        for _ in 0..TASKS / size {
            let (sum, ns) = once();
            answer = answer.wrapping_add(sum);
            inside += ns;
        }
        Outcome {
            answer,
            measured: vec![inside as f64 / f64::from(TASKS)],
            ..Outcome::default()
        }
    }
}

fn timed(sum: impl FnOnce() -> u64) -> Once {
    let start = now_ns();
    let answer = sum();
    (answer, now_ns() - start)
}

fn work(n: u32) -> u64 {
    burn(n.into(), STEPS_180_NS)
}

fn serial(size: u32) -> u64 {
    (0..size).map(work).fold(0, u64::wrapping_add)
}

/// As many chunks as threads, one of them the caller's own.
fn chunks(size: u32) -> u64 {
    let threads = u32::try_from(THREADS).expect("a small number");
    let chunk = |index: u32| {
        let tasks = size * index / threads..size * (index + 1) / threads;
        tasks.map(work).fold(0, u64::wrapping_add)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|index| scope.spawn(move || chunk(index)))
            .collect();
        let own = chunk(0);
        let others = others
            .into_iter()
            .map(|thread| thread.join().expect("no chunk panics"));
        others.fold(own, u64::wrapping_add)
    })
}

/// `None` is the root.
fn windlass(size: u32, config: ExecutorConfig) -> impl FnMut() -> Once {
    let tally = Arc::new(Tally::default());
    let mut meter = Meter::new(Arc::clone(&tally));
    let marks: Arc<[CachePadded<Mark>]> = (0..config.workers).map(|_| CachePadded::default()).collect();
    let (of_workers, started) = (Arc::clone(&marks), Arc::new(AtomicU64::new(0)));
    let (start, of_hooks) = (Arc::clone(&started), Arc::clone(&tally));
    let executor = Executor::<Option<u32>>::builder()
        .config(config)
        .idle_hooks(move |worker, config| Clocked {
            idle: TieredIdle::of(config),
            marks: Arc::clone(&of_workers),
            tally: Arc::clone(&of_hooks),
            worker,
        })
        .build(
            move |_| tally.slot(),
            move |task, cx| match task {
                Some(n) => cx.scratch.add_task(work(n)),
                None => {
                    start.store(now_ns(), Ordering::Relaxed);
                    (0..size).for_each(|n| cx.spawn_local(Some(n)));
                }
            },
        )
        .expect("the executor starts");
    move || {
        executor.spawn_external(None).expect("the gate is open");
        // Not by `wait_idle`: a worker would wake the caller before it looks at the clock, which takes as long as many tasks.
        let sum = meter.wait(size.into());
        // A worker that had a task says so before that task is over, so nobody's look at the clock is missed.
        while marks.iter().any(|mark| mark.busy.load(Ordering::Acquire)) {
            std::thread::yield_now();
        }
        let ended = marks.iter().map(|mark| mark.ended.load(Ordering::Relaxed)).max();
        let ended = ended.expect("there are workers");
        (sum, ended - started.load(Ordering::Relaxed))
    }
}

/// When a worker last ran out of work.
#[derive(Debug)]
struct Mark {
    busy: AtomicBool,
    ended: AtomicU64,
}

impl Default for Mark {
    fn default() -> Self {
        Self {
            // Nobody tells the hooks of a task that is there from the start: they hear of work *after* an idle time.
            busy: AtomicBool::new(true),
            ended: AtomicU64::default(),
        }
    }
}

/// The usual idle hooks, that look at the clock in the first round without work.
struct Clocked {
    idle: TieredIdle,
    marks: Arc<[CachePadded<Mark>]>,
    tally: Arc<Tally>,
    worker: usize,
}

impl IdleHooks for Clocked {
    fn on_idle(&mut self, round: IdleRound) -> IdleAction {
        let mark = &self.marks[self.worker];
        if mark.busy.load(Ordering::Relaxed) {
            mark.ended.store(now_ns(), Ordering::Relaxed);
            mark.busy.store(false, Ordering::Release);
            self.tally.ran_out();
        }
        self.idle.on_idle(round)
    }

    fn on_work(&mut self, idle: Duration) {
        self.marks[self.worker].busy.store(true, Ordering::Relaxed);
        self.idle.on_work(idle);
    }
}

/// What the threads of the channel are told.
enum Message {
    Root,
    Task(u32),
    /// Behind the last task, one for each thread: to look at the clock, and to meet the others and the caller.
    End,
    Stop,
}

/// The threads and their end of the channel.
struct Threads {
    sender: channel::Sender<Message>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        for _ in &self.threads {
            self.sender.send(Message::Stop).expect("the threads live");
        }
        for thread in self.threads.drain(..) {
            thread.join().expect("no thread panics");
        }
    }
}

fn channel_and_threads(size: u32) -> impl FnMut() -> Once {
    let (sender, receiver) = channel::unbounded();
    let tally = Arc::new(Tally::default());
    let mut meter = Meter::new(Arc::clone(&tally));
    let (started, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let all_here = Arc::new(Barrier::new(THREADS + 1));
    let thread = |_| {
        let (sender, receiver, slot) = (sender.clone(), receiver.clone(), tally.slot());
        let (started, ended, all_here) = (Arc::clone(&started), Arc::clone(&ended), Arc::clone(&all_here));
        let send = move |message| sender.send(message).expect("this thread receives");
        std::thread::spawn(move || {
            for message in receiver {
                match message {
                    Message::Root => {
                        started.store(now_ns(), Ordering::Relaxed);
                        (0..size).for_each(|n| send(Message::Task(n)));
                        (0..THREADS).for_each(|_| send(Message::End));
                    }
                    Message::Task(n) => slot.add(work(n)),
                    Message::End => {
                        ended.fetch_max(now_ns(), Ordering::Relaxed);
                        all_here.wait();
                    }
                    Message::Stop => break,
                }
            }
        })
    };
    let threads = (0..THREADS).map(thread).collect();
    let pool = Threads { sender, threads };
    move || {
        pool.sender.send(Message::Root).expect("the threads live");
        all_here.wait();
        let inside = ended.load(Ordering::Relaxed) - started.load(Ordering::Relaxed);
        (meter.take(), inside)
    }
}
