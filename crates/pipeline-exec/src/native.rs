//! The policy's ports on threads: atomics, crossbeam's skip list and queue, mutexes, and the
//! monotonic clock. This module decides nothing.

mod hub;
mod job_table;
mod key_set;
mod log;
mod ports;
mod record;
mod room;
mod snapshot;
mod spare_threads;
mod spares;
mod unpark;

pub use hub::on_worker_thread;
pub(crate) use hub::{Hub, NativeBody, NativeState, PipelineTask};
pub(crate) use room::Waiter;
pub(crate) use spare_threads::start_spares;
pub(crate) use unpark::unparker;
