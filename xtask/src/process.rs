//! Runs other programs: announced, with output passed through or read, and ended at a limit.

mod leash;
mod limit;

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};

use anyhow::{Context as _, ensure};

pub(crate) use self::limit::{Limit, OverLimit};
use crate::usage::Outcome;

/// The cargo that runs this program, which keeps the chosen toolchain.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

pub(crate) fn run(command: &mut Command, limit: Limit) -> anyhow::Result<ExitStatus> {
    announce(command);
    limit.keep(command, |_| (), |mut child| Ok(child.wait()?))
}

/// Runs `command` as a subcommand's last act: its exit code becomes ours.
pub(crate) fn pass_through(command: &mut Command, limit: Limit) -> anyhow::Result<Outcome> {
    let status = run(command, limit)?;
    Ok(match status.code() {
        Some(0) => Outcome::Passed,
        // A code that does not fit, or a signal, is a failure too.
        Some(code) => Outcome::Exited(u8::try_from(code).ok().filter(|code| *code != 0).unwrap_or(1)),
        None => Outcome::Failed,
    })
}

/// Passes standard output through, too.
pub(crate) fn run_reading(
    command: &mut Command,
    limit: Limit,
    mut line: impl FnMut(&str),
) -> anyhow::Result<ExitStatus> {
    announce(command);
    let piped = |command: &mut Command| {
        command.stdout(Stdio::piped());
    };
    limit.keep(command, piped, |mut child| {
        let output = child.stdout.take().context("the child has no standard output")?;
        let mut reader = BufReader::new(output);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes)? > 0 {
            std::io::stdout().write_all(&bytes)?;
            line(String::from_utf8_lossy(&bytes).trim_end());
            bytes.clear();
        }
        Ok(child.wait()?)
    })
}

/// Standard error is passed through.
pub(crate) fn output(command: &mut Command, limit: Limit) -> anyhow::Result<Output> {
    output_to(command, limit, Stdio::inherit())
}

pub(crate) fn silent_output(command: &mut Command, limit: Limit) -> anyhow::Result<Output> {
    output_to(command, limit, Stdio::piped())
}

fn output_to(command: &mut Command, limit: Limit, stderr: Stdio) -> anyhow::Result<Output> {
    let piped = |command: &mut Command| {
        command.stdout(Stdio::piped()).stderr(stderr);
    };
    limit.keep(command, piped, |child| Ok(child.wait_with_output()?))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) path: PathBuf,
    pub(crate) manifest: PathBuf,
}

/// Tests included.
pub(crate) fn built(command: &mut Command, limit: Limit) -> anyhow::Result<Vec<Built>> {
    announce(command);
    command.args(["--message-format", "json-render-diagnostics"]);
    let output = output(command, limit)?;
    ensure!(output.status.success(), "{} failed", shown(command));
    let built = executables(&String::from_utf8_lossy(&output.stdout));
    ensure!(!built.is_empty(), "{} built no program", shown(command));
    Ok(built)
}

fn executables(messages: &str) -> Vec<Built> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let built = messages.filter_map(|message| {
        Some(Built {
            path: message["executable"].as_str()?.into(),
            manifest: message["manifest_path"].as_str()?.into(),
        })
    });
    built.collect()
}

pub(crate) fn add_rustflags(command: &mut Command, flags: &[&str]) {
    let mut all: Vec<String> = match (
        std::env::var("CARGO_ENCODED_RUSTFLAGS"),
        std::env::var("RUSTFLAGS"),
    ) {
        (Ok(encoded), _) if !encoded.is_empty() => encoded.split('\x1f').map(str::to_owned).collect(),
        (_, Ok(plain)) => plain.split_whitespace().map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    all.extend(flags.iter().map(|flag| (*flag).to_owned()));
    command.env("CARGO_ENCODED_RUSTFLAGS", all.join("\x1f"));
}

fn announce(command: &Command) {
    eprintln!("$ {}", shown(command));
}

/// The command as typed, the program without its path.
fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let program = program.file_stem().unwrap_or(command.get_program()).to_owned();
    let words: Vec<OsString> = std::iter::once(program)
        .chain(command.get_args().map(std::ffi::OsStr::to_owned))
        .collect();
    words
        .iter()
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_while_they_pass_through() {
        let mut lines = Vec::new();
        let status = run_reading(cargo().arg("--version"), Limit::NONE, |line| {
            lines.push(line.to_owned())
        })
        .unwrap();
        assert!(status.success());
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("cargo "), "{lines:?}");
    }

    #[test]
    fn programs_and_their_manifests_are_in_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null,\"manifest_path\":\"a\"}
{\"reason\":\"compiler-artifact\",\"executable\":\"target/loom-1\",\"manifest_path\":\"crates/a/Cargo.toml\"}
{\"reason\":\"build-finished\",\"success\":true}";
        let expected = Built {
            path: "target/loom-1".into(),
            manifest: "crates/a/Cargo.toml".into(),
        };
        assert_eq!(executables(messages), [expected]);
        assert_eq!(executables("no JSON"), []);
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = run(&mut Command::new("windlass-no-such-program"), Limit::NONE).unwrap_err();
        assert!(error.to_string().contains("windlass-no-such-program"), "{error}");
    }
}
