//! How large a worker's stack has to be: what tasks need, and room for the worker's context.
//!
//! The context lies on the stack with the place for the worker's private tasks in it, which is 256 tasks large. For tasks of
//! the usual few bytes that is nothing; for tasks of some kilobytes it is more than a whole stack. And it is copied from place
//! to place while it is made: moving a value is a copy wherever the compiler does not see that it need not be.

use std::env;

/// The standard library's size of a stack, if its variable says nothing else.
const STANDARD_BYTES: usize = 2 << 20;

/// A context of this size or less is part of what any stack has room for.
const ALLOWANCE_BYTES: usize = 32 << 10;

/// How often the context is on the stack at the same time, while it is made, with a third to spare: for a task of 8 KiB it was
/// more than twice and less than four times in an optimised build, and ten to twelve times in any other.
const COPIES: usize = if cfg!(debug_assertions) { 16 } else { 6 };

/// The size to ask for, if it is not the standard library's own choice: `chosen`, and room for a context of so many bytes.
pub(crate) fn size(chosen: Option<usize>, context: usize) -> Option<usize> {
    if context <= ALLOWANCE_BYTES {
        return chosen;
    }
    let for_tasks = chosen.unwrap_or_else(|| standard(env::var("RUST_MIN_STACK").ok().as_deref()));
    Some(for_tasks.saturating_add(context.saturating_mul(COPIES)))
}

/// What the standard library gives a thread, by its variable.
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
