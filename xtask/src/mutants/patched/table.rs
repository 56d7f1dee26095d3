//! The table of patches in `xtask/src/mutants/README.md`: killer, seconds, date and commit of each.

use std::fmt::Write as _;
use std::process::Command;

use anyhow::ensure;

use super::Patched;
use crate::mutants::page;
use crate::process::{self, Limit};
use crate::workspace::Workspace;

const MARKS: &str = "patches";

/// Patches that did not run keep their rows while they exist.
pub(super) fn write(workspace: &Workspace, patched: &Patched) -> anyhow::Result<()> {
    let (date, commit) = (ask("date", &["-u", "+%Y-%m-%d"])?, commit()?);
    let all: Vec<String> = super::patches(workspace)?
        .iter()
        .map(super::Patch::title)
        .collect();
    let rows = patched.rows.iter().map(|row| {
        let (name, layer, by) = (&row.name, row.layer.name(), row.fate.text());
        let line = format!(
            "| `{name}` | {layer} | `{by}` | {:.0} | {date}, {commit} |",
            row.seconds
        );
        (name.clone(), line)
    });
    let rows: Vec<(String, String)> = rows.collect();
    page::rewrite(workspace, MARKS, |old| merged(old, rows, &all))
}

fn merged(old: &str, new: Vec<(String, String)>, all: &[String]) -> String {
    let kept = old.lines().filter_map(|line| {
        let name = line.strip_prefix("| `")?.split('`').next()?;
        (!new.iter().any(|(title, _)| title == name)).then(|| (name.to_owned(), line.to_owned()))
    });
    let mut rows: Vec<(String, String)> = kept.collect();
    rows.extend(new);
    rows.retain(|(name, _)| all.contains(name));
    rows.sort();
    let mut text = "| patch | layer | killed by | seconds | asked |\n|---|---|---|---|---|\n".to_owned();
    for (_, line) in rows {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// A `+` after it means uncommitted changes.
fn commit() -> anyhow::Result<String> {
    let changes = ask(
        "git",
        &[
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--",
            "crates",
            "mutants",
        ],
    )?;
    let plus = if changes.is_empty() { "" } else { "+" };
    Ok(ask("git", &["rev-parse", "--short", "HEAD"])? + plus)
}

fn ask(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = process::output(Command::new(program).args(arguments), Limit::NONE)?;
    ensure!(output.status.success(), "`{program}` failed");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_patches_that_were_not_asked_stay_and_those_of_gone_ones_go() {
        let old = "| patch | layer |\n|---|---|\n| `a/b_c` | old |\n| `a/d_e` | old |\n| `a/gone` | old |\n";
        let new = vec![("a/d_e".to_owned(), "| `a/d_e` | new |".to_owned())];
        let all = ["a/b_c".to_owned(), "a/d_e".to_owned()];
        let text = merged(old, new, &all);
        assert!(
            text.ends_with("|---|---|---|---|---|\n| `a/b_c` | old |\n| `a/d_e` | new |\n"),
            "{text}"
        );
    }
}
