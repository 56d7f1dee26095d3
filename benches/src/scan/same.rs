//! Byte for byte what ripgrep prints, by flags, as text and as JSON, with `--sort path`.

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};

use anyhow::Result;
use nix::unistd::geteuid;

use super::Setup;
use super::binary::{self, find};
use super::corpus::{Corpus, Place};
use super::launch::Invocation;
use super::part::{Made, Part};
use super::program::OURS;
use crate::THREADS;
use crate::report::Report;
use crate::target::Verdict;

/// A user who may not read everything, where this process runs as one who may.
const NOBODY: u32 = 65_534;
const TOLD_CHARS: usize = 160;

/// Flags, and whether they have a form in JSON.
const COMBINATIONS: &[(&[&str], bool)] = &[
    (&["needle"], true),
    (&["-n", "needle"], true),
    (&["-N", "needle"], true),
    (&["-i", "needle"], true),
    (&["-S", "needle"], true),
    (&["-S", "Needle"], true),
    (&["-F", "needle."], true),
    (&["-w", "needle"], true),
    (&["-x", "needle"], true),
    (&["-v", "-m", "3", "e"], true),
    (&["-v", "-c", "e"], false),
    (&["-o", "needle"], true),
    (&["-o", "-n", "--column", r"\w+ needle"], true),
    (&["-c", "needle"], false),
    (&["--count-matches", "needle"], false),
    (&["-l", "needle"], false),
    (&["--files-without-match", "needle"], false),
    (&["-q", "needle"], false),
    (&["--files"], false),
    (&["--files", "--hidden"], false),
    (&["--files", "--no-ignore"], false),
    (&["--files", "-L"], false),
    (&["--files", "-g", "*.rs"], false),
    (&["--files", "-g", "!*.txt"], false),
    (&["--files", "-t", "rust"], false),
    (&["--files", "-T", "rust"], false),
    (&["--files", "--max-filesize", "1K"], false),
    (&["-m", "1", "needle"], true),
    (&["-m", "2", "-n", "needle"], true),
    (&["-A", "1", "needle"], true),
    (&["-B", "2", "-n", "needle"], true),
    (&["-C", "1", "needle"], true),
    (&["-C", "3", "-n", "-m", "2", "needle"], true),
    (&["-n", "-v", "-C", "1", "[a-m]"], true),
    (&["-n", "-v", "-m", "4", "[a-m]"], true),
    (&["--column", "needle"], true),
    (&["-b", "needle"], true),
    (&["-b", "-o", "needle"], true),
    (&["--heading", "-n", "needle"], false),
    (&["--color=always", "-n", "needle"], false),
    (&["--color=always", "--heading", "-n", "-C", "1", "needle"], false),
    (&["-a", "-c", "needle"], false),
    (&["-a", "needle"], true),
    (&["--hidden", "needle"], true),
    (&["--no-ignore", "needle"], true),
    (&["--hidden", "--no-ignore", "-c", "needle"], false),
    (&["-L", "needle"], true),
    (&["--crlf", "here$"], true),
    (&["-U", r"here\n.*Needle"], true),
    (&["-U", "-n", r"(?s)first.{1,40}needle"], true),
    (&["-e", "needle", "-e", "last"], true),
    (&["-e", "^$", "-n"], true),
    (&["-n", r"\bn\w+e\b"], true),
    (&["(?i)STRASSE|поиск"], true),
    (&["-g", "*.{rs,txt}", "needle"], true),
    (&["-t", "rust", "-w", "needle"], true),
    (&["--max-filesize", "2K", "needle"], true),
    (&["-I", "needle"], true),
    (&["--no-filename", "needle"], true),
    (&["no_such_text_anywhere"], true),
];

/// Searched instead of `needle` where that is rare.
const WORD_ELSEWHERE: &str = "spurious";

const CORPORA: [Corpus; 3] = [Corpus::Edges, Corpus::Checkout, Corpus::Registry];

pub(super) fn parts() -> Vec<Part> {
    let part = |corpus| Part::new("same", corpus, move |setup: &Setup| make(setup, corpus));
    CORPORA.map(part).into()
}

fn make(setup: &Setup, corpus: Corpus) -> Result<Option<Made>> {
    let Some(place) = setup.corpora.place(corpus)? else {
        return Ok(None);
    };
    let user = (corpus == Corpus::Edges && geteuid().is_root() && can_run(setup, &place)).then_some(NOBODY);
    let (mut count, mut apart, mut binary) = (0, Vec::new(), Vec::new());
    let with_nul = binary::with_nul(&place)?;
    for (flags, has_json) in COMBINATIONS {
        let formats: &[&[&str]] = if *has_json { &[&[], &["--json"]] } else { &[&[]] };
        for format in formats {
            let words = flags.iter().map(|word| match corpus {
                Corpus::Edges => (*word).to_owned(),
                _ => word.replace("needle", WORD_ELSEWHERE),
            });
            let words: Vec<String> = words.collect();
            let mut all: Vec<&str> = words.iter().map(String::as_str).collect();
            all.extend(["--sort", "path"].iter().chain(*format));
            let run = |program: &super::program::Program| {
                let mut command = program.search(THREADS, &all, &place).command();
                user.map(|user| command.uid(user).gid(user));
                command.output()
            };
            let (ours, peers) = (run(&setup.programs.ours)?, run(&setup.programs.peer)?);
            count += 1;
            // With both, ripgrep counts bytes up to the next line that matches, as docs/scan.md says.
            let [ours, peers] = if ["-v", "-m"].iter().all(|flag| flags.contains(flag)) {
                [ours, peers].map(without_searched)
            } else {
                [ours, peers]
            };
            match difference(&ours, &peers, &with_nul) {
                Difference::Nothing => {}
                Difference::Binary => binary.push(format!("`{}`", all.join(" "))),
                Difference::Told(what) => apart.push(format!("- `{}`: {what}", all.join(" "))),
            }
        }
    }
    let closed = match (corpus, user) {
        (Corpus::Edges, Some(_)) => " As a user who may not read everything.",
        (Corpus::Edges, None) if geteuid().is_root() => " As a user who may read everything.",
        _ => "",
    };
    Ok(Some(Made::Report(Report {
        name: format!("same as ripgrep, {}", place.label),
        story: format!("Output and exit code, times in JSON masked.{closed}"),
        rounds: 1,
        others: None,
        columns: Vec::new(),
        rows: Vec::new(),
        verdicts: vec![Verdict {
            text: format!(
                "{OURS} prints the same for {count} combinations of flags: for {}, for {} more but for binary files",
                count - apart.len() - binary.len(),
                binary.len()
            ),
            met: Some(apart.is_empty()),
        }],
        note: note(&apart, &binary),
        family: None,
    })))
}

fn can_run(setup: &Setup, place: &Place) -> bool {
    let programs = [&setup.programs.ours, &setup.programs.peer];
    programs.iter().all(|program| {
        let call: Invocation = program.search(1, &["--files"], place);
        let mut command: Command = call.command();
        let output = command.uid(NOBODY).gid(NOBODY).output();
        output.is_ok_and(|output| !output.stdout.is_empty())
    })
}

fn note(apart: &[String], binary: &[String]) -> String {
    let mut parts = Vec::new();
    if !apart.is_empty() {
        parts.push(apart.join("\n"));
    }
    if !binary.is_empty() {
        parts.push(format!("But for binary files: {}.", binary.join(", ")));
    }
    parts.join("\n\n")
}

#[derive(Debug, PartialEq, Eq)]
enum Difference {
    Nothing,
    /// Only of files that have a NUL: what ripgrep prints of these depends on the files before them.
    Binary,
    Told(String),
}

fn without_searched(output: Output) -> Output {
    Output {
        stdout: binary::without_searched(&output.stdout),
        ..output
    }
}

/// What ours has and the peer's has not, or the other way round.
fn difference(ours: &Output, peers: &Output, with_nul: &BTreeSet<Vec<u8>>) -> Difference {
    let mut outputs = [ours, peers].map(|output| masked(&output.stdout));
    let is_same = outputs[0] == outputs[1];
    if !is_same {
        outputs = binary::left_out([&outputs[0], &outputs[1]], with_nul);
    }
    let [left, right] = outputs;
    let mut what = Vec::new();
    if ours.status.code() != peers.status.code() {
        let [ours, peers] = [ours, peers].map(|output| output.status.code().unwrap_or(-1));
        what.push(format!("exit code {ours} instead of {peers}"));
    }
    if left != right {
        let [left, right] = [&left, &right].map(|bytes| bytes.split(|byte| *byte == b'\n'));
        let number = left
            .clone()
            .zip(right.clone())
            .take_while(|(left, right)| left == right)
            .count();
        let [left, right] =
            [left, right].map(|mut lines| lines.nth(number).map_or("the end".to_owned(), shown));
        what.push(format!("line {}: {left} instead of {right}", number + 1));
        let stderr = String::from_utf8_lossy(&ours.stderr);
        if let Some(message) = stderr.lines().next().filter(|_| ours.stdout.is_empty()) {
            what.push(shown(message.as_bytes()));
        }
    }
    match what.as_slice() {
        [] if is_same => Difference::Nothing,
        [] => Difference::Binary,
        what => Difference::Told(what.join("; ")),
    }
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let short: String = text.chars().take(TOLD_CHARS).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{dots}`", short.escape_debug())
}

/// JSON with its times as nothing. The bytes looked for cannot be in a JSON string.
fn masked(output: &[u8]) -> Vec<u8> {
    let mut masked = Vec::with_capacity(output.len());
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        if !line.starts_with(b"{\"") {
            masked.extend(line);
            continue;
        }
        let mut rest = line;
        while let Some(at) = find(rest, b"\"elapsed").filter(|at| find(&rest[*at..], b":{").is_some()) {
            let open = at + find(&rest[at..], b":{").unwrap_or(0) + 2;
            let close = open + find(&rest[open..], b"}").unwrap_or(0);
            masked.extend(&rest[..open]);
            rest = &rest[close..];
        }
        masked.extend(rest);
    }
    masked
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn output(text: &str, code: i32) -> Output {
        Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: text.into(),
            stderr: b"a message\n".into(),
        }
    }

    #[test]
    fn there_are_as_many_combinations_as_promised() {
        assert!(COMBINATIONS.len() >= 40);
    }

    #[test]
    fn times_do_not_count() {
        let json = |nanos: u32| {
            let time = format!("{{\"secs\":0,\"nanos\":{nanos},\"human\":\"{nanos}ns\"}}");
            format!(
                "{{\"data\":{{\"elapsed_total\":{time},\"stats\":{{\"elapsed\":{time},\"bytes\":1}}}}}}\n"
            )
        };
        let (one, two) = (json(1), json(20));
        assert_eq!(
            difference(&output(&one, 0), &output(&two, 0), &BTreeSet::new()),
            Difference::Nothing
        );
        let other = two.replace("bytes\":1", "bytes\":2");
        let told = difference(&output(&one, 0), &output(&other, 0), &BTreeSet::new());
        assert!(matches!(told, Difference::Told(_)), "{told:?}");
        assert_eq!(
            masked(b"\"elapsed\":{1}\n"),
            b"\"elapsed\":{1}\n",
            "text is left alone"
        );
    }

    #[test]
    fn a_difference_is_told_by_line_and_code() {
        let told = |ours, peers| match difference(&ours, &peers, &BTreeSet::new()) {
            Difference::Told(what) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            told(output("a\nb\n", 0), output("a\nc\n", 1)),
            "exit code 0 instead of 1; line 2: `b` instead of `c`"
        );
        assert_eq!(
            told(output("", 1), output("c\n", 1)),
            "line 1: `` instead of `c`; `a message`"
        );
        let binary = output("a: binary file matches (found)\nb:x\n", 0);
        let difference = difference(&binary, &output("b:x\n", 0), &BTreeSet::new());
        assert_eq!(difference, Difference::Binary);
    }
}
