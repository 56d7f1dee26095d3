//! Damaged files: the Parquet reader panics on some bytes that no writer writes, and here that becomes an error.
//!
//! A panic is caught where the reader is called, so the worker and its executor never see it. The message
//! that Rust prints for every panic would still appear on stderr; a program that does not want it there calls
//! [`silence_reader_panics`] once.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

thread_local! {
    /// This thread is inside [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Prints no message for panics that become an error because a file is damaged. All other panics keep their
/// hook.
pub fn silence_reader_panics() {
    let previous = take_hook();
    set_hook(Box::new(move |info| {
        if !GUARDED.get() {
            previous(info);
        }
    }));
}

/// Runs the reader; a panic of it is an error like any other.
///
/// What the reader left half done is its own and goes with the error, so nothing broken is seen again.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    GUARDED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    outcome.unwrap_or_else(|panic| Err(format!("the file is damaged: {}", message(panic.as_ref()))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("the reader panicked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_reader_is_an_error() {
        silence_reader_panics();
        let outcome: Result<(), String> = guarded(|| panic!("offset {} out of bounds", 7));
        assert_eq!(
            outcome,
            Err("the file is damaged: offset 7 out of bounds".to_owned())
        );
        assert_eq!(guarded(|| Ok(1)), Ok(1));
    }
}
