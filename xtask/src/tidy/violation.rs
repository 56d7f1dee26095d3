//! A violation: the place, the fault, and its remedy.

use std::fmt;

/// Prints as `path:line: what is wrong, what to do`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl Violation {
    /// `line` counts from 1.
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Violation {
        Violation {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Each violation contains the text at its place in `expected`.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_found(violations: &[Violation], expected: &[&str]) {
    let found: Vec<String> = violations.iter().map(ToString::to_string).collect();
    let fits = found.len() == expected.len() && found.iter().zip(expected).all(|(f, e)| f.contains(e));
    assert!(fits, "found {found:#?}, expected {expected:#?}");
}
