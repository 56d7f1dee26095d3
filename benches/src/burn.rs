//! Work without memory: a chain of multiplications that neither a compiler nor a second core can
//! shorten.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

/// Steps of [`burn`] that take about 180 ns on the machine for which the aims were set.
pub(crate) const STEPS_180_NS: u64 = 216;

/// About 1 ms; the tables show the measured time.
pub(crate) const STEPS_1_MS: u64 = 1_050_000;

/// Never inlined, so that all contenders run the same instructions.
#[inline(never)]
pub(crate) fn burn(seed: u64, steps: u64) -> u64 {
    let mut state = seed | 1;
    for _ in 0..black_box(steps) {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }
    state
}

/// Since some moment in this process's past: a time that fits into a task.
#[inline]
pub(crate) fn now_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).expect("no process lives for centuries")
}

/// The finaliser of MurmurHash3, which is in the public domain.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}
