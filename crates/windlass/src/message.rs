//! What the program says to people: lines on stderr.

use std::fmt::Display;
use std::io::Write;

/// `eprintln!` panics where stderr cannot be written to.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
