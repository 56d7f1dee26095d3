//! One producer outside hands over empty tasks, one by one: the cost of getting in and of waking.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::channel;
use executor_threaded::{Executor, ExecutorConfig};

use super::Workload;
use crate::THREADS;
use crate::peer::{Contender, Named};

const TASKS: u64 = 300_000;

pub(crate) struct Producer;

impl Workload for Producer {
    fn name(&self) -> &'static str {
        "producer"
    }

    fn unit(&self) -> &'static str {
        "task"
    }

    fn units(&self) -> u64 {
        TASKS
    }

    fn answer(&self) -> u64 {
        TASKS * (TASKS - 1) / 2
    }

    fn contenders(&self) -> Vec<Box<dyn Contender>> {
        vec![
            Box::new(Named("windlass", ours(1))),
            Box::new(Named("windlass, batches of 1,000", ours(1_000))),
            Box::new(Named("channel and threads", channel_and_threads())),
            Box::new(Named("rayon spawn", rayon_spawn())),
        ]
    }
}

fn ours(batch: u64) -> impl FnMut() -> u64 {
    let sum = Arc::new(AtomicU64::new(0));
    let total = sum.clone();
    let config = ExecutorConfig {
        workers: THREADS,
        ..ExecutorConfig::default()
    };
    let executor = Executor::<u64>::new(
        config,
        |_| (),
        move |n, _| {
            total.fetch_add(n, Ordering::Relaxed);
        },
    )
    .expect("the executor starts");
    move || {
        if batch == 1 {
            (0..TASKS).for_each(|n| executor.spawn_external(n).expect("the gate is open"));
        } else {
            for first in (0..TASKS).step_by(batch as usize) {
                let tasks = (first..(first + batch).min(TASKS)).collect();
                executor.spawn_external_batch(tasks).expect("the gate is open");
            }
        }
        executor.wait_idle();
        sum.swap(0, Ordering::Relaxed)
    }
}

fn channel_and_threads() -> impl FnMut() -> u64 {
    let (sender, receiver) = channel::unbounded::<u64>();
    let sum = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicU64::new(0));
    for _ in 0..THREADS {
        let (receiver, sum, done) = (receiver.clone(), sum.clone(), done.clone());
        std::thread::spawn(move || {
            for n in receiver {
                sum.fetch_add(n, Ordering::Relaxed);
                done.fetch_add(1, Ordering::Release);
            }
        });
    }
    move || {
        (0..TASKS).for_each(|n| sender.send(n).expect("the threads live"));
        while done.load(Ordering::Acquire) < TASKS {
            std::thread::yield_now();
        }
        done.store(0, Ordering::Relaxed);
        sum.swap(0, Ordering::Relaxed)
    }
}

fn rayon_spawn() -> impl FnMut() -> u64 {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(THREADS)
        .build()
        .expect("rayon starts");
    let sum = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicU64::new(0));
    move || {
        for n in 0..TASKS {
            let (sum, done) = (sum.clone(), done.clone());
            pool.spawn(move || {
                sum.fetch_add(n, Ordering::Relaxed);
                done.fetch_add(1, Ordering::Release);
            });
        }
        while done.load(Ordering::Acquire) < TASKS {
            std::thread::yield_now();
        }
        done.store(0, Ordering::Relaxed);
        sum.swap(0, Ordering::Relaxed)
    }
}
