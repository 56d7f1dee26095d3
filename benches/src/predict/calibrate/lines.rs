//! Cache lines of the other core: the cost to read one that it has written, and to write one.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crossbeam::utils::CachePadded;

use super::{Calibration, median};

const LINES: usize = 256;

const ROUNDS: usize = 25;

pub(super) fn measure(calibration: &mut Calibration) {
    // In an order that no prefetcher guesses.
    let next = |line: usize| (line * 77 + 31) % LINES;
    let lines: Vec<_> = (0..LINES)
        .map(|line| CachePadded::new(AtomicUsize::new(next(line))))
        .collect();
    let write_all = |_round| {
        for (line, word) in lines.iter().enumerate() {
            // Ordering: Relaxed. The turn publishes them.
            word.store(next(line), Ordering::Relaxed);
        }
    };
    let walk = |step: fn(&AtomicUsize) -> usize| {
        let start = Instant::now();
        black_box((0..LINES).fold(0, |line, _| step(&lines[line])));
        start.elapsed().as_nanos() as f64 / LINES as f64
    };
    // Ordering: Acquire, AcqRel. The policy's orderings; their cost is measured.
    let read = in_turn(ROUNDS, write_all, |_| walk(|word| word.load(Ordering::Acquire)));
    calibration.add("line read", median(read));
    // Ordering: AcqRel. As above.
    let exchange = in_turn(ROUNDS, write_all, |_| {
        walk(|word| word.fetch_add(0, Ordering::AcqRel))
    });
    calibration.add("line exchange", median(exchange));
}

/// In each round another thread runs `prepare`, then this one runs `measure`, each on its core.
pub(super) fn in_turn(
    rounds: usize,
    mut prepare: impl FnMut(usize) + Send,
    mut measure: impl FnMut(usize) -> f64,
) -> Vec<f64> {
    let turn = CachePadded::new(AtomicUsize::new(0));
    let turn = &turn;
    let wait_for = |wanted| {
        // Ordering: Acquire. Pairs with the Release of the thread that passes the turn on, and
        // shows what it wrote.
        while turn.load(Ordering::Acquire) != wanted {
            std::hint::spin_loop();
        }
    };
    // Ordering: Release. Pairs with the Acquire in `wait_for`.
    let pass_on = |turns| turn.store(turns, Ordering::Release);
    thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0..rounds {
                wait_for(2 * round + 1);
                prepare(round);
                pass_on(2 * round + 2);
            }
        });
        (0..rounds)
            .map(|round| {
                pass_on(2 * round + 1);
                wait_for(2 * round + 2);
                measure(round)
            })
            .collect()
    })
}
