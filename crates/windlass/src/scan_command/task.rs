//! What the arguments ask for: patterns, paths, and how results are printed.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use scan::pattern::{Bounds, Case, PatternConfig};
use scan::print::{Format, PrintConfig};

use super::arguments::{ColorArgument, FormatArgument, ScanArguments};

/// The standard input as a path.
const STDIN: &str = "-";

/// The working directory. Paths in it are printed without this.
const FOLDER: &str = "./";

/// What is searched for, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// `None`: files are listed. Empty: nothing can be found.
    pub(crate) patterns: Option<Vec<String>>,
    pub(crate) paths: Vec<PathBuf>,
    /// Whether no path was named.
    pub(crate) is_implicit: bool,
    /// Whether one file or the standard input is searched, so its path says nothing.
    pub(crate) is_one_file: bool,
}

/// Why the arguments make no sense together.
#[derive(Debug)]
pub(crate) enum TaskError {
    NoPattern,
    PatternNotText(OsString),
    PatternFile { path: PathBuf, error: io::Error },
    PatternFileNotText { path: PathBuf, line: usize },
}

impl ScanArguments {
    /// Reads pattern files, too. `stdin_is_readable`: it is searched if no path is named.
    pub(crate) fn task(&self, stdin_is_readable: bool) -> Result<Task, TaskError> {
        let mut paths: Vec<PathBuf> = self.arguments.iter().map(PathBuf::from).collect();
        let patterns = if self.files {
            None
        } else if self.regexps.is_empty() && self.pattern_files.is_empty() {
            let first = self.arguments.first().ok_or(TaskError::NoPattern)?;
            paths.remove(0);
            let pattern = first
                .to_str()
                .ok_or_else(|| TaskError::PatternNotText(first.clone()))?;
            Some(vec![pattern.to_owned()])
        } else {
            Some(self.named_patterns()?)
        };
        let is_implicit = paths.is_empty();
        if is_implicit {
            let is_taken = self.pattern_files.iter().any(|path| is_stdin(path));
            let reads_stdin = stdin_is_readable && !is_taken && !self.files;
            paths.push(PathBuf::from(if reads_stdin { STDIN } else { FOLDER }));
        }
        let is_one_file = paths.len() == 1 && (is_stdin(&paths[0]) || !paths[0].is_dir());
        // A second read of it finds nothing.
        let mut has_stdin = false;
        paths.retain(|path| !is_stdin(path) || !std::mem::replace(&mut has_stdin, true));
        Ok(Task {
            patterns,
            paths,
            is_implicit,
            is_one_file,
        })
    }

    pub(crate) fn pattern_config(&self, patterns: Vec<String>) -> PatternConfig {
        PatternConfig {
            fixed_strings: self.fixed_strings,
            case: match (self.ignore_case, self.smart_case) {
                (true, _) => Case::Insensitive,
                (_, true) => Case::Smart,
                _ => Case::Sensitive,
            },
            bounds: match (self.word_regexp, self.line_regexp) {
                (true, _) => Bounds::Word,
                (_, true) => Bounds::Line,
                _ => Bounds::None,
            },
            invert: self.invert_match,
            multi_line: self.multiline,
            crlf: self.crlf,
            text: self.text,
            max_count: self.max_count,
            ..PatternConfig::new(patterns)
        }
    }

    /// `is_one_file`: a single file is named, so its path says nothing.
    pub(crate) fn print_config(&self, on_terminal: bool, is_one_file: bool) -> PrintConfig {
        let format = self.print_format();
        // Of itself JSON has numbers, and text has them for people.
        let has_numbers = match format {
            Format::Json => true,
            Format::Text => on_terminal || self.column,
            _ => false,
        };
        let context = self.context.unwrap_or(0);
        PrintConfig {
            format,
            path: self.with_filename || !(self.no_filename || is_one_file),
            heading: self.heading || (on_terminal && !self.no_heading),
            line_numbers: self.line_number || (has_numbers && !self.no_line_number),
            column: self.column,
            byte_offset: self.byte_offset,
            only_matching: self.only_matching,
            color: match self.color {
                ColorArgument::Auto => on_terminal,
                ColorArgument::Always => true,
                ColorArgument::Never => false,
            },
            before: self.before_context.unwrap_or(context),
            after: self.after_context.unwrap_or(context),
            stats: self.stats,
            timed: self.stats || self.wants_json(),
            ..PrintConfig::default()
        }
    }

    pub(crate) fn wants_json(&self) -> bool {
        self.json || self.format == Some(FormatArgument::Json)
    }

    fn print_format(&self) -> Format {
        if self.files_without_match {
            return Format::PathsWithout;
        }
        if self.quiet {
            return Format::Quiet;
        }
        if self.wants_json() {
            Format::Json
        } else if self.files_with_matches {
            Format::Paths
        } else if self.count_matches || self.count {
            let of_matches = self.count_matches || self.only_matching;
            if of_matches && !self.invert_match {
                Format::CountMatches
            } else {
                Format::Count
            }
        } else {
            Format::Text
        }
    }

    /// Without those that are given twice.
    fn named_patterns(&self) -> Result<Vec<String>, TaskError> {
        let mut patterns = self.regexps.clone();
        for path in &self.pattern_files {
            patterns.extend(patterns_of(path)?);
        }
        let mut seen = std::collections::HashSet::new();
        patterns.retain(|pattern| seen.insert(pattern.clone()));
        Ok(patterns)
    }
}

/// Whether the standard input is a file, a pipe or a socket: not a terminal, and not nothing.
pub(crate) fn stdin_is_readable() -> bool {
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    // What cannot be looked at cannot be read.
    stdin.and_then(|stdin| stdin.metadata()).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_file() || kind.is_fifo() || kind.is_socket()
    })
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == STDIN
}

fn patterns_of(path: &Path) -> Result<Vec<String>, TaskError> {
    let failed = |error| TaskError::PatternFile {
        path: path.to_owned(),
        error,
    };
    let bytes = if is_stdin(path) {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(failed)?;
        bytes
    } else {
        std::fs::read(path).map_err(failed)?
    };
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let pattern = |(nth, line): (usize, &[u8])| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = std::str::from_utf8(line).map(str::to_owned);
        text.map_err(|_| TaskError::PatternFileNotText {
            path: path.to_owned(),
            line: nth + 1,
        })
    };
    lines.into_iter().enumerate().map(pattern).collect()
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPattern => f.write_str(
                "a pattern is needed: windlass scan PATTERN [PATH]..., or -e PATTERN, -f FILE or --files",
            ),
            Self::PatternNotText(pattern) => {
                write!(f, "the pattern {} is not UTF-8", pattern.display())
            }
            Self::PatternFile { path, error } => {
                write!(f, "cannot read patterns from {}: {error}", path.display())
            }
            Self::PatternFileNotText { path, line } => {
                write!(f, "{}, line {line}: the pattern is not UTF-8", path.display())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        scan: ScanArguments,
    }

    fn parse(arguments: &[&str]) -> ScanArguments {
        let arguments = std::iter::once("scan").chain(arguments.iter().copied());
        Program::try_parse_from(arguments)
            .expect("the arguments are right")
            .scan
    }

    fn task(arguments: &[&str]) -> Task {
        parse(arguments).task(false).expect("the arguments make sense")
    }

    fn format(arguments: &[&str]) -> Format {
        parse(arguments).print_config(false, false).format
    }

    #[test]
    fn the_first_argument_is_the_pattern_unless_another_way_gives_one() {
        let expected = |patterns: Option<&[&str]>, paths: &[&str]| Task {
            patterns: patterns.map(|all| all.iter().map(|&pattern| pattern.to_owned()).collect()),
            paths: paths.iter().map(PathBuf::from).collect(),
            is_implicit: paths == ["./"],
            is_one_file: false,
        };
        assert_eq!(task(&["a", "src", "b"]), expected(Some(&["a"]), &["src", "b"]));
        assert_eq!(task(&["a"]), expected(Some(&["a"]), &["./"]));
        assert_eq!(
            task(&["-e", "a", "-e", "-b", "-e", "a", "src"]),
            expected(Some(&["a", "-b"]), &["src"])
        );
        assert_eq!(task(&["--files", "src"]), expected(None, &["src"]));
        assert_eq!(task(&["--", "-a", "src"]), expected(Some(&["-a"]), &["src"]));
    }

    #[test]
    fn the_standard_input_is_searched_if_it_is_named_or_nothing_else_is() {
        let paths = |arguments: &[&str], stdin_is_readable| {
            let task = parse(arguments).task(stdin_is_readable);
            task.map(|task| (task.paths, task.is_one_file))
                .expect("the arguments make sense")
        };
        let one = |path: &str, is_one_file| (vec![PathBuf::from(path)], is_one_file);
        assert_eq!(paths(&["a"], true), one("-", true));
        assert_eq!(paths(&["a"], false), one("./", false));
        assert_eq!(paths(&["a", "-"], false), one("-", true));
        assert_eq!(paths(&["a", "src"], true), one("src", false));
        assert_eq!(paths(&["--files"], true), one("./", false));
        assert_eq!(paths(&["a", "-", "-"], true), one("-", false));
    }

    #[test]
    fn arguments_that_make_no_sense_say_what_would() {
        let error = |arguments: &[&str]| {
            parse(arguments)
                .task(true)
                .expect_err("they make no sense")
                .to_string()
        };
        assert!(error(&[]).contains("windlass scan PATTERN"));
        assert!(error(&["-f", "nowhere/words", "src"]).contains("nowhere/words"));
    }

    #[test]
    fn patterns_of_a_file_are_its_lines() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("words");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("the folder can be written to");
            patterns_of(&path)
        };
        assert_eq!(read(b"a\r\n\nb").expect("it is text"), ["a", "", "b"]);
        assert_eq!(read(b"a\n").expect("it is text"), ["a"]);
        assert_eq!(read(b"").expect("it is text"), [""; 0]);
        let error = read(b"a\n\xff\n").expect_err("no text").to_string();
        assert!(error.contains("words, line 2"), "{error}");
    }

    #[test]
    fn of_flags_that_exclude_each_other_the_last_one_counts() {
        let case = |arguments: &[&str]| parse(arguments).pattern_config(Vec::new()).case;
        assert_eq!(case(&["-i", "-S", "a"]), Case::Smart);
        assert_eq!(case(&["-S", "-i", "a"]), Case::Insensitive);
        assert_eq!(case(&["-i", "-s", "a"]), Case::Sensitive);
        let bounds = |arguments: &[&str]| parse(arguments).pattern_config(Vec::new()).bounds;
        assert_eq!(bounds(&["-w", "-x", "a"]), Bounds::Line);
        assert_eq!(bounds(&["-x", "-w", "a"]), Bounds::Word);
        assert_eq!(format(&["-c", "-l", "a"]), Format::Paths);
        assert_eq!(format(&["-l", "--json", "a"]), Format::Json);
        assert_eq!(format(&["--json", "--format", "text", "a"]), Format::Text);
        assert_eq!(format(&["--format", "json", "a"]), Format::Json);
    }

    #[test]
    fn counts_are_of_matches_if_matches_are_asked_for_and_there_are_any() {
        assert_eq!(format(&["-c", "a"]), Format::Count);
        assert_eq!(format(&["-c", "-o", "a"]), Format::CountMatches);
        assert_eq!(format(&["--count-matches", "a"]), Format::CountMatches);
        assert_eq!(format(&["--count-matches", "-v", "a"]), Format::Count);
    }

    #[test]
    fn a_terminal_gets_colors_headings_and_numbers() {
        let on_terminal = |arguments: &[&str]| parse(arguments).print_config(true, false);
        let print = on_terminal(&["a"]);
        assert!(print.color && print.heading && print.line_numbers && print.path);
        let print = on_terminal(&["-N", "--no-heading", "--color", "never", "a"]);
        assert!(!print.color && !print.heading && !print.line_numbers);
        assert!(!on_terminal(&["-c", "a"]).line_numbers);
        assert!(on_terminal(&["--json", "a"]).line_numbers);
        assert!(!on_terminal(&["--json", "-N", "a"]).line_numbers);
        let into_pipe = |arguments: &[&str]| parse(arguments).print_config(false, true);
        let print = into_pipe(&["a"]);
        assert!(!print.color && !print.heading && !print.line_numbers && !print.path);
        let print = into_pipe(&["-n", "--heading", "--color", "always", "-H", "a"]);
        assert!(print.color && print.heading && print.line_numbers && print.path);
        assert!(into_pipe(&["--column", "a"]).line_numbers);
    }

    #[test]
    fn context_on_one_side_is_stronger_than_on_both() {
        let context = |arguments: &[&str]| {
            let print = parse(arguments).print_config(false, false);
            (print.before, print.after)
        };
        assert_eq!(context(&["-A", "1", "-C", "3", "a"]), (3, 1));
        assert_eq!(context(&["-C", "3", "-B", "0", "a"]), (0, 3));
        assert_eq!(context(&["a"]), (0, 0));
    }
}
