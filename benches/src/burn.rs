//! Work without memory: a chain of multiplications that no compiler and no second core can shorten.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

/// Steps of [`burn`] that take about 180 ns on the machine that the aims were set on.
pub const STEPS_180_NS: u64 = 216;

/// Steps that take about 1 ms. The tables say what they took.
pub const STEPS_1_MS: u64 = 1_050_000;

/// Does `steps` steps that start from `seed`. Never inlined, so that all contenders run the very same instructions.
#[inline(never)]
pub fn burn(seed: u64, steps: u64) -> u64 {
    let mut state = seed | 1;
    for _ in 0..black_box(steps) {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }
    state
}

/// Nanoseconds since some moment in this process's past: a time that fits into a task.
#[inline]
pub fn now_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).expect("no process lives for centuries")
}
