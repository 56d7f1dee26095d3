//! Fairness: small files beside a large one are reported before half of the large one is.
//!
//! Each small file has one finding, and the large one has them all along. The reader of the pipe
//! notes when lines of which file come.

use std::io::Read as _;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::Setup;
use super::corpus::{CHECKPOINT, Corpus};
use super::launch::Invocation;
use super::part::{Made, Part};
use super::program::{OURS, PEER};
use super::table::wait_for_quiet;
use crate::THREADS;
use crate::contender::{Contender, Outcome, Role};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const ROUNDS: usize = 5;
const LARGE: &[u8] = b"large.log:";
/// Place of the column that has the aim.
const LATE: usize = 0;
const BLOCK: usize = 64 << 10;

pub(super) fn parts() -> Vec<Part> {
    vec![Part::new("fairness", Corpus::Beside, make)]
}

fn make(setup: &Setup) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(Corpus::Beside)? else {
        return Ok(None);
    };
    let flags = ["-e", CHECKPOINT];
    let programs = [
        (OURS, Role::Ours, &setup.programs.ours),
        (PEER, Role::Baseline, &setup.programs.peer),
    ];
    let rows = programs.map(|(name, role, program)| {
        let call = program.search(THREADS, &flags, &place);
        Contender::new(name, role, move || {
            wait_for_quiet("fairness");
            let call = call.clone();
            move || Arrivals::of(&call).and_then(|arrivals| arrivals.outcome(name))
        })
    });
    let workload = Workload::new(
        format!("fairness, {}", place.label),
        format!(
            "`{CHECKPOINT}`: once in each small file, and in the large one about once in each MiB. When \
             their lines come out of the pipe, and how many small files come behind the middle of the \
             large one's lines."
        ),
    )
    .columns([
        Column::told("small files behind the middle", LATE),
        Column::told("last small file, ms", 1),
        Column::told("middle of the large file, ms", 2),
        Column::told("end, ms", 3),
        Column::told("small files", 4),
        Column::told("lines of the large one", 5),
    ])
    .cold()
    .elsewhere()
    .rounds_max(ROUNDS)
    .rows(rows)
    .targets([Target::at_most(1.0, Of::Number(0.0)).column(LATE)]);
    Ok(Some(Made::Workload(workload)))
}

#[derive(Debug, Default)]
struct Arrivals {
    /// Whether of the large file, and milliseconds from the start, of each line in order.
    lines: Vec<(bool, f64)>,
    end_ms: f64,
}

impl Arrivals {
    fn of(call: &Invocation) -> Result<Self> {
        let start = Instant::now();
        let mut child = call.command().stdout(Stdio::piped()).spawn()?;
        let mut output = child.stdout.take().context("its output is a pipe")?;
        let mut arrivals = Self::default();
        let (mut block, mut line) = (vec![0; BLOCK], Vec::new());
        loop {
            let bytes = output.read(&mut block)?;
            if bytes == 0 {
                break;
            }
            let ms = start.elapsed().as_secs_f64() * 1e3;
            for part in block[..bytes].split_inclusive(|byte| *byte == b'\n') {
                line.extend(part);
                if part.ends_with(b"\n") {
                    arrivals.add(&line, ms);
                    line.clear();
                }
            }
        }
        child.wait()?;
        arrivals.end_ms = start.elapsed().as_secs_f64() * 1e3;
        Ok(arrivals)
    }

    fn add(&mut self, line: &[u8], ms: f64) {
        let path_end = line.len().min(64);
        let is_large = line[..path_end]
            .windows(LARGE.len())
            .any(|window| window == LARGE);
        self.lines.push((is_large, ms));
    }

    fn outcome(&self, name: &str) -> Result<Outcome> {
        let large = self.lines.iter().filter(|(is_large, _)| *is_large).count();
        let small = self.lines.len() - large;
        ensure!(large > 1 && small > 0, "{name} prints {large} and {small} lines");
        let of = |is_large: bool| {
            self.lines
                .iter()
                .enumerate()
                .filter(move |(_, line)| line.0 == is_large)
        };
        let middle = of(true).nth(large / 2).map_or(0, |(at, _)| at);
        let late = of(false).filter(|(at, _)| *at > middle).count();
        let last = of(false).next_back().map_or(f64::NAN, |(_, line)| line.1);
        Ok(Outcome::verified(vec![
            late as f64,
            last,
            self.lines[middle].1,
            self.end_ms,
            small as f64,
            large as f64,
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_behind_the_middle_of_the_large_one_are_counted() {
        let mut arrivals = Arrivals::default();
        let lines = [
            "K/a:x\n",
            "K/large.log:x\n",
            "K/b:x\n",
            "K/large.log:x\n",
            "K/large.log:x\n",
            "K/c:x\n",
        ];
        for (at, line) in lines.iter().enumerate() {
            arrivals.add(line.as_bytes(), at as f64);
        }
        assert_eq!(
            arrivals.outcome("x").unwrap().measured[..5],
            [1.0, 5.0, 3.0, 0.0, 3.0]
        );
        assert!(Arrivals::default().outcome("x").is_err());
    }
}
