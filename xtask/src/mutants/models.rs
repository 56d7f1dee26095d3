//! The loom models of one edge, run one by one: a planted bug may abort the process, and the model should still be
//! named that noticed.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;

use crate::process::{self, Limit};
use crate::tidy;
use crate::workspace::Workspace;

/// The models of `edge`, as `docs/memory-model.md` names them, that are in this test binary; by the full names of
/// their tests.
///
/// # Errors
///
/// When there are none, or when the binary does not list its tests.
pub(crate) fn of_edge(
    workspace: &Workspace,
    edge: &str,
    binary: &Path,
    limit: Limit,
) -> anyhow::Result<Vec<String>> {
    let named = tidy::models_of_edge(workspace, edge)?;
    let output = process::silent_output(Command::new(binary).arg("--list"), limit)?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    let tests = list.lines().filter_map(|line| line.strip_suffix(": test"));
    let models: Vec<String> = tests
        .filter(|test| named.iter().any(|model| model == short(test)))
        .map(str::to_owned)
        .collect();
    ensure!(!models.is_empty(), "no model of edge `{edge}` was built");
    Ok(models)
}

/// A model's name, without the modules that its test is in.
pub(crate) fn short(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

/// What a model said when it failed; `None` if it closed.
///
/// # Errors
///
/// When the binary cannot be run, or was ended because the limit was over.
pub(crate) fn fails(binary: &Path, test: &str, limit: Limit) -> anyhow::Result<Option<String>> {
    fails_within(binary, test, None, limit)
}

/// The same, with this bound on preemptions instead of the model's own.
///
/// # Errors
///
/// As [`fails`].
pub(crate) fn fails_within(
    binary: &Path,
    test: &str,
    preemptions: Option<&str>,
    limit: Limit,
) -> anyhow::Result<Option<String>> {
    let mut command = Command::new(binary);
    command.envs(preemptions.map(|bound| ("LOOM_MAX_PREEMPTIONS", bound)));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    let output = process::silent_output(&mut command, limit)?;
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
