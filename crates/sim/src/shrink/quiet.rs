//! Silences the panics of shrinking, which repeats a task's failed assertion a thousand times.

use std::cell::Cell;
use std::panic;
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// The panic hook ignores this thread's panics meanwhile. The first call installs it for the
/// process.
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
