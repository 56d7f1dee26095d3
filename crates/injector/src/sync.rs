//! What the queue is made of: the machine's atomics, cells and lock, or loom's in the models.
//!
//! [`Lifetime`] is for the models alone. Loom sees races on cells, but not that memory is freed too early; so a block has
//! a cell that everybody who touches the block reads, and that is written when the block changes its owner.

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

    /// A cell with loom's interface.
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

    /// Nothing, on the machine: the operation before it is sequentially consistent.
    #[inline]
    pub(crate) fn total_order() {}

    /// Nothing, on the machine.
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

    /// Lets the others run: only they can end the wait.
    pub(crate) struct Backoff;

    impl Backoff {
        pub(crate) fn new() -> Backoff {
            Backoff
        }

        /// After a lost race. Somebody else has got on, so there is nothing to wait for.
        pub(crate) fn spin(&self) {}

        pub(crate) fn snooze(&self) {
            loom::thread::yield_now();
        }
    }

    /// Stands for the sequential consistency of the operation before it, which loom takes for acquiring and releasing only.
    pub(crate) fn total_order() {
        // Ordering: SeqCst fence. Edge `sleep/claim`.
        loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Finds who touches a block that may have another owner by then, and blocks that are never freed.
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

        /// Somebody is about to touch the block.
        pub(crate) fn touch(&self) {
            self.owner.with(|_| ());
        }

        /// The block is nobody else's any more.
        pub(crate) fn pass_on(&self) {
            self.owner.with_mut(|_| ());
        }
    }
}
