//! One file of ten gibibytes beside small ones, in the simulator: offsets and line numbers are beyond
//! 32 bits, and the small files wait for a chunk at most.

use std::rc::Rc;

use memchr::{memchr, memchr_iter, memmem, memrchr};
use scan::engine::{Engine, Finding, Found, Piece, Unit};
use scan::machine::Machine;
use scan::{ParallelScanConfig, RuleConfig};
use sim::{Failure, Simulation};

use crate::support::sim_files::{LINE, Long, SimFiles};
use crate::support::simulated_tree;
use crate::support::{Memory, Numbered, by_path};

const WORD: &str = "needle";

const SMALL_FILES: usize = 40;

/// Finds the word in a whole piece at once: ten gibibytes line by line take minutes.
#[derive(Clone, Debug)]
struct Fast(memmem::Finder<'static>);

impl Engine for Fast {
    type Scratch = ();

    fn unit(&self) -> Unit {
        Unit::Lines { max_line: 1 << 20 }
    }

    fn scratch(&self) {}

    fn scan(&self, piece: Piece<'_>, (): &mut (), found: &mut Found) {
        let mut counted = 0;
        for at in self.0.find_iter(piece.bytes) {
            let begin = memrchr(b'\n', &piece.bytes[..at]).map_or(0, |end| end + 1);
            let len = memchr(b'\n', &piece.bytes[at..]).map_or(piece.bytes.len(), |end| at + end + 1) - begin;
            found.lines += memchr_iter(b'\n', &piece.bytes[counted..begin]).count() as u64;
            counted = begin;
            found.findings.push(Finding {
                offset: piece.offset + begin as u64,
                line: found.lines,
                start: found.text.len(),
                len,
                matches: 0,
            });
            found.text.extend_from_slice(&piece.bytes[begin..begin + len]);
            found.found += 1;
        }
        found.lines += memchr_iter(b'\n', &piece.bytes[counted..]).count() as u64;
        found.bytes += piece.bytes.len() as u64;
    }
}

fn scan(simulation: Simulation, lines: u64) -> Result<(), Failure> {
    let seed = simulation.seed();
    let workers = 2 + (seed % 2) as usize;
    let files = SimFiles::new(seed, 0, 1);
    files.dir("/tree");
    let long = Long {
        lines,
        word: WORD,
        with_word: vec![0, lines / 3, lines / 2, lines - 1],
    };
    files.long_file("/tree/0", long.clone());
    for number in 1..=SMALL_FILES {
        files.file(&format!("/tree/{number}"), format!("{WORD}\n"));
    }
    let mut config = ParallelScanConfig::with_workers(workers);
    config.rules = RuleConfig::default().without_ignore_files();
    config.sort = seed % 4 == 3;
    let machine = Machine::tree(
        files,
        Fast(memmem::Finder::new(WORD)),
        &config,
        Memory::new(Numbered::default()),
    );
    let machine = Rc::new(machine);
    let nothing = || {};
    let (report, summary) = simulated_tree::run(simulation, workers, &machine, "/tree", nothing, nothing)?;
    let taken = machine.sink().take();
    let found = by_path(&taken.bytes);
    let expected: String = long
        .with_word
        .iter()
        .map(|line| {
            let rest = ".".repeat(LINE as usize - 1 - WORD.len());
            format!("/tree/0:{}:{}:{WORD}{rest}\n", line + 1, line * LINE)
        })
        .collect();
    let found_in_long = String::from_utf8_lossy(&found["/tree/0"]);
    let is_whole = summary.as_ref().is_ok_and(|summary| {
        summary.with_findings == SMALL_FILES as u64 + 1 && found.len() == SMALL_FILES + 1
    });
    report.ensure(is_whole && found_in_long == expected, || {
        format!(
            "{summary:?}, {} with findings, found {found_in_long}, expected {expected}",
            found.len()
        )
    })?;
    Ok(())
}

#[test]
fn a_line_beyond_four_gibibytes_has_its_number_and_offset_under_every_schedule() {
    // The word's places are the same fractions of a smaller file, for more schedules.
    Simulation::new(0).check(0..20, |simulation| scan(simulation, (64 << 20) / LINE));
    Simulation::new(0).check(20..21, |simulation| scan(simulation, (10 << 30) / LINE));
}
