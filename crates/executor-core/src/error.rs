//! The error of handing over a task: it returns the task.

use std::fmt;

/// The executor is closed, or its in-flight count would have overflowed. The task will not run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rejected<T>(pub T);

impl<T> fmt::Debug for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Rejected<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the executor no longer accepts tasks; the task is returned")
    }
}

impl<T> std::error::Error for Rejected<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Opaque;

    #[test]
    fn a_task_that_came_back_is_an_error_whatever_it_is() {
        let error: Box<dyn std::error::Error> = Box::new(Rejected(Opaque));
        assert_eq!(
            error.to_string(),
            "the executor no longer accepts tasks; the task is returned"
        );
        assert_eq!(format!("{error:?}"), "Rejected { .. }");
    }
}
