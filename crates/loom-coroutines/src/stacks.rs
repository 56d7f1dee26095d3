//! Stacks of finished coroutines, for the next ones of the same thread.

use std::cell::RefCell;

use corosensei::stack::DefaultStack;

pub(crate) const DEFAULT_BYTES: usize = 32 * 1024;

/// Stacks that a thread keeps; a model has fewer threads.
const KEPT_MAX: usize = 16;

thread_local! {
    static KEPT: RefCell<Vec<(usize, DefaultStack)>> = const { RefCell::new(Vec::new()) };
}

/// Panics if the system has no memory for the stack.
pub(crate) fn take(bytes: usize) -> DefaultStack {
    let kept = KEPT.with_borrow_mut(|kept| {
        let at = kept.iter().rposition(|(size, _)| *size == bytes)?;
        Some(kept.swap_remove(at).1)
    });
    kept.unwrap_or_else(|| DefaultStack::new(bytes).expect("the system has no memory for a stack"))
}

pub(crate) fn put(bytes: usize, stack: DefaultStack) {
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < KEPT_MAX {
            kept.push((bytes, stack));
        }
    });
}

#[cfg(test)]
pub(crate) fn kept() -> usize {
    KEPT.with_borrow(Vec::len)
}
