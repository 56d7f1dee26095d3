//! The one way in which handing over a task can fail: it comes back.

use std::fmt;

/// The executor did not take the task, and here it is again.
///
/// Either its gate is closed (after `join`, `shutdown`, drop or a panic), or counting the task would have
/// overflowed the state word. The task was not run and will not be.
///
/// It is a [`std::error::Error`] whatever `T` is, so `?` works on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rejected<T>(pub T);

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the executor no longer accepts tasks; the task is handed back")
    }
}

impl<T> std::error::Error for Rejected<T> {}
