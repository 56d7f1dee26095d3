//! The time that a thread was on a core.

use std::marker::PhantomData;
use std::time::Duration;

pub(super) struct OnCore {
    began: Option<Duration>,
    of_this_thread: PhantomData<*const ()>,
}

impl OnCore {
    pub(super) fn begins() -> Self {
        Self {
            began: read(),
            of_this_thread: PhantomData,
        }
    }

    /// Since the start or the last call; `None` if the operating system does not report it.
    pub(super) fn lap(&mut self) -> Option<Duration> {
        let ends = read();
        let began = std::mem::replace(&mut self.began, ends);
        Some(ends?.saturating_sub(began?))
    }
}

#[cfg(target_os = "linux")]
fn read() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).ok()
}

#[cfg(not(target_os = "linux"))]
fn read() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_sleep_is_not_on_a_core_and_a_loop_is() {
        let mut core = OnCore::begins();
        let began = Instant::now();
        thread::sleep(Duration::from_millis(50));
        let asleep = core.lap().unwrap();
        assert!(asleep <= began.elapsed() / 2, "{asleep:?}");
        let mut used = asleep;
        while used < Duration::from_millis(5) {
            used += core.lap().unwrap();
        }
        assert!(began.elapsed() >= Duration::from_millis(55) - asleep);
    }
}
