//! The queues of the threaded executors: crossbeam's deques, our injector, the board's skip list.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::Instant;

use crossbeam_deque::{Steal, Stealer, Worker};
use crossbeam_skiplist::SkipSet;
use injector::{Injector, Next};

use super::lines::in_turn;
use super::{Calibration, median, ns_each};

/// About the size of the loads' tasks.
type Value = [u64; 3];

const VALUE: Value = [7; 3];

const QUEUES: usize = 64;

const ROUNDS: usize = 25;

pub(super) fn measure(calibration: &mut Calibration) {
    own_queue(calibration);
    thefts(calibration);
    injector(calibration);
    board(calibration);
}

fn own_queue(calibration: &mut Calibration) {
    let own = Worker::new_lifo();
    let (mut pushes, mut pops) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        pushes.push(ns_of(64, || own.push(VALUE)));
        pops.push(ns_of(64, || {
            black_box(own.pop());
        }));
    }
    calibration.add("push", median(pushes));
    calibration.add("pop", median(pops));
    let (stealer, thief) = (own.stealer(), Worker::new_lifo());
    calibration.add("look", ns_each(500, |_| stealer.steal_batch_and_pop(&thief)));
}

fn ns_of(times: u32, mut operation: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..times).for_each(|_| operation());
    start.elapsed().as_nanos() as f64 / f64::from(times)
}

/// Half of a queue that its owner, on the other core, has just filled.
fn thefts(calibration: &mut Calibration) {
    for (name, tasks) in [("steal 1", 2), ("steal 16", 32)] {
        let owners: Vec<Worker<Value>> = (0..QUEUES).map(|_| Worker::new_lifo()).collect();
        let victims: Vec<Stealer<Value>> = owners.iter().map(Worker::stealer).collect();
        let thief = Worker::new_lifo();
        let fill = move |_round| {
            for owner in &owners {
                while owner.pop().is_some() {}
                (0..tasks).for_each(|_| owner.push(VALUE));
            }
        };
        let steal_all = |_round| {
            let start = Instant::now();
            for victim in &victims {
                let taken = victim.steal_batch_and_pop(&thief);
                assert!(matches!(taken, Steal::Success(_)), "no other thread takes");
            }
            let ns = start.elapsed().as_nanos() as f64 / QUEUES as f64;
            while thief.pop().is_some() {}
            ns
        };
        calibration.add(name, median(in_turn(ROUNDS, fill, steal_all)));
    }
}

fn injector(calibration: &mut Calibration) {
    let injector = Injector::new();
    let drain = |most: usize| {
        let mut left = most;
        injector.take(|value: Value| {
            black_box(value);
            left -= 1;
            if left > 0 { Next::More } else { Next::Enough }
        })
    };
    let pushes = (0..200).map(|_| {
        let ns = ns_of(64, || injector.push(VALUE));
        drain(64);
        ns
    });
    calibration.add("inject", median(pushes));

    for (name, most) in [("take 1", 1), ("take 32", 32)] {
        let fill = |_round| (0..1_024).for_each(|_| injector.push(VALUE));
        let taken = in_turn(ROUNDS, fill, |_| {
            let ns = ns_of(16, || {
                drain(most);
            });
            drain(2_048);
            ns
        });
        calibration.add(name, median(taken));
    }

    // Reused by all batches.
    let mut kept: VecDeque<Value> = VecDeque::new();
    let batches = (0..100).map(|_| {
        kept.extend([VALUE; 128]);
        let start = Instant::now();
        let batch: Vec<Value> = kept.drain(..).collect();
        let ns = start.elapsed().as_nanos() as f64 / 128.0;
        black_box(batch);
        ns
    });
    calibration.add("inject task", median(batches));
}

/// Like most boards.
fn board(calibration: &mut Calibration) {
    let board = SkipSet::new();
    board.insert((1_u64, 0_usize));
    calibration.add(
        "board look",
        ns_each(500, |_| board.back().map(|entry| *entry.value())),
    );
    let both = ns_each(500, |_| {
        board.insert((2, 0));
        board.remove(&(2, 0)).is_some()
    });
    calibration.add("board change", both / 2.0);
}
