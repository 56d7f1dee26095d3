//! The loom models, run one by one: a planted bug may abort the process, and the model should still be named that
//! noticed.

use std::process::Command;

use super::bug::{Bug, Hint};
use super::build::TestBinary;
use super::verdict::{Verdict, limit};
use crate::process::{self, OverLimit};
use crate::tidy;
use crate::workspace::Workspace;

/// How long a model may take in a build with a bug. None takes as long without one.
const MODEL_SECONDS: u64 = 120;

/// Runs the models of the bug's crate up to the first that fails; `only_hinted` leaves out those that the bug's hint does not name.
///
/// # Errors
///
/// When the models cannot be listed or run.
pub(super) fn run(
    workspace: &Workspace,
    binaries: &[TestBinary],
    bug: Option<Bug>,
    only_hinted: bool,
) -> anyhow::Result<Verdict> {
    let hinted = match bug.map(|bug| bug.hint) {
        Some(Hint::Edge(edge)) => tidy::models_of_edge(workspace, edge)?,
        _ => Vec::new(),
    };
    let mut closed = 0;
    for binary in binaries
        .iter()
        .filter(|binary| bug.is_none_or(|bug| bug.krate == binary.package))
    {
        let mut models = list(binary)?;
        // Those that are thought to fail come first.
        models.sort_by_key(|model| !hinted.iter().any(|name| name == short(model)));
        for model in models {
            if only_hinted && !hinted.iter().any(|name| name == short(&model)) {
                continue;
            }
            let mut command = binary.command(bug);
            command.args(["--exact", &model, "--nocapture", "--test-threads=1"]);
            match process::silent_output(&mut command, limit(MODEL_SECONDS)) {
                Ok(output) if output.status.success() => closed += 1,
                Ok(output) => {
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    let said = panic_text(&said).unwrap_or_else(|| output.status.to_string());
                    eprintln!("model `{}` fails: {said}", short(&model));
                    return Ok(Verdict::killed(format!("`{}`", short(&model))));
                }
                Err(error) if error.is::<OverLimit>() => {
                    return Ok(Verdict::killed(format!("`{}` (hang)", short(&model))));
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Verdict::survived(format!("{closed} models close")))
}

/// The full names of the models in `binary`.
fn list(binary: &TestBinary) -> anyhow::Result<Vec<String>> {
    let output = process::silent_output(Command::new(&binary.path).arg("--list"), limit(MODEL_SECONDS))?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(list
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}

/// A model's name, without the modules that its test is in.
fn short(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
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
