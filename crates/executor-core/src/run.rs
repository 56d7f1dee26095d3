//! The worker's loop: search, run, sleep, leave.

pub(crate) mod context;
pub(crate) mod event;
pub(crate) mod find;
pub(crate) mod idle;
pub(crate) mod step;
pub(crate) mod worker_loop;
