//! Before a table counts: all of its programs print the same.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};

use super::binary;
use super::digest::Sum;
use super::launch::{self, How, Invocation, Ran};

/// Bytes of an output that is looked into for the difference.
const LOOKED_INTO: u64 = 512 << 20;
/// Lines of a difference that are told, of each side.
const TOLD: usize = 3;
const TOLD_CHARS: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Same {
    /// The sorted lines.
    Lines,
    Bytes,
    /// Nothing is compared.
    Nothing,
}

/// What a row prints, and whether that depends on chance: of binary files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verified {
    sum: Sum,
    has_binary: bool,
}

/// In each thousand bytes of an output with binary files, those that may be more or less.
const BYTES_APART: u64 = 1;

impl Verified {
    pub(super) fn is(&self, sum: &Sum) -> bool {
        let apart = self.sum.bytes.abs_diff(sum.bytes);
        self.sum == *sum || self.has_binary && apart * 1_000 <= self.sum.bytes * BYTES_APART
    }
}

/// What each prints.
///
/// Fails if one prints something else than the first, or nothing at all although it `finds`: then
/// nothing is searched.
pub(super) fn verify(all: &[(&str, Invocation)], same: Same, finds: bool) -> Result<Vec<Verified>> {
    let mut rans: Vec<Ran> = Vec::new();
    let mut has_binary = false;
    for (name, invocation) in all {
        let ran = launch::run(invocation, How::Hashed)?.checked(name)?;
        ensure!(
            ran.sum.bytes > 0 || !finds,
            "{name} finds nothing: {}",
            invocation.words()
        );
        if let Some(first) = rans.first() {
            let hash = |ran: &Ran| match same {
                Same::Lines => ran.hashes.map(|hashes| hashes.of_lines),
                Same::Bytes => ran.hashes.map(|hashes| hashes.in_order),
                Same::Nothing => None,
            };
            if hash(&ran) != hash(first) {
                let (first_name, first_call) = &all[0];
                let bytes = ran.sum.bytes + first.sum.bytes;
                match difference(first_call, invocation, same, bytes)? {
                    Some(difference) => bail!("{name} prints something else than {first_name}: {difference}"),
                    None => has_binary = true,
                }
            }
        }
        rans.push(ran);
    }
    let verified = |ran: Ran| Verified {
        sum: ran.sum,
        has_binary,
    };
    Ok(rans.into_iter().map(verified).collect())
}

/// `None` if there is one in binary files only.
fn difference(first: &Invocation, second: &Invocation, same: Same, bytes: u64) -> Result<Option<String>> {
    if bytes > LOOKED_INTO {
        return Ok(Some("it is too long to be looked into".to_owned()));
    }
    let [first, second] = [first, second].map(|invocation| invocation.command().output());
    let outputs = [first?.stdout, second?.stdout];
    let [first, second] = binary::left_out([&outputs[0], &outputs[1]], &BTreeSet::new());
    let sorted = |output: &[u8]| {
        let mut lines: Vec<Vec<u8>> = output
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        lines.sort_unstable();
        lines
    };
    let is_same = match same {
        Same::Bytes => first == second,
        _ => first == second || sorted(&first) == sorted(&second),
    };
    Ok((!is_same).then(|| lines_apart(&first, &second)))
}

/// The first lines that one of the two has and the other has not, or not as often.
fn lines_apart(first: &[u8], second: &[u8]) -> String {
    let mut counts: BTreeMap<&[u8], i64> = BTreeMap::new();
    for line in first.split_inclusive(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() += 1;
    }
    for line in second.split_inclusive(|byte| *byte == b'\n') {
        *counts.entry(line).or_default() -= 1;
    }
    let side = |sign: i64, called: &str| {
        let lines = counts.iter().filter(|(_, count)| count.signum() == sign);
        let told = lines.clone().take(TOLD).map(|(line, _)| shown(line));
        let told = told.collect::<Vec<_>>().join(", ");
        (!told.is_empty()).then(|| format!("{} lines {called} ({told})", lines.count()))
    };
    let sides = [side(1, "are missing"), side(-1, "are more")];
    match sides.into_iter().flatten().collect::<Vec<_>>().as_slice() {
        [] => "the same lines in another order".to_owned(),
        sides => sides.join(", "),
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text: String = text.trim_end().chars().take(TOLD_CHARS).collect();
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_apart_are_told_from_both_sides() {
        let told = lines_apart(b"one\ntwo\ntwo\n", b"two\nthree\n");
        assert_eq!(
            told,
            "2 lines are missing (\"one\", \"two\"), 1 lines are more (\"three\")"
        );
        assert_eq!(
            lines_apart(b"a\nb\n", b"b\na\n"),
            "the same lines in another order"
        );
    }
}
