//! The niceness of CPU workers: a thread that wakes for I/O preempts them at once. Needs no
//! privilege.

#[cfg(target_os = "linux")]
pub(super) fn be_nice(nice: u8) {
    use rustix::process::{getpriority_process, setpriority_process};

    // On Linux each thread has a priority.
    let own = Some(rustix::thread::gettid());
    let set = getpriority_process(own)
        // Relative, so a process started with `nice` stays nice.
        .and_then(|before| setpriority_process(own, (before + i32::from(nice)).min(LEAST_URGENT)));
    if let Err(error) = set {
        tracing::warn!(%error, nice, "a CPU worker keeps its priority");
    }
}

#[cfg(target_os = "linux")]
const LEAST_URGENT: i32 = 19;

#[cfg(not(target_os = "linux"))]
pub(super) fn be_nice(nice: u8) {
    tracing::debug!(nice, "the priority of threads is set on Linux only");
}
