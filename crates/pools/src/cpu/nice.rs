//! The priority that the operating system gives to a CPU worker.
//!
//! Where workers use all cores, a thread that wakes for I/O has to take one from them. A scheduler
//! that shares time equally may let it wait until a worker's slice is over; one that knows the
//! worker to be less urgent does so at once. Lowering needs no privilege, and where no other thread
//! wants the core it costs nothing.

/// Lowers the priority of this thread by so much, and of no other.
#[cfg(target_os = "linux")]
pub(super) fn be_nice(nice: u8) {
    use rustix::process::{getpriority_process, setpriority_process};

    // On Linux a thread has a priority of its own, under its own number.
    let own = Some(rustix::thread::gettid());
    let set = getpriority_process(own)
        // A process that was started with `nice` stays as nice as it is.
        .and_then(|before| setpriority_process(own, (before + i32::from(nice)).min(LEAST_URGENT)));
    if let Err(error) = set {
        tracing::warn!(%error, nice, "a CPU worker keeps its priority");
    }
}

/// The kernel knows nothing less urgent.
#[cfg(target_os = "linux")]
const LEAST_URGENT: i32 = 19;

/// Elsewhere priorities are not by thread, or not by this call.
#[cfg(not(target_os = "linux"))]
pub(super) fn be_nice(nice: u8) {
    tracing::debug!(nice, "the priority of threads is set on Linux only");
}
