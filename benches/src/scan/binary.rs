//! Outputs without binary files.
//!
//! ripgrep prints matches of a binary file until its buffer has a NUL, and the buffer keeps the size
//! to which a long line of another file has let it grow. So what it prints of such a file depends on
//! the files before it, and with two threads on chance. Files that have a NUL, or that either program
//! calls binary, are taken out of both outputs before these are compared once more. Those without a
//! match are in the sum of bytes alone, which is taken out as well.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::corpus::{Place, for_each_file};

/// A text in UTF-16 begins so, and its NULs make it no binary file.
const UTF16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Longer files are not looked into.
const LENGTH_MAX: u64 = 64 << 20;

const WARNINGS: [&[u8]; 2] = [
    b": WARNING: stopped searching binary file",
    b": binary file matches",
];
/// Stands between the lines of a binary file as well, and names none.
const BETWEEN_GROUPS: &[u8] = b"--\n";
const JSON_END: &[u8] = b"{\"type\":\"end\"";
const JSON_SUMMARY: &[u8] = b"\"type\":\"summary\"";
/// Cannot be in a JSON string, whose quotes have a backslash.
const JSON_SEARCHED: &[u8] = b"\"bytes_searched\":";
const JSON_PATH: &[u8] = b"\"path\":{";
const JSON_TEXT: &[u8] = b"\"path\":{\"text\":\"";
const JSON_NOT_BINARY: &[u8] = b"\"binary_offset\":null";

/// The files below `place` that have a NUL, as text and JSON name them.
pub(super) fn with_nul(place: &Place) -> Result<BTreeSet<Vec<u8>>> {
    let mut found = BTreeSet::new();
    for_each_file(&place.whole(), &|_| true, &mut |path| {
        let status = fs::symlink_metadata(path)?;
        if status.is_file() && status.len() <= LENGTH_MAX && has_nul(path)? {
            let name = path.strip_prefix(&place.folder).context("it lies there")?;
            let name = name.as_os_str().as_bytes();
            found.insert(name.to_vec());
            found.insert([JSON_TEXT, name].concat());
        }
        Ok(())
    })?;
    Ok(found)
}

fn has_nul(path: &Path) -> Result<bool> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(!UTF16_MARKS.iter().any(|mark| bytes.starts_with(mark)) && bytes.contains(&0))
}

/// Both without the files that have a NUL or that either calls binary, and without what their sums
/// say of these.
pub(super) fn left_out(outputs: [&[u8]; 2], with_nul: &BTreeSet<Vec<u8>>) -> [Vec<u8>; 2] {
    let called = outputs.iter().flat_map(|output| names(output));
    let binary: BTreeSet<&[u8]> = with_nul.iter().map(Vec::as_slice).chain(called).collect();
    let is_left = |line: &&[u8]| match path(line) {
        Some(path) => !binary.contains(path),
        // Sums over all files.
        None if find(line, JSON_SUMMARY).is_some() => binary.is_empty(),
        None if *line == BETWEEN_GROUPS => binary.is_empty(),
        None => !binary.iter().any(|path| {
            let rest = line.strip_prefix(*path);
            rest.is_some_and(|rest| matches!(rest.first(), Some(b':' | b'-')))
        }),
    };
    outputs.map(|output| {
        let left = lines(output).filter(is_left).map(|line| {
            if find(line, JSON_SUMMARY).is_some() {
                without_searched(line)
            } else {
                line.to_vec()
            }
        });
        left.flatten().collect()
    })
}

/// JSON with its numbers of searched bytes as nothing.
pub(super) fn without_searched(output: &[u8]) -> Vec<u8> {
    let mut rest = output;
    let mut left = Vec::with_capacity(output.len());
    while let Some(at) = find(rest, JSON_SEARCHED) {
        let (before, number) = rest.split_at(at + JSON_SEARCHED.len());
        let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
        left.extend_from_slice(before);
        rest = &number[digits..];
    }
    left.extend_from_slice(rest);
    left
}

fn names(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines(output).filter_map(|line| {
        if line.starts_with(JSON_END) {
            return path(line).filter(|_| find(line, JSON_NOT_BINARY).is_none());
        }
        let at = WARNINGS.iter().find_map(|warning| find(line, warning))?;
        Some(&line[..at])
    })
}

/// That of a line of JSON, as it stands there.
fn path(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_prefix(b"{\"")?;
    let rest = &line[find(line, JSON_PATH)?..];
    let end = find(rest, b"\"}")?;
    Some(&rest[..end])
}

fn lines(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split_inclusive(|byte| *byte == b'\n')
}

pub(super) fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let (first, _) = what.split_first()?;
    let mut at = 0;
    while at + what.len() <= text.len() {
        at += text[at..].iter().position(|byte| byte == first)?;
        if text[at..].starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_one_calls_binary_are_left_out_of_both() {
        let none = BTreeSet::new();
        let one = b"a:x\nb:x\nb: WARNING: stopped searching binary file after match (found)\nbc:x\n";
        let left = left_out([one, b"a:x\nbc:x\n"], &none);
        assert_eq!(left, [b"a:x\nbc:x\n"; 2]);
        let groups = b"a:x\nb:x\n--\nb:y\n--\nb: binary file matches (found)\n--\n";
        assert_eq!(left_out([groups, b"a:x\n--\n"], &none), [b"a:x\n"; 2]);
        let left = left_out([b"a:x\n", b"b:x\n"], &none);
        assert_eq!(left, [b"a:x\n", b"b:x\n"]);
        let left = left_out([b"a:x\n", b"b:x\n"], &BTreeSet::from([b"b".to_vec()]));
        assert_eq!(left, [&b"a:x\n"[..], b""]);
    }

    #[test]
    fn the_same_in_json() {
        let file = |name: &str, offset: &str| {
            format!(
                "{{\"type\":\"begin\",\"data\":{{\"path\":{{\"text\":\"{name}\"}}}}}}\n{{\"type\":\"end\",\"data\":{{\"path\":\
                 {{\"text\":\"{name}\"}},\"binary_offset\":{offset}}}}}\n"
            )
        };
        let one = file("a", "7") + &file("b", "null") + "{\"data\":{},\"type\":\"summary\"}\n";
        let left = left_out([one.as_bytes(), b""], &BTreeSet::new());
        assert_eq!(left, [file("b", "null").into_bytes(), Vec::new()]);
    }

    #[test]
    fn the_sum_of_bytes_is_left_out_and_no_other() {
        let end = r#"{"type":"end","data":{"stats":{"bytes_searched":7,"matches":1}}}"#;
        let sum = |bytes, matches| {
            format!(
                "{end}\n{{\"data\":{{\"stats\":{{\"bytes_searched\":{bytes},\"matches\":{matches}}}}},\"type\":\"summary\"}}\n"
            )
        };
        let none = BTreeSet::new();
        let [one, two] = left_out([sum(10, 1).as_bytes(), sum(23, 1).as_bytes()], &none);
        assert_eq!(one, two);
        assert!(find(&one, b"\"bytes_searched\":7,").is_some());
        let [one, two] = left_out([sum(10, 1).as_bytes(), sum(10, 2).as_bytes()], &none);
        assert_ne!(one, two);
        assert_eq!(
            without_searched(b"a \"bytes_searched\":12}"),
            b"a \"bytes_searched\":}"
        );
    }

    #[test]
    fn files_with_a_nul_are_named_as_both_formats_name_them() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        write("text", b"a");
        write("binary", b"a\0");
        write("utf-16", b"\xff\xfea\0");
        let place = Place {
            folder: folder.path().to_owned(),
            path: String::new(),
            label: String::new(),
        };
        let names = ["\"path\":{\"text\":\"binary", "binary"];
        let names = names.map(|name| name.as_bytes().to_vec());
        assert_eq!(with_nul(&place).unwrap(), BTreeSet::from(names));
    }

    #[test]
    fn a_part_is_found_at_its_first_place() {
        assert_eq!(find(b"aab-ab", b"ab"), Some(1));
        assert_eq!(find(b"aa", b"ab"), None);
        assert_eq!(find(b"", b"ab"), None);
    }
}
