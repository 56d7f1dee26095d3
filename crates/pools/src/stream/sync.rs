//! The channel's lock: std's, or loom's in the models.

#[cfg(windlass_loom)]
pub(super) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(windlass_loom))]
pub(super) use std::sync::{Mutex, MutexGuard};
