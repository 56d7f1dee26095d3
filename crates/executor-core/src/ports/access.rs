//! Tasks that share memory of their own.

/// A [`TaskCtx`](crate::TaskCtx) through which tasks access shared memory.
///
/// On threads an access is a plain call. The simulator may switch workers only before an access,
/// and so finds races of a runner that names its accesses.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use executor_core::TaskCtx;
/// use executor_core::ports::Access;
///
/// fn count<C: TaskCtx<(), ()> + Access>(counter: &AtomicU64, cx: &mut C) {
///     // Ordering: Relaxed. A count, and nothing hangs on it.
///     cx.access("count one more", || counter.fetch_add(1, Ordering::Relaxed));
/// }
/// ```
pub trait Access {
    /// Calls `operation`, one access to shared memory; `what` names it in a simulated run.
    #[inline]
    fn access<R>(&mut self, what: &'static str, operation: impl FnOnce() -> R) -> R {
        let _ = what;
        operation()
    }
}
