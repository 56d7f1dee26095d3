//! A time limit for successive programs: at its end the running one and all that it started are
//! ended. Only `cargo xtask ci` and tests that may hang set limits.

use std::fmt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::leash::leashed;
use super::shown;

/// Counts from its creation. Systems without process groups end nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit(Option<(Instant, Duration)>);

impl Limit {
    pub(crate) const NONE: Limit = Limit(None);

    pub(crate) fn of(duration: Duration) -> Limit {
        Limit(Some((Instant::now(), duration)))
    }

    /// `prepare` sets the command's outputs before its start; the result is that of `wait`.
    pub(super) fn keep<R>(
        self,
        command: &mut Command,
        prepare: impl FnOnce(&mut Command),
        wait: impl FnOnce(Child) -> anyhow::Result<R>,
    ) -> anyhow::Result<R> {
        let start = |command: &mut Command| {
            prepare(command);
            command
                .spawn()
                .with_context(|| format!("cannot start {}", shown(command)))
        };
        let Some((since, limit)) = self.0 else {
            return wait(start(command)?);
        };
        let Some(mut on_leash) = leashed(command) else {
            return wait(start(command)?);
        };
        let mut child = start(&mut on_leash)?;
        let leash = child.stdin.take();
        let (ended, has_ended) = mpsc::channel::<()>();
        let watch = thread::spawn(move || {
            let left = limit.saturating_sub(since.elapsed());
            let over = has_ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
            drop(leash);
            over
        });
        let result = wait(child);
        drop(ended);
        if watch.join().expect("the watch does not panic") {
            let command = shown(command).split(' ').take(2).collect::<Vec<_>>().join(" ");
            return Err(OverLimit { limit, command }.into());
        }
        result
    }
}

#[derive(Debug)]
pub(crate) struct OverLimit {
    limit: Duration,
    command: String,
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "stopped after {} s, in `{}`",
            self.limit.as_secs(),
            self.command
        )
    }
}

impl std::error::Error for OverLimit {}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::process::run_reading;

    /// A child and a grandchild that would say so if they lived on.
    const FAMILY: &str = "(echo grandchild; sleep 30; echo survived) & sleep 30; echo survived";

    /// Returns the outcome, and what the script and its children wrote on standard error.
    fn run(script: &str, limit: Limit) -> (anyhow::Result<bool>, String) {
        let (mut said, saying) = std::io::pipe().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let outcome = limit.keep(
            &mut command,
            |command| {
                command.stdout(saying.try_clone().unwrap()).stderr(saying);
            },
            |mut child| Ok(child.wait()?.success()),
        );
        let mut text = String::new();
        said.read_to_string(&mut text).unwrap();
        (outcome, text)
    }

    #[test]
    fn over_the_limit_a_program_and_its_children_are_gone() {
        // Until a limit was long enough for the grandchild to start.
        for millis in (0..).map(|n| (1 << n) - 1) {
            let (outcome, said) = run(FAMILY, Limit::of(Duration::from_millis(millis)));
            assert!(!said.contains("survived"), "within {millis} ms: {said}");
            assert!(outcome.unwrap_err().is::<OverLimit>());
            if said.contains("grandchild") {
                break;
            }
        }
    }

    #[test]
    fn what_a_program_leaves_behind_is_gone_when_it_has_ended() {
        let (outcome, said) = run(
            "(sleep 30; echo survived) & echo begun",
            Limit::of(Duration::from_secs(600)),
        );
        assert!(outcome.unwrap());
        assert_eq!(said, "begun\n");
    }

    #[test]
    fn the_time_is_that_of_all_programs_together() {
        let limit = Limit::of(Duration::ZERO);
        for _ in 0..2 {
            let error = run_reading(Command::new("sleep").arg("30"), limit, |_| ()).unwrap_err();
            assert_eq!(error.to_string(), "stopped after 0 s, in `sleep 30`");
        }
    }

    #[test]
    fn within_the_limit_a_program_is_what_it_is_without() {
        for limit in [Limit::NONE, Limit::of(Duration::from_secs(600))] {
            let mut command = Command::new("sh");
            command
                .args(["-c", "echo \"$A $B\"; exit 7"])
                .env("A", "a  a")
                .env_remove("B");
            let mut lines = Vec::new();
            let status = run_reading(&mut command, limit, |line| lines.push(line.to_owned())).unwrap();
            assert_eq!(
                (status.code(), lines),
                (Some(7), vec!["a  a".to_owned()]),
                "{limit:?}"
            );
        }
    }
}
