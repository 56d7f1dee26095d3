//! One task spawns thousands of small ones: how fast others get to help.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use executor_threaded::{Executor, ExecutorConfig};
use rayon::prelude::*;

use super::Workload;
use crate::THREADS;
use crate::peer::{Contender, Named};

const TASKS: u64 = 8_192;
/// Makes a task about 200 ns long.
const HASHES: u64 = 200;

pub(crate) struct FanOut;

impl Workload for FanOut {
    fn name(&self) -> &'static str {
        "fan-out"
    }

    fn unit(&self) -> &'static str {
        "task"
    }

    fn units(&self) -> u64 {
        TASKS
    }

    fn answer(&self) -> u64 {
        (0..TASKS).map(work).fold(0, u64::wrapping_add)
    }

    fn contenders(&self) -> Vec<Box<dyn Contender>> {
        let config = ExecutorConfig {
            workers: THREADS,
            ..ExecutorConfig::default()
        };
        let sum = Arc::new(AtomicU64::new(0));
        let total = sum.clone();
        let executor = Executor::<Option<u64>>::new(
            config,
            |_| (),
            move |task, cx| match task {
                Some(n) => {
                    total.fetch_add(work(n), Ordering::Relaxed);
                }
                None => (0..TASKS).for_each(|n| cx.spawn_local(Some(n))),
            },
        )
        .expect("the executor starts");
        let ours = move || {
            executor.spawn_external(None).expect("the gate is open");
            executor.wait_idle();
            sum.swap(0, Ordering::Relaxed)
        };
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(THREADS)
            .build()
            .expect("rayon starts");
        vec![
            Box::new(Named("windlass", ours)),
            Box::new(Named("rayon par_iter", move || {
                pool.install(|| {
                    (0..TASKS)
                        .into_par_iter()
                        .map(work)
                        .reduce(|| 0, u64::wrapping_add)
                })
            })),
            Box::new(Named("serial", || {
                (0..TASKS).map(work).fold(0, u64::wrapping_add)
            })),
        ]
    }
}

fn work(n: u64) -> u64 {
    let mut state = n | 1;
    for _ in 0..std::hint::black_box(HASHES) {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }
    state
}
