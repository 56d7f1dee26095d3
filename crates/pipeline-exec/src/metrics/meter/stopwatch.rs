//! A stopwatch that other threads may read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A sum of time spans in one word. One thread starts and stops it.
///
/// ```text
///   63 … 1                                  0
/// ┌───────────────────────────────────────┬─────────┐
/// │ total, or total - began while running │ RUNNING │     nanoseconds, modulo 2⁶³
/// └───────────────────────────────────────┴─────────┘
/// ```
///
/// While it runs, the time is the current moment plus the number in the word. So the time that
/// readers see only grows.
#[derive(Debug, Default)]
pub(super) struct Stopwatch(AtomicU64);

const RUNNING: u64 = 1;
const NS_MASK: u64 = u64::MAX >> 1;

impl Stopwatch {
    pub(super) fn start(&self, now_ns: u64) {
        self.set(self.word() >> 1, now_ns, RUNNING);
    }

    pub(super) fn stop(&self, now_ns: u64) {
        let word = self.word();
        if word & RUNNING != 0 {
            self.set(total_ns(word, now_ns), 0, 0);
        }
    }

    pub(super) fn add(&self, ns: u64) {
        // Ordering: Relaxed. A statistic.
        self.0.fetch_add(ns << 1, Ordering::Relaxed);
    }

    pub(super) fn at(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(total_ns(self.word(), now_ns))
    }

    fn word(&self) -> u64 {
        // Ordering: Relaxed. A statistic.
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, ns: u64, less_ns: u64, running: u64) {
        // Ordering: Relaxed. A statistic, written by one thread.
        self.0
            .store(ns.wrapping_sub(less_ns) << 1 | running, Ordering::Relaxed);
    }
}

fn total_ns(word: u64, now_ns: u64) -> u64 {
    if word & RUNNING == 0 {
        return word >> 1;
    }
    let total = (word >> 1).wrapping_add(now_ns) & NS_MASK;
    // The difference is negative if the reader's clock is behind the starter's.
    if total > NS_MASK / 2 { 0 } else { total }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_adds_up_while_it_runs_and_stands_when_it_is_stopped() {
        let watch = Stopwatch::default();
        let at = |now_ns| watch.at(now_ns).as_nanos();
        watch.start(100);
        assert_eq!((at(100), at(130), at(99)), (0, 30, 0));
        watch.stop(150);
        watch.stop(170);
        assert_eq!((at(150), at(1_000)), (50, 50));
        watch.start(1_000);
        assert_eq!(at(1_007), 57);
        watch.stop(1_007);
        assert_eq!(at(2_000), 57);
    }

    #[test]
    fn what_is_added_counts_at_once() {
        let watch = Stopwatch::default();
        watch.add(7);
        watch.add(5);
        assert_eq!(watch.at(0).as_nanos(), 12);
    }
}
