//! Unified diffs, applied in memory: the context must occur exactly, and once in the file.
//!
//! Line numbers are ignored.

use anyhow::{Context as _, bail, ensure};

#[derive(Debug)]
pub(crate) struct FileDiff {
    pub(crate) path: String,
    hunks: Vec<Hunk>,
}

#[derive(Debug, Default)]
struct Hunk {
    old: Vec<String>,
    new: Vec<String>,
}

pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<FileDiff>> {
    let mut files: Vec<FileDiff> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix("--- a/") {
            let same = lines.next().and_then(|line| line.strip_prefix("+++ b/"));
            ensure!(same == Some(path), "`--- a/{path}` lacks its `+++ b/{path}`");
            files.push(FileDiff {
                path: path.to_owned(),
                hunks: Vec::new(),
            });
            continue;
        }
        let (old, new) =
            lengths(line).with_context(|| format!("`{line}` begins neither a file nor a hunk"))?;
        let mut hunk = Hunk::default();
        while hunk.old.len() < old || hunk.new.len() < new {
            let line = lines
                .next()
                .with_context(|| format!("a hunk ends before its {old} and {new} lines"))?;
            let (mark, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            match mark {
                " " => {
                    hunk.old.push(rest.to_owned());
                    hunk.new.push(rest.to_owned());
                }
                "-" => hunk.old.push(rest.to_owned()),
                "+" => hunk.new.push(rest.to_owned()),
                _ => bail!("`{line}` is no line of a hunk"),
            }
        }
        ensure!(
            hunk.old.len() == old && hunk.new.len() == new,
            "a hunk has more lines than it says"
        );
        ensure!(hunk.old != hunk.new, "a hunk changes nothing");
        files.last_mut().context("a hunk has no file")?.hunks.push(hunk);
    }
    ensure!(!files.is_empty(), "the diff is empty");
    ensure!(
        files.iter().all(|file| !file.hunks.is_empty()),
        "a file has no hunks"
    );
    Ok(files)
}

fn lengths(line: &str) -> Option<(usize, usize)> {
    let (old, new) = line.strip_prefix("@@ -")?.split_once(" @@")?.0.split_once(" +")?;
    let length = |range: &str| {
        range
            .split_once(',')
            .map_or(Some(1), |(_, length)| length.parse().ok())
    };
    Some((length(old)?, length(new)?))
}

impl FileDiff {
    pub(crate) fn apply(&self, text: &str) -> anyhow::Result<String> {
        let lines: Vec<&str> = text.split('\n').collect();
        let mut applied: Vec<&str> = Vec::new();
        let mut done = 0;
        for (number, hunk) in self.hunks.iter().enumerate() {
            let places: Vec<usize> = (done..lines.len())
                .filter(|&at| {
                    lines[at..].len() >= hunk.old.len() && lines[at..at + hunk.old.len()] == hunk.old
                })
                .collect();
            let [at] = places[..] else {
                let (number, path) = (number + 1, &self.path);
                bail!(
                    "the lines of hunk {number} are in {} places of {path}",
                    places.len()
                );
            };
            applied.extend(&lines[done..at]);
            applied.extend(hunk.new.iter().map(String::as_str));
            done = at + hunk.old.len();
        }
        applied.extend(&lines[done..]);
        Ok(applied.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\ntwo\n\nthree\nfour\nfive\nsix\n";
    const DIFF: &str =
        "--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n \n@@ -5,2 +5,1 @@ fn\n five\n-six\n";

    fn apply(diff: &str, text: &str) -> anyhow::Result<String> {
        parse(diff)?[0].apply(text)
    }

    #[test]
    fn a_diff_applies_wherever_its_lines_have_moved() {
        assert_eq!(apply(DIFF, TEXT).unwrap(), "one\n2\n\nthree\nfour\nfive\n");
        let moved = format!("new\nnewer\n{}", TEXT.replace("three", "3\n3"));
        assert_eq!(
            apply(DIFF, &moved).unwrap(),
            "new\nnewer\none\n2\n\n3\n3\nfour\nfive\n"
        );
    }

    #[test]
    fn a_diff_whose_context_has_changed_or_is_there_twice_does_not_apply() {
        for text in [
            TEXT.replace("one", "one "),
            TEXT.replace("two", "to"),
            TEXT.replace("five\n", "five\n\n"),
            format!("{TEXT}five\nsix\n"),
            "five\nsix\none\ntwo\n\n".to_owned(),
            String::new(),
        ] {
            assert!(apply(DIFF, &text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_diff_is_refused() {
        for wrong in [
            "",
            "--- a/a.rs\n+++ b/a.rs\n",
            "--- a/a.rs\n+++ b/b.rs\n@@ -1 +1 @@\n-a\n+b\n",
            "@@ -1 +1 @@\n-a\n+b\n",
            "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n a\n",
            "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n-a\n+b\n",
            "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n+b\n-c\n",
            "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
