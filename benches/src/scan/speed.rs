//! The tables of speed: one search each, on one corpus, with its aim beside ripgrep.

use anyhow::Result;

use super::Setup;
use super::corpus::{self, CHAIN, Corpus, RARE};
use super::floor::{self, FLOOR};
use super::part::{Made, Part};
use super::program::{OURS, PEER};
use super::table::{Line, REACHED, TIMES, Table};
use super::verify::Same;
use crate::THREADS;
use crate::contender::Role;
use crate::target::{Of, Target};
use crate::workload::Workload;

use Corpus::{Beside, Documents, Hundred, Log, LogRead, ManyInFolders, ManyInOne, Registry};

/// A line of the table of aims.
#[derive(Clone, Copy, Debug)]
struct Search {
    what: &'static str,
    flags: &'static [&'static str],
    /// What GNU grep and ugrep are called with; nothing if they cannot do it.
    grep: &'static [&'static str],
    /// The greatest ratio of our time to ripgrep's.
    on: &'static [(Corpus, f64)],
}

const RARE_LITERAL: &[&str] = &["-e", RARE];
const WORDS: &str = "bikeshed|thundering|spurious|livelock|PhantomPinned";
const NO_LITERAL: &str = r"\w{5}\s+\w{5}\s+\w{5}";

const SEARCHES: &[Search] = &[
    Search {
        what: "files",
        flags: &["--files"],
        grep: &[],
        on: &[
            (Registry, 0.6),
            (Documents, 0.75),
            (ManyInOne, 0.6),
            (ManyInFolders, 0.6),
        ],
    },
    Search {
        what: "rare literal",
        flags: RARE_LITERAL,
        grep: &["-rI", "-e", RARE],
        on: &[
            (Registry, 0.9),
            (Documents, 0.8),
            (ManyInOne, 0.8),
            (ManyInFolders, 0.8),
            (Log, 0.6),
            (LogRead, 0.6),
            (Beside, 0.7),
        ],
    },
    Search {
        what: "word",
        flags: &["-w", "-e", "use"],
        grep: &["-rIw", "-e", "use"],
        on: &[(Registry, 0.6), (Documents, 0.75)],
    },
    Search {
        what: "five words",
        flags: &["-e", WORDS],
        grep: &["-rIE", "-e", WORDS],
        on: &[(Registry, 0.9), (Documents, 0.8)],
    },
    Search {
        what: "literal in any case",
        flags: &["-i", "-e", RARE],
        grep: &["-rIi", "-e", RARE],
        on: &[(Registry, 0.95), (Documents, 0.8)],
    },
    Search {
        what: "no literal",
        flags: &["-e", NO_LITERAL],
        grep: &["-rIE", "-e", NO_LITERAL],
        on: &[(Registry, 0.9), (Documents, 0.75), (Log, 0.55)],
    },
    Search {
        what: "count of e",
        flags: &["-c", "-e", "e"],
        grep: &["-rIc", "-e", "e"],
        on: &[(Registry, 0.7), (Documents, 0.4)],
    },
    Search {
        what: "count of 79 % of the lines",
        flags: &["-c", "-e", "INFO"],
        grep: &["-c", "-e", "INFO"],
        on: &[(Log, 0.6)],
    },
    Search {
        what: "1 % of the lines, numbered",
        flags: &["-n", "-e", "ERROR"],
        grep: &["-n", "-e", "ERROR"],
        on: &[(Log, 0.65), (LogRead, 0.65)],
    },
];

/// With `--sort path`.
const SORTED: &[Search] = &[
    Search {
        what: "rare literal, sorted",
        flags: &["-e", RARE],
        grep: &[],
        on: &[(Registry, 0.5), (Documents, 0.5)],
    },
    Search {
        what: "word, sorted",
        flags: &["-w", "-e", "use"],
        grep: &[],
        on: &[(Registry, 0.4), (Documents, 0.45)],
    },
];

const COLD: f64 = 1.05;
const COLD_ROUNDS: usize = 3;
/// More than ripgrep's time for a small tree: a process starts and ends.
const HUNDRED_MORE_MS: f64 = 2.0;
const HUNDRED_RUNS: usize = 20;
/// Of our time without an order.
const SORTED_OF_UNSORTED: f64 = 1.1;
const TWO_OF_ONE: f64 = 1.85;
const GREP_ROUNDS: usize = 2;
const OURS_UNSORTED: &str = "windlass, unsorted";
const OURS_ONE: &str = "windlass, 1 thread";

pub(super) fn parts() -> Vec<Part> {
    let mut parts = Vec::new();
    for search in SEARCHES {
        for &(corpus, aim) in search.on {
            let make = move |setup: &Setup| plain(setup, search, corpus, aim);
            parts.push(Part::new(search.what, corpus, make));
        }
    }
    parts.push(Part::new("data not in the cache", Registry, cold));
    parts.push(Part::new("small tree", Hundred, hundred));
    for search in SORTED {
        for &(corpus, aim) in search.on {
            let make = move |setup: &Setup| sorted(setup, search, corpus, aim);
            parts.push(Part::new(search.what, corpus, make));
        }
    }
    parts.push(Part::new("chain of folders", Corpus::Chain, chain));
    parts
}

fn workload(search: &str, flags: &[&str], label: &str) -> Workload {
    let words: Vec<&str> = flags.iter().copied().filter(|word| *word != "-e").collect();
    Workload::new(format!("{search}, {label}"), format!("`{}`.", words.join(" ")))
        .pivot(search, "on", label, &[])
        .columns(TIMES)
}

fn plain(setup: &Setup, search: &Search, corpus: Corpus, aim: f64) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(corpus)? else {
        return Ok(None);
    };
    match corpus {
        Log => corpus::write_anew(&place)?,
        LogRead => corpus::read_anew(&place)?,
        _ => {}
    }
    let programs = &setup.programs;
    let ours = |threads| programs.ours.search(threads, search.flags, &place);
    let peer = programs.peer.search(THREADS, search.flags, &place);
    let mut rows = vec![Line::new(OURS, Role::Ours, ours(THREADS))];
    let mut targets = vec![Target::at_most(aim, Of::Row(PEER))];
    if corpus == Log && search.flags.contains(&NO_LITERAL) {
        rows.push(Line::new(OURS_ONE, Role::Ours, ours(1)));
        targets.push(Target::as_fast(TWO_OF_ONE, Of::Row(OURS_ONE)));
    }
    rows.push(Line::new(PEER, Role::Peer, peer));
    if search.flags == RARE_LITERAL && !matches!(corpus, Log | LogRead) {
        let floor = Line::new(FLOOR, Role::Baseline, floor::call(&place)?);
        rows.push(floor.not_verified());
    }
    // Without a literal grep takes tens of seconds, and minutes for a large log.
    let is_slow = search.flags.contains(&NO_LITERAL);
    let grep_rounds = if is_slow { 1 } else { GREP_ROUNDS };
    let takes_minutes = is_slow && corpus == Log;
    if !search.grep.is_empty() && !takes_minutes {
        for (name, program) in &programs.others {
            let call = program.other(search.grep, &place);
            rows.push(
                Line::new(name, Role::Baseline, call)
                    .not_verified()
                    .slow(grep_rounds),
            );
        }
    }
    let workload = workload(search.what, search.flags, &place.label).targets(targets);
    Ok(Some(Made::Table(Table::new(workload, rows))))
}

fn cold(setup: &Setup) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(Registry)? else {
        return Ok(None);
    };
    let flags = ["-e", RARE];
    let workload = workload("data not in the cache", &flags, &place.label);
    let workload = workload
        .targets([Target::at_most(COLD, Of::Row(PEER))])
        .rounds_max(COLD_ROUNDS);
    let mut table = Table::new(workload, setup.both(&flags, &place));
    table.cold = Some(place);
    Ok(Some(Made::Table(table)))
}

fn hundred(setup: &Setup) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(Hundred)? else {
        return Ok(None);
    };
    let flags = ["-c", "-e", "e"];
    let more = Of::More {
        row: PEER,
        plus: HUNDRED_MORE_MS,
        called: "rg + 2 ms",
    };
    let workload = workload("small tree", &flags, &place.label).targets([Target::at_most(1.0, more)]);
    let mut table = Table::new(workload, setup.both(&flags, &place));
    table.runs = HUNDRED_RUNS;
    Ok(Some(Made::Table(table)))
}

fn sorted(setup: &Setup, search: &Search, corpus: Corpus, aim: f64) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(corpus)? else {
        return Ok(None);
    };
    let flags: Vec<&str> = [&["--sort", "path"], search.flags].concat();
    let mut rows = setup.both(&flags, &place);
    let unsorted = setup.programs.ours.search(THREADS, search.flags, &place);
    // The order of its lines is another; their sum is the same.
    rows.push(Line {
        is_verified: false,
        ..Line::new(OURS_UNSORTED, Role::Ours, unsorted)
    });
    let workload = workload(search.what, &flags, &place.label).targets([
        Target::at_most(aim, Of::Row(PEER)),
        Target::at_most(SORTED_OF_UNSORTED, Of::Row(OURS_UNSORTED)),
    ]);
    let mut table = Table::new(workload, rows);
    table.same = Same::Bytes;
    Ok(Some(Made::Table(table)))
}

/// Its paths are longer than the system takes in one call, so ripgrep ends before the chain does.
fn chain(setup: &Setup) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(Corpus::Chain)? else {
        return Ok(None);
    };
    let flags = ["-c", "-e", RARE];
    let length = setup.corpora.scaled(CHAIN);
    let rows = vec![
        Line::new(
            OURS,
            Role::Ours,
            setup.programs.ours.search(THREADS, &flags, &place),
        ),
        Line::new(
            PEER,
            Role::Baseline,
            setup.programs.peer.search(THREADS, &flags, &place),
        ),
    ];
    let story = format!(
        "`-c {RARE}` below {length} folders in one another, each with a hundred files of which one has the word."
    );
    let workload = Workload::new("chain of folders, C", story)
        .columns(REACHED)
        .targets([Target::at_least(length as f64, Of::Number(1.0))]);
    let mut table = Table::new(workload, rows);
    table.same = Same::Nothing;
    Ok(Some(Made::Table(table)))
}
