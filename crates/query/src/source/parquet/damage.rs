//! Turns panics of the Parquet reader on damaged bytes into errors.
//!
//! Rust's panic hook still prints a message, unless a program's own hook asks
//! [`is_reading_damaged`].

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pipeline_exec::panic_text;

thread_local! {
    static GUARDS: Cell<usize> = const { Cell::new(0) };
}

/// Whether a panic of this thread becomes a damaged file's [`ReadError`](columnar::ReadError).
///
/// ```
/// use query::source::is_reading_damaged;
///
/// let previous = std::panic::take_hook();
/// std::panic::set_hook(Box::new(move |info| {
///     if !is_reading_damaged() {
///         previous(info);
///     }
/// }));
/// ```
pub fn is_reading_damaged() -> bool {
    GUARDS.get() > 0
}

/// The reader's half-done state is dropped with the error and never used.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let _guard = Guard::new();
    let outcome = catch_unwind(AssertUnwindSafe(read));
    outcome.unwrap_or_else(|panic| Err(format!("the file is damaged: {}", message(panic.as_ref()))))
}

struct Guard;

impl Guard {
    fn new() -> Self {
        GUARDS.set(GUARDS.get() + 1);
        Self
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        GUARDS.set(GUARDS.get() - 1);
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    panic_text(panic).unwrap_or("the reader panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_reader_is_an_error() {
        let outcome: Result<(), String> = guarded(|| panic!("offset {} out of bounds", 7));
        assert_eq!(
            outcome,
            Err("the file is damaged: offset 7 out of bounds".to_owned())
        );
        assert_eq!(guarded(|| Ok(1)), Ok(1));
        assert!(!is_reading_damaged());
    }

    #[test]
    fn a_panic_in_a_reader_inside_a_reader_leaves_the_outer_one_guarded() {
        let outer = guarded(|| {
            let inner: Result<(), String> = guarded(|| panic!("inner"));
            assert_eq!(inner, Err("the file is damaged: inner".to_owned()));
            Ok(is_reading_damaged())
        });
        assert_eq!(outer, Ok(true));
        assert!(!is_reading_damaged());
    }
}
