//! The jobs: the same work on every host, and the report of their ends.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::utils::CachePadded;

use crate::burn::{STEPS_1_MS, burn, now_ns};

/// Slots of a heavy job, of some 1 ms each.
pub(super) const SLOTS: usize = 1_000;

/// One job in this many panics, if any do.
const PANICS: u64 = 10;

/// Early enough that some heavy jobs panic in each round.
const PANICS_AT: usize = 20;

/// Longer than all remaining work can take.
const PATIENCE: Duration = Duration::from_secs(60);

const SEED: u64 = 7;

/// Some 1 ms, whose result is checked.
fn work() {
    static EXPECTED: LazyLock<u64> = LazyLock::new(|| burn(SEED, STEPS_1_MS));
    assert_eq!(burn(SEED, STEPS_1_MS), *EXPECTED);
}

/// Panics without a message on standard error.
fn panic_quietly() -> ! {
    resume_unwind(Box::new("one of the storm"))
}

fn is_struck(number: u64) -> bool {
    number % PANICS == PANICS / 2
}

#[derive(Clone)]
pub(super) struct Signal(Arc<CachePadded<(AtomicBool, AtomicU64)>>);

impl Signal {
    pub(super) fn new() -> Self {
        // The first use computes the expected result, which takes time.
        work();
        Self(Arc::default())
    }

    /// Heavy slots then do nothing, so that the round ends soon.
    pub(super) fn stop(&self) {
        self.0.0.store(true, Ordering::Release);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    /// Number of heavy slots that have run.
    pub(super) fn slots(&self) -> u64 {
        self.0.1.load(Ordering::Relaxed)
    }
}

pub(super) struct Heavy {
    signal: Signal,
    panics: bool,
    panicked: AtomicBool,
}

impl Heavy {
    pub(super) fn new(number: u64, storm: bool, signal: &Signal) -> Self {
        Self {
            signal: signal.clone(),
            panics: storm && is_struck(number),
            panicked: AtomicBool::new(false),
        }
    }

    pub(super) fn slot(&self, slot: usize) {
        if self.signal.is_stopped() {
            return;
        }
        work();
        self.signal.0.1.fetch_add(1, Ordering::Relaxed);
        if self.panics && slot == PANICS_AT {
            self.panicked.store(true, Ordering::Release);
            panic_quietly();
        }
    }

    /// The host reports whether the job `panicked`.
    pub(super) fn check(&self, panicked: bool) {
        assert_eq!(
            self.panicked.load(Ordering::Acquire),
            panicked,
            "a job's end is told"
        );
    }
}

pub(super) struct Shorts {
    /// When each ended, or 0.
    ends: Arc<[AtomicU64]>,
    storm: bool,
}

pub(super) struct Short {
    ends: Arc<[AtomicU64]>,
    number: usize,
    panics: bool,
}

impl Shorts {
    pub(super) fn new(jobs: usize, storm: bool) -> Self {
        Self {
            ends: (0..jobs).map(|_| AtomicU64::new(0)).collect(),
            storm,
        }
    }

    pub(super) fn job(&self, number: usize) -> Short {
        Short {
            ends: Arc::clone(&self.ends),
            number,
            panics: self.storm && is_struck(number as u64),
        }
    }

    /// Returns the time of each from its due moment. Panics if one does not end.
    pub(super) fn wait_ms(&self, begun: Instant, pace: Duration) -> Vec<f64> {
        let begun_ns = now_ns() - begun.elapsed().as_nanos() as u64;
        let until = Instant::now() + PATIENCE;
        let took = |(number, end): (usize, &AtomicU64)| {
            let end = loop {
                match end.load(Ordering::Acquire) {
                    0 => {
                        assert!(Instant::now() < until, "short job {number} does not end");
                        thread::sleep(Duration::from_millis(1));
                    }
                    end => break end,
                }
            };
            let due = begun_ns + pace.as_nanos() as u64 * number as u64;
            end.saturating_sub(due) as f64 / 1e6
        };
        self.ends.iter().enumerate().map(took).collect()
    }
}

impl Short {
    pub(super) fn run(&self) {
        work();
        let before = self.ends[self.number].swap(now_ns(), Ordering::Release);
        assert_eq!(before, 0, "a job runs once");
        if self.panics {
            panic_quietly();
        }
    }
}
