//! The tables of memory: the peak of each program's process, and its open files.

use anyhow::Result;

use super::Setup;
use super::corpus::{Corpus, RARE};
use super::launch::How;
use super::part::{Made, Part};
use super::table::{SIZES, Table};
use super::verify::Same;
use crate::target::{Of, Target};
use crate::workload::Workload;

/// 4 × 2 buffers of 256 KiB, and 64 MiB.
const PEAK_MIB: f64 = 66.0;
const FILES: f64 = 256.0;
/// Place of the column of open files.
const FILES_COLUMN: usize = 1;
const ROUNDS: usize = 3;

/// Findings of the last are more than a million.
const SEARCHES: &[(Corpus, &[&str])] = &[
    (Corpus::ManyInOne, &["-e", RARE]),
    (Corpus::ManyInFolders, &["-e", RARE]),
    (Corpus::ManyInOne, &["--sort", "path", "-e", RARE]),
    (Corpus::Log, &["-e", ":"]),
    (Corpus::Log, &["--sort", "path", "-e", ":"]),
    (Corpus::LongLine, &["-c", "-e", RARE]),
    (Corpus::ManyInFolders, &["--sort", "path", "-e", "e"]),
    (Corpus::Sparse, &["-c", "-e", RARE]),
    (Corpus::SparseAlone, &["-c", "-e", RARE]),
];

pub(super) fn parts() -> Vec<Part> {
    let part = |&(corpus, flags): &(Corpus, &'static [&'static str])| {
        Part::new("memory", corpus, move |setup: &Setup| make(setup, corpus, flags))
    };
    SEARCHES.iter().map(part).collect()
}

fn make(setup: &Setup, corpus: Corpus, flags: &[&str]) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(corpus)? else {
        return Ok(None);
    };
    let words: Vec<&str> = flags.iter().copied().filter(|word| *word != "-e").collect();
    let label = format!("`{}`, {}", words.join(" "), place.label);
    let workload = Workload::new(
        format!("memory, {label}"),
        "The peak of the process's resident memory, and of open files, looked at a thousand times a second.",
    )
    .pivot("memory", "search", label, &[])
    .columns(SIZES)
    .rounds_max(ROUNDS)
    .targets([
        Target::at_most(PEAK_MIB, Of::Number(1.0)),
        Target::at_most(FILES, Of::Number(1.0)).column(FILES_COLUMN),
    ]);
    let mut table = Table::new(workload, setup.both(flags, &place));
    table.how = How::Watched;
    // Its first byte is a NUL, and a file that is not named ends there.
    table.finds = corpus != Corpus::Sparse;
    if flags.contains(&"--sort") {
        table.same = Same::Bytes;
    }
    Ok(Some(Made::Table(table)))
}
