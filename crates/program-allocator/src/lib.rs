//! The allocator of windlass' programs: mimalloc, and how long it keeps freed memory.
//!
//! A program that names this crate allocates with mimalloc. The libraries choose no allocator, and
//! none of them names this crate: `docs/decisions/0059-the-programs-allocator.md`.
//!
//! ```text
//!   freed ──► kept for a delay ──┬─► allocated again: the page is there
//!                                └─► given back: the system clears a page at its next touch
//! ```

#![allow(unsafe_code, reason = "docs/decisions/0059-the-programs-allocator.md")]

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Milliseconds for which freed memory is kept: longer than a query needs between two row groups.
const KEPT_MS: c_long = 1_000;
/// The number of the option `purge_delay`, in milliseconds, in mimalloc's version 2. Its binding names
/// few of the options.
const PURGE_DELAY: mi_option_t = 15;

/// Keeps memory that is freed from now on for a second before the system gets it back, if the user does
/// not name another delay by `MIMALLOC_PURGE_DELAY`. Without this call it is 10 ms.
///
/// A query frees the buffers of one row group and soon allocates those of the next, and the groups of
/// a query are as large as those of the one before.
///
/// ```
/// program_allocator::keep_freed_memory();
/// ```
pub fn keep_freed_memory() {
    // SAFETY: the C function writes one aligned word to its table of options, and ignores a number that
    // the table does not have. Any thread may read the word at that time, before or after the change:
    // the allocator itself sets its options so, when the first thread that needs one asks for it.
    unsafe { mi_option_set_default(PURGE_DELAY, KEPT_MS) };
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use libmimalloc_sys::mi_option_get;

    use super::*;

    const TEST: &str = "tests::the_delay_is_the_option_that_the_environment_names";
    const VARIABLE: &str = "MIMALLOC_PURGE_DELAY";

    /// The allocator reads the variable when a process starts, so a second one tells what it read.
    #[test]
    fn the_delay_is_the_option_that_the_environment_names() {
        // SAFETY: the C function reads a number of the table of options.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        if let Ok(told) = std::env::var(VARIABLE) {
            assert_eq!(delay().to_string(), told);
            keep_freed_memory();
            assert_eq!(delay().to_string(), told, "the user's delay stays");
            return;
        }
        assert_eq!(delay(), 10, "mimalloc's default");
        keep_freed_memory();
        assert_eq!(delay(), KEPT_MS);
        let program = std::env::current_exe().unwrap();
        let told = Command::new(program)
            .args(["--exact", TEST])
            .env(VARIABLE, "77")
            .output()
            .unwrap();
        let output = String::from_utf8(told.stdout).unwrap();
        assert!(told.status.success() && output.contains("1 passed"), "{output}");
    }
}
