//! The pool of the running thread, and the calls that it forbids. The pipeline executor knows its
//! own threads; the other two pools mark each piece of work.

use std::cell::Cell;
use std::sync::{Arc, Mutex};
use std::thread;

use executor_threaded::lock;
use pipeline_exec::on_worker_thread;
use tokio::runtime::Handle;

use crate::error::{MixedError, PoolKind, WrongPool};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Async,
    Blocking,
    /// Destructors of a CPU task that never ran.
    GivenUp,
    Maintenance,
}

thread_local! {
    static WORK: Cell<Option<Work>> = const { Cell::new(None) };
}

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

pub(crate) fn refuse_cpu(to: PoolKind) -> Result<(), WrongPool> {
    if on_worker_thread() {
        return Err(WrongPool {
            from: PoolKind::Cpu,
            to,
        });
    }
    Ok(())
}

/// Inside a runtime, only the pool's own blocking calls are known to block safely.
pub(crate) fn is_async() -> bool {
    Handle::try_current().is_ok() && WORK.get() != Some(Work::Blocking)
}

pub(crate) fn refuse_async(call: &'static str) -> Result<(), MixedError> {
    if is_async() {
        return Err(MixedError::InAsync { call });
    }
    Ok(())
}

/// Does not join the thread. `call` runs here if no thread can start.
pub(crate) fn on_a_thread_of_its_own(name: &str, call: impl FnOnce() + Send + 'static) {
    // A failed start drops its closure.
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
    let call = lock(call).take();
    if let Some(call) = call {
        call();
    }
}
