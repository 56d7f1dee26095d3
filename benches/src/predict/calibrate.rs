//! Costs of operations on this machine: the simulator's [`Costs`], measured.
//!
//! Each cost is measured alone, with the queues, parkers and locks of the threaded executors, and
//! is the median of its rounds. The costs of an empty task and an empty slot are the rest of a run
//! of empty ones on *one* worker after all other costs in the simulator.

mod executors;
mod lines;
mod queues;
mod sleeping;
mod words;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use sim::Costs;

use crate::stats::median;

/// Nanoseconds, a value a round.
#[derive(Debug, Default)]
pub(crate) struct Calibration {
    rounds: BTreeMap<&'static str, Vec<f64>>,
}

impl Calibration {
    pub(crate) fn round(&mut self) {
        words::measure(self);
        lines::measure(self);
        queues::measure(self);
        sleeping::measure(self);
        executors::measure(self);
    }

    pub(crate) fn costs(&self) -> Costs {
        let ps = |name| in_ps(self.ns(name));
        let beyond = |name, known| in_ps(self.ns(name) - self.ns(known));
        let each = |one, many, times: u32| in_ps((self.ns(many) - self.ns(one)) / f64::from(times - 1));
        let (steal_task_ps, take_task_ps) = (each("steal 1", "steal 16", 16), each("take 1", "take 32", 32));
        let line_write_ps = beyond("line exchange", "exchange");
        // The token, and the time that the woken worker will ask for, on a line each.
        let unpark_awake_ps = ps("clock") + ps("exchange") + ps("store") + 2 * line_write_ps;
        let costs = Costs {
            load_ps: ps("load"),
            store_ps: ps("store"),
            exchange_ps: ps("exchange"),
            fence_ps: ps("fence"),
            line_read_ps: ps("line read"),
            line_write_ps,
            push_ps: ps("push"),
            pop_ps: ps("pop"),
            look_ps: ps("look"),
            steal_ps: ps("steal 1").saturating_sub(steal_task_ps),
            steal_task_ps,
            inject_ps: ps("inject"),
            inject_task_ps: ps("inject task"),
            take_ps: ps("take 1").saturating_sub(take_task_ps),
            take_task_ps,
            clock_ps: ps("clock"),
            spin_ps: ps("spin"),
            yield_ps: ps("yield"),
            // As on threads: into the kernel and to another thread, or to none.
            park_ps: ps("yield"),
            unpark_ps: ps("unpark"),
            wake_ps: ps("wake"),
            unpark_awake_ps,
            // A dozing worker reads the written time, takes the token, and reads the clock.
            doze_wake_ps: unpark_awake_ps + ps("line read") + ps("exchange") + 2 * ps("clock"),
            lock_ps: ps("lock"),
            board_look_ps: ps("board look"),
            board_change_ps: ps("board change"),
            keep_ps: 0,
            task_ps: 0,
            slot_ps: 0,
        };
        executors::complete(self, costs)
    }

    fn add(&mut self, name: &'static str, ns: f64) {
        self.rounds.entry(name).or_default().push(ns);
    }

    fn ns(&self, name: &str) -> f64 {
        let rounds = self.rounds.get(name);
        median(rounds.into_iter().flatten().copied())
    }
}

fn in_ps(ns: f64) -> u64 {
    (ns.max(0.0) * 1e3).round() as u64
}

/// The median of several series.
fn ns_each<R>(times: u32, mut operation: impl FnMut(u32) -> R) -> f64 {
    median((0..15).map(|_| {
        let start = Instant::now();
        for n in 0..times {
            black_box(operation(n));
        }
        start.elapsed().as_nanos() as f64 / f64::from(times)
    }))
}
