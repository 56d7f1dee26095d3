//! A complete binary tree, a task a node: spawning and nothing else.

use executor_threaded::{Executor, ExecutorConfig};

use super::Workload;
use crate::THREADS;
use crate::peer::{Contender, Named};

const DEPTH: u32 = 20;

pub(crate) struct Tree;

impl Workload for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn unit(&self) -> &'static str {
        "task"
    }

    fn units(&self) -> u64 {
        (1 << (DEPTH + 1)) - 1
    }

    fn answer(&self) -> u64 {
        self.units()
    }

    fn contenders(&self) -> Vec<Box<dyn Contender>> {
        let config = ExecutorConfig {
            workers: THREADS,
            ..ExecutorConfig::default()
        };
        let totals = std::sync::Arc::new([const { std::sync::atomic::AtomicU64::new(0) }; THREADS]);
        let seen = totals.clone();
        // Each worker counts in its own scratch value and publishes it when a leaf of the left-most kind comes by; the
        // count of nodes is read after `wait_idle`.
        let executor = Executor::<u32>::new(
            config,
            |_| 0_u64,
            move |depth, cx| {
                if depth > 0 {
                    cx.spawn_local(depth - 1);
                    cx.spawn_local(depth - 1);
                }
                cx.scratch += 1;
                seen[cx.worker_id].store(cx.scratch, std::sync::atomic::Ordering::Relaxed);
            },
        )
        .expect("the executor starts");
        let mut before = 0;
        let ours = move || {
            executor.spawn_external(DEPTH).expect("the gate is open");
            executor.wait_idle();
            let now: u64 = totals
                .iter()
                .map(|total| total.load(std::sync::atomic::Ordering::Relaxed))
                .sum();
            now - std::mem::replace(&mut before, now)
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(THREADS)
            .build()
            .expect("rayon starts");
        vec![
            Box::new(Named("windlass", ours)),
            Box::new(Named("rayon join", move || pool.install(|| joined(DEPTH)))),
            Box::new(Named("serial", || serial(DEPTH))),
        ]
    }
}

fn joined(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (left, right) = rayon::join(|| joined(depth - 1), || joined(depth - 1));
    left + right + 1
}

fn serial(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    std::hint::black_box(serial(depth - 1)) + std::hint::black_box(serial(depth - 1)) + 1
}
