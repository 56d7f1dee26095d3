//! How this crate takes a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes it, poisoned or not: a panic in a slot fails the job; what the lock guards is then not
/// read as a result.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
