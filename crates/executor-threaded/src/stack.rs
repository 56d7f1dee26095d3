//! The size of a worker's stack: what tasks need, and room for the worker's context.
//!
//! The context lies on the stack and contains a buffer of 256 private tasks, which for tasks of
//! some kilobytes is more than a whole stack. While it is made, it is copied several times.

use std::env;

/// The standard library's size without its environment variable.
const STANDARD_BYTES: usize = 2 << 20;

/// A context of up to this size fits any stack.
const ALLOWANCE_BYTES: usize = 32 << 10;

/// Copies of the context on the stack at a time, with a third to spare: for tasks of 8 KiB there
/// were two to four in an optimised build, and ten to twelve otherwise.
const COPIES: usize = if cfg!(debug_assertions) { 16 } else { 6 };

/// `chosen`, and room for a context of `context` bytes; `None` for the standard library's choice.
pub(crate) fn size(chosen: Option<usize>, context: usize) -> Option<usize> {
    if context <= ALLOWANCE_BYTES {
        return chosen;
    }
    let for_tasks = chosen.unwrap_or_else(|| standard(env::var("RUST_MIN_STACK").ok().as_deref()));
    Some(for_tasks.saturating_add(context.saturating_mul(COPIES)))
}

fn standard(variable: Option<&str>) -> usize {
    variable
        .and_then(|text| text.parse().ok())
        .unwrap_or(STANDARD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_context_changes_nothing() {
        assert_eq!(size(None, 20_000), None);
        assert_eq!(size(Some(64 << 10), 20_000), Some(64 << 10));
    }

    #[test]
    fn a_large_context_is_added_to_what_tasks_need() {
        let context = 2 << 20;
        assert_eq!(size(Some(64 << 10), context), Some((64 << 10) + COPIES * context));
        assert!(size(None, context) >= Some(COPIES * context + 1));
        assert_eq!(size(Some(1), usize::MAX), Some(usize::MAX));
    }

    #[test]
    fn the_standard_librarys_variable_counts() {
        assert_eq!(standard(None), STANDARD_BYTES);
        assert_eq!(standard(Some("12345")), 12_345);
        assert_eq!(standard(Some("many")), STANDARD_BYTES);
    }
}
