//! What the program says to people: lines on stderr.

use std::fmt::Display;
use std::io::Write;

/// Writes `text` and a line end to stderr.
///
/// `eprintln!` panics where stderr cannot be written to: closed by its reader, or on a full disk.
pub(crate) fn say(text: impl Display) {
    // A failure has no other place to go, and changes neither result nor exit code.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
