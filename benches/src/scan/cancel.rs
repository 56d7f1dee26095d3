//! Ctrl-C at moments by chance: the time until the process is gone, its exit code, and whether what
//! it has printed are whole lines.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Setup;
use super::corpus::Corpus;
use super::launch::Invocation;
use super::part::{Made, Part};
use super::program::{OURS, PEER};
use super::table::wait_for_quiet;
use crate::THREADS;
use crate::contender::{Contender, Outcome, Role};
use crate::random::Random;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const P99_MS: f64 = 50.0;
const ENDS: u64 = 100;
const ENDS_QUICK: u64 = 20;
const SEED: u64 = 0x5eed_0003;
/// A process has set up its handler by then.
const FIRST: Duration = Duration::from_millis(5);
/// Attempts of which the program may have ended before the signal.
const ATTEMPTS: u64 = 4;
/// Of a program that Ctrl-C has ended.
const CANCELLED: i32 = 130;

/// Many findings, so that all parts of a search are under way.
const SEARCHES: &[(Corpus, &[&str])] = &[
    (Corpus::Log, &["-n", "-e", "ERROR"]),
    (Corpus::ManyInFolders, &["-e", "scheduled"]),
];

pub(super) fn parts() -> Vec<Part> {
    let part = |&(corpus, flags): &(Corpus, &'static [&'static str])| {
        Part::new("cancel", corpus, move |setup: &Setup| make(setup, corpus, flags))
    };
    SEARCHES.iter().map(part).collect()
}

fn make(setup: &Setup, corpus: Corpus, flags: &[&str]) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(corpus)? else {
        return Ok(None);
    };
    let ends = if setup.is_quick { ENDS_QUICK } else { ENDS };
    let programs = [
        (OURS, Role::Ours, &setup.programs.ours),
        (PEER, Role::Baseline, &setup.programs.peer),
    ];
    let rows = programs.map(|(name, role, program)| {
        let call = Rc::new(program.search(THREADS, flags, &place));
        Contender::new(name, role, move || {
            wait_for_quiet("cancel");
            let call = Rc::clone(&call);
            move || cancelled(name, &call, ends)
        })
    });
    let workload = Workload::new(
        format!("cancel, {}", place.label),
        format!(
            "{ends} times SIGINT at a moment by chance, from {} ms on, in `{}`: from the signal to the end \
             of the process.",
            FIRST.as_millis(),
            flags.join(" ")
        ),
    )
    .columns([
        Column::percentile("p50, ms", 50.0),
        Column::percentile("p99, ms", 99.0),
        Column::percentile("max, ms", 100.0),
        Column::told("exit code 130, %", 0),
        Column::told("whole lines, %", 1),
        Column::told("without a signal, ms", 2),
    ])
    .cold()
    .elsewhere()
    .rounds_max(1)
    .rows(rows)
    .targets([
        Target::at_most(P99_MS, Of::Number(1.0)).column(1),
        Target::at_least(100.0, Of::Number(1.0)).column(3),
        Target::at_least(100.0, Of::Number(1.0)).column(4),
    ]);
    Ok(Some(Made::Workload(workload)))
}

fn cancelled(name: &str, call: &Invocation, ends: u64) -> Result<Outcome> {
    // What it reads may have left the page cache, and moments are drawn from a run with it.
    Ended::of(call, None)?;
    let whole = Ended::of(call, None)?;
    ensure!(whole.status.success(), "{name} fails without a signal");
    let lines = Lines::of(&whole.output);
    let window = whole.lasted.saturating_sub(FIRST).as_nanos() as u64;
    let mut random = Random::new(SEED);
    let mut outcome = Outcome::verified(Vec::new());
    let (mut with_code, mut with_lines) = (0_u32, 0_u32);
    for _ in 0..ends * ATTEMPTS {
        let at = FIRST + Duration::from_nanos(random.below(window.max(1)));
        let ended = Ended::of(call, Some(at))?;
        if ended.status.success() {
            // It had ended before, or was so far that there was nothing to cancel.
            continue;
        }
        outcome.samples.push(ended.lasted.as_secs_f64() * 1e3);
        with_code += u32::from(ended.status.code() == Some(CANCELLED));
        with_lines += u32::from(lines.has_all_of(&ended.output));
        if outcome.samples.len() as u64 == ends {
            break;
        }
    }
    let count = outcome.samples.len();
    ensure!(count > 0, "{name} always ended before the signal came");
    let percent = |of: u32| f64::from(of) * 100.0 / count as f64;
    let whole_ms = whole.lasted.as_secs_f64() * 1e3;
    outcome.measured = vec![percent(with_code), percent(with_lines), whole_ms];
    Ok(outcome)
}

struct Ended {
    status: ExitStatus,
    output: Vec<u8>,
    /// From the signal, or from the start without one, to the end.
    lasted: Duration,
}

impl Ended {
    fn of(call: &Invocation, signal_at: Option<Duration>) -> Result<Self> {
        let mut start = Instant::now();
        let mut child = call
            .command()
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut pipe = child.stdout.take().context("its output is a pipe")?;
        std::thread::scope(|scope| {
            let output = scope.spawn(move || {
                let mut output = Vec::new();
                pipe.read_to_end(&mut output).map(|_| output)
            });
            if let Some(at) = signal_at {
                std::thread::sleep(at.saturating_sub(start.elapsed()));
                start = Instant::now();
                kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT)?;
            }
            let status = child.wait()?;
            let lasted = start.elapsed();
            let output = output
                .join()
                .map_err(|_| anyhow::anyhow!("the reader ended early"))??;
            ensure!(
                status
                    .signal()
                    .is_none_or(|signal| signal == Signal::SIGINT as i32),
                "{status}"
            );
            Ok(Self {
                status,
                output,
                lasted,
            })
        })
    }
}

/// The hashes of all lines of a whole run.
struct Lines(HashSet<u64>);

impl Lines {
    fn of(output: &[u8]) -> Self {
        Self(hashes(output).collect())
    }

    fn has_all_of(&self, output: &[u8]) -> bool {
        let is_whole = output.is_empty() || output.ends_with(b"\n");
        is_whole && hashes(output).all(|hash| self.0.contains(&hash))
    }
}

fn hashes(output: &[u8]) -> impl Iterator<Item = u64> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let lines = output.split_inclusive(|byte| *byte == b'\n');
    lines.map(move |line| hasher.hash_one(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_cut_is_noticed() {
        let lines = Lines::of(b"one\ntwo\n");
        assert!(lines.has_all_of(b"two\n") && lines.has_all_of(b""));
        assert!(!lines.has_all_of(b"one\ntw") && !lines.has_all_of(b"on\n"));
    }
}
