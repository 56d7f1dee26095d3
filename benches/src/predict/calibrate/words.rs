//! Words in the own cache, fences, the clock, waiting on the core, a lock.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;
use std::time::Instant;

use super::{Calibration, ns_each};

const TIMES: u32 = 2_000;

pub(super) fn measure(calibration: &mut Calibration) {
    let word = AtomicU64::new(0);
    // Ordering: Acquire, Release, AcqRel, SeqCst. Their cost is measured, in one thread.
    calibration.add(
        "load",
        ns_each(TIMES, |_| black_box(&word).load(Ordering::Acquire)),
    );
    calibration.add(
        "store",
        ns_each(TIMES, |n| black_box(&word).store(n.into(), Ordering::Release)),
    );
    calibration.add(
        "exchange",
        ns_each(TIMES, |_| word.fetch_add(1, Ordering::AcqRel)),
    );
    calibration.add("fence", ns_each(TIMES, |_| fence(Ordering::SeqCst)));
    let start = Instant::now();
    calibration.add("clock", ns_each(TIMES, |_| start.elapsed()));
    calibration.add("spin", ns_each(TIMES, |_| spin_loop()));
    calibration.add("yield", ns_each(200, |_| yield_now()));
    let lock = Mutex::new(0_u64);
    calibration.add(
        "lock",
        ns_each(TIMES, |_| {
            *lock.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }),
    );
}
