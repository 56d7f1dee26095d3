//! Shrinking a task's failed assertion means that it fails a thousand times, and nobody wants to read that.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Does `work`, in which no panic of this thread is reported. Whoever catches one still has it.
///
/// The process's panic hook is replaced, once, by one that asks first and then calls the one before.
pub(crate) fn quietly<R>(work: impl FnOnce() -> R) -> R {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let _restore = Restore(QUIET.replace(true));
    work()
}

struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        QUIET.set(self.0);
    }
}
