//! Start, one task, stop: the cost of having an executor for a moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::channel;
use executor_threaded::Executor;

use crate::THREADS;
use crate::contender::{Contender, Role};
use crate::options::Options;
use crate::pool::Ours;
use crate::target::{ALL_PEERS, Target};
use crate::workload::{Column, Workload};

pub(super) fn workload(options: &Options) -> Workload {
    let cycles = options.of(1_000, 100);
    let contender = |name: &str, role, cycle: fn() -> u64| {
        let start = move || move || (0..cycles).map(|_| cycle()).sum::<u64>();
        Contender::new(name, role, start)
    };
    let contenders: Vec<Contender> = vec![
        contender("windlass", Role::Ours, windlass),
        contender("rayon", Role::Peer, rayon),
        contender("tokio", Role::Peer, tokio),
        contender("channel and threads", Role::Peer, channel_and_threads),
    ];
    Workload::new(
        "start and stop",
        format!("{cycles} times: two threads are started, run one task, and are gone when the call returns."),
    )
    .units(cycles)
    .columns([Column::us_per("µs per cycle")])
    .cold()
    .rounds_max(5)
    .answer(move || cycles)
    .rows(contenders)
    .targets([Target::told(ALL_PEERS)])
}

fn windlass() -> u64 {
    let sum = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&sum);
    let run = move |n: u64, _: &mut _| {
        total.fetch_add(n, Ordering::Relaxed);
    };
    let executor = Executor::new(Ours::plain().config(), |_| (), run).expect("the executor starts");
    executor.spawn_external(1).expect("the gate is open");
    executor.join();
    sum.load(Ordering::Relaxed)
}

/// Dropping a pool joins its threads only if they are scoped.
fn rayon() -> u64 {
    let pool = ::rayon::ThreadPoolBuilder::new().num_threads(THREADS);
    pool.build_scoped(::rayon::ThreadBuilder::run, |pool| {
        pool.install(|| std::hint::black_box(1))
    })
    .expect("rayon starts")
}

fn tokio() -> u64 {
    let runtime = ::tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .build()
        .expect("tokio starts");
    let task = runtime.spawn(async { std::hint::black_box(1) });
    runtime.block_on(task).expect("the task does not panic")
}

fn channel_and_threads() -> u64 {
    let (sender, receiver) = channel::unbounded::<u64>();
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let receiver = receiver.clone();
            std::thread::spawn(move || receiver.iter().sum::<u64>())
        })
        .collect();
    sender.send(1).expect("the threads live");
    drop(sender);
    threads
        .into_iter()
        .map(|thread| thread.join().expect("no thread panics"))
        .sum()
}
