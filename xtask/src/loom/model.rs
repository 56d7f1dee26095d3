//! One loom model in its own process: a change that breaks it may abort.

use std::path::Path;
use std::process::Command;

use crate::process::{self, Limit};

pub(crate) fn list(binary: &Path, limit: Limit) -> anyhow::Result<Vec<String>> {
    let output = process::silent_output(Command::new(binary).arg("--list"), limit)?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

pub(crate) fn short(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

/// Returns the model's failure; `None` if it closed. `binary` has no arguments yet.
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
