//! The core on which a worker parks.
//!
//! ```text
//!   runs on any core ─► parks: only its home ─► woken there ─► runs on any core
//! ```
//!
//! Linux wakes a thread on the core that it last ran on, if it does not look for an idle one. With two
//! cores it mostly does not: then two workers that once ran on one core take turns there, until the
//! kernel balances its load, while the other core idles. A worker that parks at home wakes beside the
//! others, and still makes room for a thread that is busy there.

#[cfg(target_os = "linux")]
pub(crate) use linux::Home;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::Home;

#[cfg(target_os = "linux")]
mod linux {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    #[derive(Debug)]
    pub(crate) struct Home {
        home: CpuSet,
        /// Where the thread may run.
        anywhere: CpuSet,
    }

    impl Home {
        /// `None` if the thread may not run on that core.
        pub(crate) fn of_current_thread(core: usize) -> Option<Self> {
            let anywhere = sched_getaffinity(None).ok()?;
            if core >= CpuSet::MAX_CPU || !anywhere.is_set(core) {
                return None;
            }
            let mut home = CpuSet::new();
            home.set(core);
            Some(Self { home, anywhere })
        }

        pub(crate) fn park(&self, park: impl FnOnce()) {
            // A hook or a task may have chosen other cores for this thread.
            let is_free = sched_getaffinity(None).is_ok_and(|cores| cores == self.anywhere);
            let is_at_home = is_free && sched_setaffinity(None, &self.home).is_ok();
            park();
            if is_at_home && let Err(error) = sched_setaffinity(None, &self.anywhere) {
                tracing::warn!(%error, "the worker stays on the core that it was parked on");
            }
        }
    }
}

/// Elsewhere no worker has one.
#[cfg(not(target_os = "linux"))]
mod other {
    #[derive(Debug)]
    pub(crate) enum Home {}

    impl Home {
        pub(crate) fn of_current_thread(_core: usize) -> Option<Self> {
            None
        }

        pub(crate) fn park(&self, _park: impl FnOnce()) {
            match *self {}
        }
    }
}
