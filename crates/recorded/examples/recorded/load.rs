//! The loads: their tasks, and the environment's work beside them.

use std::hint::black_box;
use std::thread;

use executor_core::TaskCtx;
use executor_threaded::{ExecutorConfig, OnPanic};
use recorded::{RecordedHandle, RecordedRun, Recording, record};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Two children, down to depth 0, each after `turns` turns of a loop.
    Tree {
        depth: u32,
        turns: u32,
    },
    Uneven {
        seed: u64,
        depth: u32,
    },
    Fan {
        leaves: u32,
        turns: u32,
    },
    Leaf {
        turns: u32,
    },
    Panics,
}

pub(crate) struct Load {
    pub(crate) name: &'static str,
    on_panic: OnPanic,
    body: fn(&RecordedHandle<'_, Task>, u64),
}

pub(crate) const LOADS: &[Load] = &[
    Load::new("tree", |handle, _| {
        spawn(handle, Task::Tree { depth: 11, turns: 4 });
        handle.wait_idle();
    }),
    Load::new("unbalanced tree", |handle, round| {
        for seed in 0..8 {
            let seed = round << 8 | seed;
            spawn(handle, Task::Uneven { seed, depth: 9 });
        }
        handle.wait_idle();
    }),
    Load::new("fan-out", |handle, _| {
        for leaves in [10, 300, 3_000] {
            spawn(handle, Task::Fan { leaves, turns: 50 });
            handle.wait_idle();
        }
    }),
    Load::new("long tasks", |handle, _| {
        spawn(
            handle,
            Task::Fan {
                leaves: 60,
                turns: 20_000,
            },
        );
        handle.wait_idle();
    }),
    Load::new("single from outside", |handle, _| {
        beside(handle, |handle| {
            for _ in 0..2_000 {
                spawn(handle, Task::Leaf { turns: 20 });
            }
        });
    }),
    Load::new("batches", |handle, _| {
        beside(handle, |handle| {
            for size in 1..60 {
                // A run that has ended refuses; the record shows it.
                let _ = handle.spawn_batch(vec![Task::Leaf { turns: 10 }; size]);
            }
        });
    }),
    Load::new("wakes", |handle, _| {
        for _ in 0..40 {
            spawn(
                handle,
                Task::Fan {
                    leaves: 3,
                    turns: 200,
                },
            );
            if !handle.wait_idle() {
                return;
            }
        }
    }),
    Load::new("closed meanwhile", |handle, _| {
        thread::scope(|threads| {
            threads.spawn({
                let handle = handle.clone();
                move || (0..1_000).all(|_| handle.spawn(Task::Tree { depth: 2, turns: 5 }).is_ok())
            });
            spawn(handle, Task::Tree { depth: 6, turns: 5 });
            handle.close();
        });
    }),
    Load::new("shut down meanwhile", |handle, _| {
        thread::scope(|threads| {
            threads.spawn({
                let handle = handle.clone();
                move || (0..1_000).all(|_| handle.spawn(Task::Tree { depth: 4, turns: 5 }).is_ok())
            });
            spawn(handle, Task::Tree { depth: 14, turns: 20 });
            thread::yield_now();
            handle.shutdown();
        });
    }),
    Load {
        name: "panics, isolated",
        on_panic: OnPanic::Isolate,
        body: |handle, _| {
            for n in 0..400 {
                spawn(
                    handle,
                    if n % 7 == 3 {
                        Task::Panics
                    } else {
                        Task::Tree { depth: 3, turns: 5 }
                    },
                );
            }
            handle.wait_idle();
        },
    },
    Load::new("a panic that stops", |handle, _| {
        spawn(handle, Task::Tree { depth: 9, turns: 10 });
        spawn(handle, Task::Panics);
        spawn(handle, Task::Tree { depth: 9, turns: 10 });
        handle.wait_idle();
    }),
];

impl Load {
    const fn new(name: &'static str, body: fn(&RecordedHandle<'_, Task>, u64)) -> Self {
        Self {
            name,
            on_panic: OnPanic::Stop,
            body,
        }
    }

    pub(crate) fn record(&self, workers: usize, round: u64) -> RecordedRun<u64, ()> {
        // Rounds differ in the first victim.
        let recording = Recording::new(
            ExecutorConfig::new(workers)
                .seed(ExecutorConfig::default().seed ^ round)
                .on_panic(self.on_panic),
        );
        record(&recording, |_worker| 0, run, |handle| (self.body)(handle, round))
            .expect("threads can be started")
    }
}

/// The scratch value sums the results of the loops.
#[inline]
pub(crate) fn run<C: TaskCtx<Task, u64>>(task: Task, cx: &mut C) {
    match task {
        Task::Tree { depth, turns } => {
            *cx.scratch() ^= burn(turns);
            if depth > 0 {
                let depth = depth - 1;
                cx.spawn_local_all([Task::Tree { depth, turns }; 2]);
            }
        }
        Task::Uneven { seed, depth } => {
            let drawn = (seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40;
            *cx.scratch() ^= burn(drawn as u32 % 64);
            if depth > 0 {
                for child in 0..drawn % 5 {
                    let child = Task::Uneven {
                        seed: (seed << 3 | child).wrapping_mul(0x94d0_49bb_1331_11eb),
                        depth: depth - 1,
                    };
                    if drawn.is_multiple_of(11) {
                        cx.spawn_global(child);
                    } else {
                        cx.spawn_local(child);
                    }
                }
            }
            if drawn.is_multiple_of(13) {
                cx.publish();
            }
        }
        Task::Fan { leaves, turns } => {
            for _ in 0..leaves {
                cx.spawn_local(Task::Leaf { turns });
            }
        }
        Task::Leaf { turns } => *cx.scratch() ^= burn(turns),
        Task::Panics => panic!("as it was asked to"),
    }
}

#[inline]
pub(crate) fn burn(turns: u32) -> u64 {
    let mut value = black_box(1_u64);
    for _ in 0..turns {
        value = value.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ 1;
    }
    black_box(value)
}

fn spawn(handle: &RecordedHandle<'_, Task>, task: Task) {
    let _ = handle.spawn(task);
}

fn beside(handle: &RecordedHandle<'_, Task>, produce: fn(&RecordedHandle<'_, Task>)) {
    thread::scope(|threads| {
        for _ in 0..2 {
            let handle = handle.clone();
            threads.spawn(move || produce(&handle));
        }
        produce(handle);
    });
    handle.wait_idle();
}
