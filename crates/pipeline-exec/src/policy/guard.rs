//! Calls into user code that may panic: a waker, a destructor, a name, the text of an error. No
//! panic leaves this module.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::stage::Stage;

pub(crate) fn name(stage: &dyn Stage, number: usize) -> String {
    named(number, || stage.name().to_owned())
}

pub(crate) fn named(number: usize, name: impl FnOnce() -> String) -> String {
    catch_unwind(AssertUnwindSafe(name)).unwrap_or_else(|payload| {
        discard(payload);
        format!("stage {number}, whose name panicked")
    })
}

pub(crate) fn text(error: &impl fmt::Display) -> String {
    catch_unwind(AssertUnwindSafe(|| error.to_string())).unwrap_or_else(|payload| {
        discard(payload);
        "an error whose text panicked".to_owned()
    })
}

pub(crate) fn quietly(call: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        discard(payload);
    }
}

/// For a value that may be the last reference to a user's data.
pub(crate) fn quietly_drop<T>(value: T) {
    quietly(|| drop(value));
}

/// If the drop panics too, the second payload is leaked.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(endless) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(endless);
    }
}
