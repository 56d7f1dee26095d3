//! Panics of user code, as text.

use std::any::Any;

/// Returns the text of a panic with this payload, if it has one.
#[must_use]
pub fn panic_text(payload: &(dyn Any + Send)) -> Option<&str> {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Returns the same, or words that say that there is none.
#[must_use]
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    panic_text(payload)
        .unwrap_or("a panic without a message")
        .to_owned()
}
