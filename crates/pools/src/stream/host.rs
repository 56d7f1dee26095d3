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

/// A call that may block.
pub type Call = Box<dyn FnOnce() + Send>;

/// A future that must not block.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs readers.
pub trait Host: fmt::Debug + Send + Sync {
    /// An error says why the host accepts no work.
    fn check(&self) -> Result<(), MixedError>;

    /// Runs `call`, or drops it. `tell` ends the wait for a running call, at any time.
    fn call(&self, call: Call, tell: Call);

    /// Runs `task`, or drops it.
    fn task(&self, task: Task);

    /// Runs a blocking call even after the pool's end, if a thread can be had.
    fn outside(&self, call: Call);
}

impl Host for MixedPool {
    fn check(&self) -> Result<(), MixedError> {
        Self::check(self)
    }

    fn call(&self, call: Call, tell: Call) {
        // A refused call is dropped, which closes the source.
        drop(self.start_blocking(call, Some(tell)));
    }

    fn task(&self, task: Task) {
        drop(self.start(task));
    }

    fn outside(&self, call: Call) {
        on_a_thread_of_its_own("pools-close", call);
    }
}
