//! One run of a program in a small process of its own, which starts it, reads its pipe and tells
//! what it cost.
//!
//! ```text
//!   bench ──► this program, `launch` ──► rg, windlass
//!                  ▲  sums the output ◄── pipe
//!                  └── the kernel's account of its only child: CPU time, peak of memory
//! ```
//!
//! The kernel adds up children, and a child's peak of memory begins with that of the process that
//! started it. So the process in between is new for each run, and small.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::{Deserialize, Serialize};

use super::digest::{Hashes, Hashing, Sum};

/// First argument of a process that launches, for this program's own use.
const LAUNCH: &str = "launch";

/// Bytes of a read: a pipe holds as many.
const BLOCK: usize = 64 << 10;

/// Between two counts of open files.
const LOOK: Duration = Duration::from_millis(1);

/// Bytes of messages that are kept.
const MESSAGES: usize = 2_000;

#[derive(Clone, Debug)]
pub(super) struct Invocation {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) folder: PathBuf,
}

impl Invocation {
    /// Its output is not connected yet.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        command.stdin(Stdio::null());
        quiet(&mut command);
        command
    }

    pub(super) fn words(&self) -> String {
        let words = self.arguments.iter().map(|word| word.to_string_lossy());
        let quoted = words.map(|word| match word.contains([' ', '\\', '|', '*', '{', '\'']) {
            true => format!("'{word}'"),
            false => word.into_owned(),
        });
        quoted.collect::<Vec<_>>().join(" ")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Sum,
    /// Also counts open files, a thousand times a second.
    Watched,
    /// Also hashes the output.
    Hashed,
}

impl How {
    const ALL: [(&'static str, Self); 3] = [
        ("sum", Self::Sum),
        ("watched", Self::Watched),
        ("hashed", Self::Hashed),
    ];
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ran {
    pub(super) wall_ns: u64,
    /// User and system time.
    pub(super) cpu_ns: u64,
    pub(super) peak_kib: u64,
    /// The most at a time, if they were counted.
    pub(super) files: usize,
    /// `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) sum: Sum,
    pub(super) hashes: Option<Hashes>,
    /// Lines of its standard error.
    pub(super) errors: u64,
    pub(super) messages: String,
}

impl Ran {
    /// Fails for what no search ends with: 0 is found, 1 not found, 2 with objects that could not be
    /// read. Code 2 without output is a call that the program does not know.
    pub(super) fn checked(self, name: &str) -> Result<Self> {
        let Self { code, signal, .. } = self;
        ensure!(
            matches!(code, Some(0 | 1)) || code == Some(2) && self.sum.lines > 0,
            "{name} ended with code {code:?}, signal {signal:?}: {}",
            self.messages
        );
        Ok(self)
    }
}

pub(super) fn run(invocation: &Invocation, how: How) -> Result<Ran> {
    let word = How::ALL
        .iter()
        .find(|(_, known)| *known == how)
        .map_or("", |(word, _)| word);
    let mut command = Command::new(std::env::current_exe()?);
    command.args([OsStr::new(LAUNCH), word.as_ref(), invocation.program.as_ref()]);
    command
        .args(&invocation.arguments)
        .current_dir(&invocation.folder);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    ensure!(
        output.status.success(),
        "{} was not run",
        invocation.program.display()
    );
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The arguments, if this process is to launch a program.
pub(crate) fn asked_for() -> Option<Vec<OsString>> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == LAUNCH).then(|| arguments.collect())
}

/// Launches the program here and prints a [`Ran`].
pub(crate) fn launch_here(arguments: &[OsString]) -> Result<()> {
    let [word, program, arguments @ ..] = arguments else {
        anyhow::bail!("launch takes what to measure, a program and its arguments");
    };
    let how = How::ALL.iter().find(|(known, _)| word == known);
    let (_, how) = how.context("that is no way to measure")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    quiet(&mut command);
    println!("{}", serde_json::to_string(&measure(command, *how)?)?);
    Ok(())
}

/// No settings of a user have a part in it.
fn quiet(command: &mut Command) {
    command
        .env_remove("RIPGREP_CONFIG_PATH")
        .env_remove("GREP_COLORS");
    command.env("LC_ALL", "C.UTF-8");
}

fn measure(mut command: Command, how: How) -> Result<Ran> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let before = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let ended = AtomicBool::new(false);
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    let (mut output, messages) = (child.stdout.take(), child.stderr.take());
    let id = child.id();
    std::thread::scope(|scope| {
        let messages = messages.map(|messages| scope.spawn(|| read_messages(messages)));
        let files = (how == How::Watched).then(|| scope.spawn(|| count_files(id, &ended)));
        let mut sum = Sum::default();
        let mut hashing = (how == How::Hashed).then(Hashing::default);
        let mut block = vec![0; BLOCK];
        while let Some(output) = &mut output {
            match output.read(&mut block)? {
                0 => break,
                bytes => {
                    sum.add(&block[..bytes]);
                    hashing
                        .iter_mut()
                        .for_each(|hashing| hashing.add(&block[..bytes]));
                }
            }
        }
        let status = child.wait()?;
        let wall = start.elapsed();
        ended.store(true, Ordering::Relaxed);
        let after = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let (errors, messages) = match messages.map(|thread| thread.join()) {
            Some(Ok(read)) => read,
            _ => (0, String::new()),
        };
        Ok(Ran {
            wall_ns: wall.as_nanos() as u64,
            cpu_ns: cpu_ns(&after).saturating_sub(cpu_ns(&before)),
            peak_kib: u64::try_from(after.max_rss()).unwrap_or(0),
            files: files.and_then(|thread| thread.join().ok()).unwrap_or(0),
            code: status.code(),
            signal: status.signal(),
            sum,
            hashes: hashing.map(Hashing::finish),
            errors,
            messages,
        })
    })
}

fn cpu_ns(usage: &Usage) -> u64 {
    let ns = usage.user_time().num_nanoseconds() + usage.system_time().num_nanoseconds();
    u64::try_from(ns).unwrap_or(0)
}

/// The number of lines, and the first ones.
fn read_messages(from: impl Read) -> (u64, String) {
    let mut from = BufReader::new(from);
    let (mut lines, mut kept, mut line) = (0, String::new(), Vec::new());
    while from.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        lines += 1;
        if kept.len() < MESSAGES {
            kept.extend(String::from_utf8_lossy(&line).chars().take(MESSAGES));
        }
        line.clear();
    }
    (lines, kept)
}

fn count_files(id: u32, ended: &AtomicBool) -> usize {
    let folder = format!("/proc/{id}/fd");
    let mut most = 0;
    while !ended.load(Ordering::Relaxed) {
        let now = std::fs::read_dir(&folder).map_or(0, Iterator::count);
        most = most.max(now);
        std::thread::sleep(LOOK);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, how: How) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        measure(command, how).unwrap()
    }

    #[test]
    fn a_run_tells_its_output_its_messages_and_its_end() {
        let ran = shell("echo one; echo two; echo lost >&2; exit 2", How::Hashed);
        assert_eq!((ran.sum.bytes, ran.sum.lines), (8, 2));
        assert_eq!((ran.errors, ran.messages.as_str()), (1, "lost\n"));
        assert_eq!((ran.code, ran.signal), (Some(2), None));
        assert!(ran.hashes.is_some() && ran.wall_ns > 0 && ran.peak_kib > 0);
        assert!(ran.checked("sh").is_ok());
        assert!(shell("exit 2", How::Sum).checked("sh").is_err());
        let killed = shell("kill -9 $$", How::Sum);
        assert_eq!((killed.code, killed.signal), (None, Some(9)));
        assert!(killed.checked("sh").unwrap_err().to_string().contains("Some(9)"));
    }

    #[test]
    fn open_files_are_counted() {
        let ran = shell(
            "exec 7</dev/null 8</dev/null 9</dev/null; sleep 0.1",
            How::Watched,
        );
        assert!(ran.files >= 6, "{}", ran.files);
    }
}
