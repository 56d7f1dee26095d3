//! The machine's atomics, cells and lock, or loom's in the models.
//!
//! [`Lifetime`] is for the models alone. Loom sees races on cells, but no memory that is freed too
//! early; so a block has a cell that is read with each access to the block and written when its
//! owner changes.

#[cfg(not(windlass_loom))]
pub(crate) use self::machine::{
    AtomicPtr, AtomicU64, Backoff, Lifetime, Mutex, MutexGuard, UnsafeCell, total_order,
};
#[cfg(windlass_loom)]
pub(crate) use self::model::{
    AtomicPtr, AtomicU64, Backoff, Lifetime, Mutex, MutexGuard, UnsafeCell, total_order,
};

#[cfg(not(windlass_loom))]
mod machine {
    pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64};
    pub(crate) use std::sync::{Mutex, MutexGuard};

    pub(crate) use crossbeam::utils::Backoff;

    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> UnsafeCell<T> {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }

    /// Does nothing: the operation before it is sequentially consistent.
    #[inline]
    pub(crate) fn total_order() {}

    pub(crate) struct Lifetime;

    impl Lifetime {
        pub(crate) fn begin() -> Lifetime {
            Lifetime
        }

        #[inline]
        pub(crate) fn touch(&self) {}

        #[inline]
        pub(crate) fn pass_on(&self) {}
    }
}

#[cfg(windlass_loom)]
mod model {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64};
    pub(crate) use loom::sync::{Mutex, MutexGuard};

    /// Yields: only other threads can end the wait.
    pub(crate) struct Backoff;

    impl Backoff {
        pub(crate) fn new() -> Backoff {
            Backoff
        }

        /// Follows a lost race, which needs no wait.
        pub(crate) fn spin(&self) {}

        pub(crate) fn snooze(&self) {
            loom::thread::yield_now();
        }
    }

    /// Stands for the sequential consistency of the operation before it, which loom takes for
    /// AcqRel.
    pub(crate) fn total_order() {
        // Ordering: SeqCst fence. Edge `sleep/claim`.
        loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    pub(crate) struct Lifetime {
        owner: UnsafeCell<()>,
        _freed: loom::alloc::Track<()>,
    }

    impl Lifetime {
        pub(crate) fn begin() -> Lifetime {
            Lifetime {
                owner: UnsafeCell::new(()),
                _freed: loom::alloc::Track::new(()),
            }
        }

        pub(crate) fn touch(&self) {
            self.owner.with(|_| ());
        }

        /// The block has no other user.
        pub(crate) fn pass_on(&self) {
            self.owner.with_mut(|_| ());
        }
    }
}
