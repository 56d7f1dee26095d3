//! Lines by seed: those of a log, and a few words for a small file.
//!
//! No word has five letters, so that a pattern of three such words finds only what is put in.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Result;

use crate::random::Random;

/// A literal that is in one line of a million.
pub(in crate::scan) const RARE: &str = "bikeshed";
/// A word that is in about one line of each MiB, and in each small file beside a large one.
pub(in crate::scan) const CHECKPOINT: &str = "checkpoint";

const LENGTH_MIN: u64 = 20;
const LENGTH_MAX: u64 = 400;
const SEED: u64 = 0x5eed_0001;

const WORDS: [&str; 40] = [
    "a",
    "at",
    "the",
    "for",
    "not",
    "was",
    "with",
    "from",
    "open",
    "read",
    "node",
    "path",
    "disk",
    "page",
    "user",
    "job",
    "server",
    "client",
    "socket",
    "thread",
    "worker",
    "buffer",
    "parsed",
    "closed",
    "waited",
    "begins",
    "request",
    "session",
    "missing",
    "started",
    "expired",
    "changed",
    "response",
    "retrying",
    "finished",
    "partition",
    "scheduled",
    "operation",
    "connection",
    "12",
];

/// Lines for each one with a thing put in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    rare: u64,
    checkpoint: u64,
    five_letters: u64,
}

pub(super) const LOG: Lines = Lines {
    rare: 1_000_000,
    checkpoint: 5_000,
    five_letters: 1_000,
};

/// A log of at least `bytes`: 79 % of the lines are at level `INFO`, 20 % `DEBUG`, 1 % `ERROR`.
pub(super) fn log(path: &Path, bytes: u64, lines: Lines) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create_new(path)?);
    let mut random = Random::new(SEED);
    let (mut line, mut written, mut number) = (Vec::new(), 0, 0);
    while written < bytes {
        log_line(&mut line, number, &mut random, lines);
        out.write_all(&line)?;
        written += line.len() as u64;
        number += 1;
    }
    Ok(out.flush()?)
}

fn log_line(line: &mut Vec<u8>, number: u64, random: &mut Random, lines: Lines) {
    line.clear();
    let second = number / 100 % 86_400;
    for part in [second / 3_600, second / 60 % 60, second % 60] {
        line.extend([b'0' + (part / 10) as u8, b'0' + (part % 10) as u8, b':']);
    }
    line.pop();
    let level = match random.below(100) {
        0..79 => " INFO ",
        79..99 => " DEBUG ",
        _ => " ERROR ",
    };
    line.extend(level.as_bytes());
    let put_in = |line: &mut Vec<u8>, every: u64, text: &str| {
        // From the eighth line on, so that a small log has all of them.
        if number % every == 7 {
            line.extend(text.as_bytes());
            line.push(b' ');
        }
    };
    put_in(line, lines.rare, RARE);
    put_in(line, lines.checkpoint, CHECKPOINT);
    put_in(line, lines.five_letters, "every value again");
    let length = random.below(LENGTH_MAX - LENGTH_MIN + 1) + LENGTH_MIN;
    words(line, length as usize - 1, random);
    line.push(b'\n');
}

/// Adds words until `line` has `length` bytes; longer lines stay.
fn words(line: &mut Vec<u8>, length: usize, random: &mut Random) {
    let fixed = line.len();
    while line.len() < length {
        line.extend(random.pick(&WORDS).as_bytes());
        line.push(b' ');
    }
    line.truncate(length.max(fixed));
}

/// `bytes` of words in lines.
pub(super) fn small(bytes: u64, random: &mut Random) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes as usize + 16);
    while text.len() < bytes as usize {
        text.extend(random.pick(&WORDS).as_bytes());
        text.push(if random.below(10) == 0 { b'\n' } else { b' ' });
    }
    text.truncate(bytes as usize);
    if let Some(last) = text.last_mut() {
        *last = b'\n';
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_lines_of_all_kinds_in_their_shares() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        log(&path, 4_000_000, LOG).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let share = |word: &str| {
            let with = lines.iter().filter(|line| line.contains(word)).count();
            (with * 1_000).div_ceil(lines.len())
        };
        assert!((775..=805).contains(&share("INFO")), "{}", share("INFO"));
        assert!((5..=15).contains(&share("ERROR")), "{}", share("ERROR"));
        assert_eq!(
            [share(RARE), share(CHECKPOINT), share("every value again")],
            [1, 1, 2]
        );
        assert!(lines.iter().all(|line| (14..=400).contains(&line.len())));
        assert!(lines.iter().any(|line| line.len() > 390) && lines.iter().any(|line| line.len() < 25));
        let five = text.split_whitespace().filter(|word| word.len() == 5);
        let five: std::collections::BTreeSet<&str> = five.collect();
        assert!(five.contains("again") && five.contains("ERROR"), "{five:?}");
    }

    #[test]
    fn a_small_file_has_its_size_and_ends_with_a_line() {
        let mut random = Random::new(1);
        for bytes in [0, 1, 7, 200] {
            let text = small(bytes, &mut random);
            assert_eq!(text.len() as u64, bytes);
            assert!(bytes == 0 || text.ends_with(b"\n"));
        }
    }
}
