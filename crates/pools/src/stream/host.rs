//! Where readers run: the mixed pool, or in the models loom's threads.
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

/// A call that was handed over.
pub type Call = Box<dyn FnOnce() + Send>;

/// A task that was handed over.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where readers run.
pub trait Host: fmt::Debug + Send + Sync {
    /// Whether it still takes anything.
    ///
    /// # Errors
    ///
    /// Why not.
    fn check(&self) -> Result<(), MixedError>;

    /// Runs a call that blocks, or drops it. `tell` may be called, at any time, when nobody is to wait for it any more.
    fn call(&self, call: Call, tell: Call);

    /// Runs a task, or drops it.
    fn task(&self, task: Task);

    /// Runs a call that blocks after the end of the pool, wherever that is possible.
    fn outside(&self, call: Call);
}

impl Host for MixedPool {
    fn check(&self) -> Result<(), MixedError> {
        Self::check(self)
    }

    fn call(&self, call: Call, tell: Call) {
        // One that is refused is dropped, and then closes its source by itself.
        drop(self.start_blocking(call, Some(tell)));
    }

    fn task(&self, task: Task) {
        drop(self.start(task));
    }

    fn outside(&self, call: Call) {
        on_a_thread_of_its_own("pools-close", call);
    }
}
