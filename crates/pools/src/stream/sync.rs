//! What a passage is made of: the machine's lock, or loom's in the models.

#[cfg(windlass_loom)]
pub(super) use loom::sync::{Mutex, MutexGuard};
#[cfg(not(windlass_loom))]
pub(super) use std::sync::{Mutex, MutexGuard};
