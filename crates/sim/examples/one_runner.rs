//! One runner, on threads and in the simulator, with the same answer.
//!
//!     cargo run -p sim --example one_runner
//!
//! The tasks count the placements of `n` queens.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use executor_core::TaskCtx;
use executor_threaded::{Executor, ExecutorConfig};
use sim::Simulation;

/// Rows filled from the top: the occupied columns and diagonals.
#[derive(Clone, Copy)]
struct Board {
    size: u32,
    rows_left: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Board {
    fn empty(size: u32) -> Self {
        Self {
            size,
            rows_left: size,
            columns: 0,
            falling: 0,
            rising: 0,
        }
    }
}

fn run<C: TaskCtx<Board, Count>>(board: Board, cx: &mut C) {
    if board.rows_left == 0 {
        cx.scratch().solutions += 1;
        return;
    }
    let mut free = !(board.columns | board.falling | board.rising) & ((1 << board.size) - 1);
    while free != 0 {
        let queen = free & free.wrapping_neg();
        free ^= queen;
        cx.spawn_local(Board {
            rows_left: board.rows_left - 1,
            columns: board.columns | queen,
            falling: (board.falling | queen) >> 1,
            rising: (board.rising | queen) << 1,
            ..board
        });
    }
}

/// A worker's count, added to the total on drop.
struct Count {
    solutions: u64,
    total: Arc<AtomicU64>,
}

impl Count {
    fn new(total: &Arc<AtomicU64>) -> Self {
        Self {
            solutions: 0,
            total: Arc::clone(total),
        }
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // Ordering: Relaxed. The executor is joined before the total is read.
        self.total.fetch_add(self.solutions, Ordering::Relaxed);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let size = 6;
    let on_threads = on_threads(size)?;
    println!("{size} queens on threads: {on_threads} solutions");

    let mut steps = 0;
    for seed in 0..100 {
        let total = Arc::new(AtomicU64::new(0));
        let report = Simulation::new(seed).workers(4).run(
            [Board::empty(size)],
            |_worker| Count::new(&total),
            |board, cx| run(board, cx),
        )?;
        let simulated: u64 = report.scratches.iter().map(|count| count.solutions).sum();
        assert_eq!(simulated, on_threads, "replay: {}", report.course.line);
        steps += report.course.steps;
    }
    println!("{size} queens under 100 schedules of {steps} steps: the same");
    Ok(())
}

fn on_threads(size: u32) -> Result<u64, Box<dyn std::error::Error>> {
    let total = Arc::new(AtomicU64::new(0));
    let config = ExecutorConfig::new(4);
    let sum = Arc::clone(&total);
    let executor = Executor::new(config, move |_worker| Count::new(&sum), run)?;
    executor.spawn_external(Board::empty(size))?;
    executor.join();
    // Ordering: Relaxed. After the join.
    Ok(total.load(Ordering::Relaxed))
}
