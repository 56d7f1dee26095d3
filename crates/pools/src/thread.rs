//! To which pool the running thread belongs, and what follows from it.
//!
//! CPU workers are known to the pipeline executor, and so are threads that are lent to a job while they run its slots. For the other
//! two a mark is set around each piece of work, so that it is right on a foreign runtime's threads as well.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pipeline_exec::on_worker_thread;
use tokio::runtime::Handle;

use crate::error::{MixedError, PoolKind, WrongPool};

/// What runs on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// An async task of the mixed pool.
    Async,
    /// A blocking call of the mixed pool.
    Blocking,
    /// The end of a CPU task that never ran, on whatever thread gave it up: destructors of what it had captured.
    GivenUp,
    /// A maintenance task.
    Maintenance,
}

thread_local! {
    static WORK: Cell<Option<Work>> = const { Cell::new(None) };
}

/// Runs `call` as `work`.
pub(crate) fn as_work<R>(work: Work, call: impl FnOnce() -> R) -> R {
    struct Before(Option<Work>);

    impl Drop for Before {
        fn drop(&mut self) {
            WORK.set(self.0);
        }
    }

    let _before = Before(WORK.replace(Some(work)));
    call()
}

/// The pool whose work this thread runs, if any.
pub(crate) fn pool_here() -> Option<PoolKind> {
    if on_worker_thread() {
        return Some(PoolKind::Cpu);
    }
    WORK.get().map(|work| match work {
        Work::Async | Work::Blocking => PoolKind::Mixed,
        Work::GivenUp => PoolKind::Cpu,
        Work::Maintenance => PoolKind::Maintenance,
    })
}

/// Refuses a call into `to` from CPU work.
pub(crate) fn refuse_cpu(to: PoolKind) -> Result<(), WrongPool> {
    if on_worker_thread() {
        return Err(WrongPool {
            from: PoolKind::Cpu,
            to,
        });
    }
    Ok(())
}

/// Refuses a `call` that blocks where a runtime polls futures. Inside a runtime only the pool's own blocking calls are known to be on a thread that
/// may block.
pub(crate) fn refuse_async(call: &'static str) -> Result<(), MixedError> {
    if Handle::try_current().is_ok() && WORK.get() != Some(Work::Blocking) {
        return Err(MixedError::InAsync { call });
    }
    Ok(())
}

/// Calls it on a thread of its own, which nobody joins; here, if there is no thread to be had.
pub(crate) fn on_a_thread_of_its_own(name: &str, call: impl FnOnce() + Send + 'static) {
    // A thread that cannot be had takes what it was to run with it.
    let call = Arc::new(Mutex::new(Some(call)));
    let there = Arc::clone(&call);
    let spawned = thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || take_and_call(&there));
    if spawned.is_err() {
        take_and_call(&call);
    }
}

fn take_and_call(call: &Mutex<Option<impl FnOnce()>>) {
    let call = call.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(call) = call {
        call();
    }
}
