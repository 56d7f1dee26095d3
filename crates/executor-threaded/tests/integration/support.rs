//! Shared by the tests: configurations, a tally, and this process's threads.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use executor_threaded::{ExecutorConfig, Pin};

/// Defines a test twice: with `park_timeout: None` and with 200 µs.
macro_rules! both_ways_of_parking {
    ($(#[doc = $doc:literal])* fn $name:ident($park_timeout:ident) $body:block) => {
        mod $name {
            #[allow(unused_imports, reason = "not every test needs everything of its module")]
            use super::*;

            #[test]
            fn parking_until_woken() {
                run(None);
            }

            #[test]
            fn parking_with_a_timeout() {
                run(Some(std::time::Duration::from_micros(200)));
            }

            $(#[doc = $doc])*
            fn run($park_timeout: Option<std::time::Duration>) $body
        }
    };
}
pub(crate) use both_ways_of_parking;

/// In a debug build the promised size would take minutes.
pub(crate) const fn sized(debug: usize, release: usize) -> usize {
    if cfg!(debug_assertions) { debug } else { release }
}

/// Without pinning, since tests run beside each other.
pub(crate) fn config(workers: usize, park_timeout: Option<Duration>) -> ExecutorConfig {
    ExecutorConfig::new(workers)
        .pin_threads(Pin::Never)
        .tune(|tuning| tuning.park_timeout = park_timeout)
}

pub(crate) struct Tally(Box<[AtomicU8]>);

impl Tally {
    pub(crate) fn new(tasks: usize) -> Self {
        Self((0..tasks).map(|_| AtomicU8::new(0)).collect())
    }

    pub(crate) fn see(&self, task: usize) {
        let before = self.0[task].fetch_add(1, Ordering::Relaxed);
        assert_ne!(before, u8::MAX, "task {task} was seen 256 times");
    }

    pub(crate) fn seen_once(&self) -> usize {
        let times = |task: &AtomicU8| task.load(Ordering::Relaxed);
        let twice = self.0.iter().position(|task| times(task) > 1);
        assert_eq!(twice, None, "this task was seen more than once");
        self.0.iter().filter(|task| times(task) == 1).count()
    }

    pub(crate) fn assert_each_once(&self) {
        let missing = self.0.iter().position(|task| task.load(Ordering::Relaxed) == 0);
        assert_eq!(missing, None, "this task was never seen");
        assert_eq!(self.seen_once(), self.0.len());
    }
}

#[derive(Default)]
pub(crate) struct Door {
    open: AtomicBool,
    reached: AtomicBool,
}

impl Door {
    pub(crate) fn pass(&self) {
        self.reached.store(true, Ordering::Release);
        wait_until(|| self.open.load(Ordering::Acquire));
    }

    pub(crate) fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    pub(crate) fn await_a_waiter(&self) {
        wait_until(|| self.reached.load(Ordering::Acquire));
    }
}

/// A failing test hangs.
pub(crate) fn wait_until(mut so: impl FnMut() -> bool) {
    while !so() {
        thread::yield_now();
    }
}

/// `prefix` has at most 15 bytes. Linux only.
pub(crate) fn threads_named(prefix: &str) -> Vec<String> {
    assert!(prefix.len() <= 15, "the kernel keeps 15 bytes of a name");
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists a process's threads");
    let named = tasks.filter_map(|task| {
        let task = task.ok()?;
        // A thread may end meanwhile.
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let tid = task.file_name().into_string().ok()?;
        name.starts_with(prefix).then_some(tid)
    });
    named.collect()
}

/// The kernel may list a joined thread for a moment.
pub(crate) fn assert_no_thread_is_left(prefix: &str) {
    if cfg!(target_os = "linux") {
        wait_until(|| threads_named(prefix).is_empty());
    }
}
