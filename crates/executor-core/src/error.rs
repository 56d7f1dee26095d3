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

#[cfg(test)]
mod tests {
    use super::*;

    /// No `Debug` and no `Display` of its own.
    struct Opaque;

    #[test]
    fn a_task_that_came_back_is_an_error_whatever_it_is() {
        let error: Box<dyn std::error::Error> = Box::new(Rejected(Opaque));
        assert_eq!(
            error.to_string(),
            "the executor no longer accepts tasks; the task is handed back"
        );
        assert_eq!(format!("{error:?}"), "Rejected { .. }");
    }
}
