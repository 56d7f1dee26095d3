//! The host of readers: the mixed pool, or loom's threads in the models.
#![cfg_attr(
    not(windlass_loom),
    expect(unreachable_pub, reason = "the models have a host of their own")
)]

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::error::MixedError;
use crate::mixed::MixedPool;
use crate::thread::on_a_thread_of_its_own;

/// A blocking call.
pub type Call = Box<dyn FnOnce() + Send>;

/// An async task.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs readers.
pub trait Host: fmt::Debug + Send + Sync {
    /// Returns an error if the host accepts no work.
    ///
    /// # Errors
    ///
    /// The reason.
    fn check(&self) -> Result<(), MixedError>;

    /// Runs a blocking call, or drops it. The host may call `tell` at any time to end the wait for
    /// the call.
    fn call(&self, call: Call, tell: Call);

    /// Runs a task, or drops it.
    fn task(&self, task: Task);

    /// Runs a call that blocks, even after the end of the pool if a thread can be had.
    fn outside(&self, call: Call);
}

impl Host for MixedPool {
    fn check(&self) -> Result<(), MixedError> {
        Self::check(self)
    }

    fn call(&self, call: Call, tell: Call) {
        // A refused call is dropped, and its drop closes the source.
        drop(self.start_blocking(call, Some(tell)));
    }

    fn task(&self, task: Task) {
        drop(self.start(task));
    }

    fn outside(&self, call: Call) {
        on_a_thread_of_its_own("pools-close", call);
    }
}
