//! One task spawns many small ones: how soon others help, and from which size on that pays.
//!
//! *Inside* is from the root task's first instruction to the end of the last task. *Whole* is from
//! the hand-over of the root to the return with the answer, and includes two wake-ups. Each
//! contender observes the last task's end for free: rayon's `join` returns; our workers and the
//! channel's threads read the clock when they find no more work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use ::rayon::prelude::*;
use crossbeam::channel;
use crossbeam::utils::CachePadded;
use executor_threaded::hooks::{IdleAction, IdleHooks, IdleRound, TieredIdle};
use executor_threaded::{Executor, ExecutorConfig};

use super::recursion::halved;
use crate::THREADS;
use crate::burn::{STEPS_180_NS, burn, now_ns};
use crate::contender::{Contender, Outcome};
use crate::pool::{Ours, rayon_pool};
use crate::tally::{Meter, Tally};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const SIZES: [u32; 6] = [8, 32, 128, 512, 2_048, 8_192];

/// Tasks of a measured run, in as many fan-outs as that takes.
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
    Workload::new(
        format!("fan-out of {size}"),
        format!(
            "A task in a running pool spawns tasks of some 180 ns, again and again: {TASKS} tasks a \
             run. *Inside*: from the root's first instruction to the end of the last task. *Whole*: \
             from outside, hand-over and wake-up of the caller included."
        ),
    )
    .units(u64::from(TASKS))
    .columns([
        Column::measured("inside, ns per task", 0),
        Column::ns_per("whole, ns per task"),
    ])
    .answer(move || serial(size).wrapping_mul(times.into()))
    .rows(contenders(size))
    .targets(targets)
    .family("fan-out", "tasks", size.into())
}

fn contenders(size: u32) -> Vec<Contender> {
    let mut all: Vec<Contender> = Vec::new();
    let hoards = [
        Ours::with("windlass, hoard of 8", |config| {
            config.tune(|tuning| tuning.wake_threshold = 8)
        }),
        Ours::with("windlass, hoard of 128", |config| {
            config.tune(|tuning| tuning.wake_threshold = 128)
        }),
    ];
    for ours in [Ours::plain(), Ours::pinned()].into_iter().chain(hoards) {
        let start = move || repeated(size, windlass(size, ours.config()));
        all.push(Contender::ours(ours.name, start));
    }
    let installed = |name, sum: fn(u32) -> u64| {
        let start = move || {
            let pool = rayon_pool(Arc::default());
            repeated(size, move || pool.install(|| timed(|| sum(size))))
        };
        Contender::peer(name, start)
    };
    all.push(installed("rayon join", |size| halved(0, size, &work)));
    all.push(installed("rayon par_iter", |size| {
        (0..size)
            .into_par_iter()
            .map(work)
            .reduce(|| 0, u64::wrapping_add)
    }));
    all.push(Contender::peer("channel and threads", move || {
        repeated(size, channel_and_threads(size))
    }));
    all.push(Contender::baseline("serial", move || {
        repeated(size, move || timed(|| serial(size)))
    }));
    all
}

/// Answer, and the time inside in nanoseconds.
type Once = (u64, u64);

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
        // Not `wait_idle`: a worker would wake the caller before it reads the clock.
        let sum = meter.wait(size.into());
        // A worker with a task says so before that task is over, so every reading counts.
        while marks.iter().any(|mark| mark.busy.load(Ordering::Acquire)) {
            std::thread::yield_now();
        }
        let ended = marks.iter().map(|mark| mark.ended.load(Ordering::Relaxed)).max();
        let ended = ended.expect("there are workers");
        (sum, ended - started.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
struct Mark {
    busy: AtomicBool,
    ended: AtomicU64,
}

impl Default for Mark {
    fn default() -> Self {
        Self {
            // Hooks hear of work only *after* an idle time.
            busy: AtomicBool::new(true),
            ended: AtomicU64::default(),
        }
    }
}

/// The usual idle hooks, which read the clock in the first round without work.
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

enum Message {
    Root,
    Task(u32),
    /// Follows the last task, one a thread: read the clock, and meet the other threads.
    End,
    Stop,
}

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
