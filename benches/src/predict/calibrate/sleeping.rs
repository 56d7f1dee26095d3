//! Waking, with the threaded executor's parkers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::sync::Parker;

use super::{Calibration, median};

const ASLEEP: Duration = Duration::from_micros(150);

const WAKES: usize = 60;

pub(super) fn measure(calibration: &mut Calibration) {
    let parker = Parker::new();
    let unparker = parker.unparker().clone();
    let epoch = Instant::now();
    let now_ns = || epoch.elapsed().as_nanos() as u64;
    let woken_ns = AtomicU64::new(0);
    let woken_ns = &woken_ns;
    let (mut unparks, mut wakes) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..WAKES {
                parker.park();
                // Ordering: Relaxed. Only the number itself is read.
                woken_ns.store(now_ns(), Ordering::Relaxed);
            }
        });
        for _ in 0..WAKES {
            let until = Instant::now() + ASLEEP;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            // Ordering: Relaxed. The other thread sleeps; its parker's token publishes it.
            woken_ns.store(0, Ordering::Relaxed);
            let from_ns = now_ns();
            unparker.unpark();
            let done_ns = now_ns();
            let awake_ns = loop {
                // Ordering: Relaxed. As above.
                match woken_ns.load(Ordering::Relaxed) {
                    0 => std::hint::spin_loop(),
                    ns => break ns,
                }
            };
            unparks.push((done_ns - from_ns) as f64);
            wakes.push(awake_ns.saturating_sub(from_ns) as f64);
        }
    });
    calibration.add("unpark", median(unparks));
    calibration.add("wake", median(wakes));
}
