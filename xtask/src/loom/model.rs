//! One loom model, run by itself: a change that breaks it may abort the process, and it should still be named.

use std::path::Path;
use std::process::Command;

use crate::process::{self, Limit};

/// The full names of the models in a test binary.
///
/// # Errors
///
/// When it cannot be run, or does not list its tests within the limit.
pub(crate) fn list(binary: &Path, limit: Limit) -> anyhow::Result<Vec<String>> {
    let output = process::silent_output(Command::new(binary).arg("--list"), limit)?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

/// A model's name, without the modules that its test is in.
pub(crate) fn short(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

/// What the model said when it failed, run by `binary`, which has no arguments yet; `None` if it closed.
///
/// # Errors
///
/// When the binary cannot be run, or was ended because the limit was over.
pub(crate) fn fails(binary: &mut Command, test: &str, limit: Limit) -> anyhow::Result<Option<String>> {
    binary.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let output = process::silent_output(binary, limit)?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Some(
        panic_text(&said).unwrap_or_else(|| output.status.to_string()),
    ))
}

/// The line behind the first `panicked at`.
fn panic_text(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().skip_while(|line| !line.contains("panicked at"));
    lines.next()?;
    lines.next().map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_said_is_the_line_behind_its_panic() {
        let stderr =
            "\nthread 'a' panicked at crates/a/tests/loom/sleep.rs:3:5:\ndeadlock; threads = []\nnote: x\n";
        assert_eq!(panic_text(stderr).as_deref(), Some("deadlock; threads = []"));
        assert_eq!(panic_text("aborted"), None);
    }
}
