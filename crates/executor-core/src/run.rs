//! A worker searches for a task, runs it, sleeps when there is none, and leaves at the end.

pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod find;
pub(crate) mod idle;
pub(crate) mod next_task;
pub(crate) mod step;
pub(crate) mod worker_loop;
