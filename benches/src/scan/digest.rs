//! What a program printed, as numbers: a cheap sum for runs with the clock on, hashes for the run
//! that verifies.
//!
//! Threads print files in any order. So the sum does not depend on the order of bytes, and of the
//! hashes one is that of all bytes in order, the other the sum of the hashes of all lines: two
//! outputs with the same sum have the same lines when sorted.

use std::hash::{DefaultHasher, Hasher as _};

use serde::{Deserialize, Serialize};

/// Bytes summed in 32 bits before they are carried over: `255² × 4,096` fits.
const PART: usize = 4_096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    /// Ends of lines.
    pub(super) lines: u64,
    values: u64,
    squares: u64,
}

impl Sum {
    pub(super) fn add(&mut self, block: &[u8]) {
        for part in block.chunks(PART) {
            let (mut values, mut squares, mut lines) = (0_u32, 0_u32, 0_u32);
            for &byte in part {
                let value = u32::from(byte);
                values += value;
                squares += value * value;
                lines += u32::from(byte == b'\n');
            }
            self.values += u64::from(values);
            self.squares += u64::from(squares);
            self.lines += u64::from(lines);
        }
        self.bytes += block.len() as u64;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hashes {
    pub(super) in_order: u64,
    pub(super) of_lines: u64,
}

#[derive(Default)]
pub(super) struct Hashing {
    all: DefaultHasher,
    line: DefaultHasher,
    is_in_line: bool,
    of_lines: u64,
}

impl Hashing {
    pub(super) fn add(&mut self, block: &[u8]) {
        self.all.write(block);
        for part in block.split_inclusive(|byte| *byte == b'\n') {
            self.line.write(part);
            self.is_in_line = true;
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    pub(super) fn finish(mut self) -> Hashes {
        if self.is_in_line {
            self.end_line();
        }
        Hashes {
            in_order: self.all.finish(),
            of_lines: self.of_lines,
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line).finish();
        self.of_lines = self.of_lines.wrapping_add(line);
        self.is_in_line = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(blocks: &[&str]) -> Sum {
        let mut sum = Sum::default();
        blocks.iter().for_each(|block| sum.add(block.as_bytes()));
        sum
    }

    fn hashes(blocks: &[&str]) -> Hashes {
        let mut hashing = Hashing::default();
        blocks.iter().for_each(|block| hashing.add(block.as_bytes()));
        hashing.finish()
    }

    #[test]
    fn the_sum_is_that_of_the_bytes_in_any_order_and_blocks() {
        let text = "one\ntwo\n".repeat(3_000);
        assert_eq!(sum(&[&text]), sum(&[&text[..5_000], &text[5_000..]]));
        assert_eq!(sum(&["one\ntwo\n"]), sum(&["two\none\n"]));
        assert_eq!((sum(&[&text]).bytes, sum(&[&text]).lines), (24_000, 6_000));
        assert_ne!(sum(&["one\n"]), sum(&["onf\n"]));
        assert_ne!(sum(&["ad"]), sum(&["bc"]), "the squares differ");
    }

    #[test]
    fn the_hash_of_lines_is_that_of_the_sorted_lines() {
        let first = hashes(&["one\ntw", "o\n"]);
        assert_eq!(first, hashes(&["one\ntwo\n"]));
        let other = hashes(&["two\none\n"]);
        assert_eq!(first.of_lines, other.of_lines);
        assert_ne!(first.in_order, other.in_order);
        for different in [&["one\n"][..], &["one\ntwo"], &["one\ntwo\ntwo\n"]] {
            assert_ne!(first.of_lines, hashes(different).of_lines, "{different:?}");
        }
    }
}
