//! The arguments of `windlass scan`: ripgrep's names and defaults.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::amount;

/// Find lines that match a pattern in every file below a folder
#[derive(Debug, Args)]
#[command(
    args_override_self = true,
    override_usage = "windlass scan [OPTIONS] PATTERN [PATH]...
       windlass scan [OPTIONS] [-e PATTERN]... [-f FILE]... [PATH]...
       windlass scan [OPTIONS] --files [PATH]...",
    long_about = "Find lines that match a pattern in every file below a folder

Flags mean what they mean for rg. Files that .gitignore, .ignore or .rgignore leave out, hidden files
and binary files are passed over; a file that is named is searched. Results of one file are together,
and with --sort path files are in order, on all cores either way.",
    after_help = "Examples:
  windlass scan 'unsafe \\{' crates
  windlass scan -w -i -C 2 todo
  windlass scan -F -f words.txt --sort path --json /var/log
  windlass scan --files -t rust -g '!*_generated.rs'

Exit codes: 0 a line was found, 1 none was, 2 the arguments make no sense or something could not be
read, 130 cancelled by Ctrl-C."
)]
pub(crate) struct ScanArguments {
    /// A pattern; a line is found if one of them matches. Without -e and -f the first argument is
    /// the pattern
    #[arg(
        short = 'e',
        long = "regexp",
        value_name = "PATTERN",
        allow_hyphen_values = true
    )]
    pub(super) regexps: Vec<String>,

    /// A file with a pattern a line; - is standard input
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(super) pattern_files: Vec<PathBuf>,

    /// Patterns are plain text
    #[arg(short = 'F', long)]
    pub(super) fixed_strings: bool,

    /// Upper and lower case letters are the same
    #[arg(short, long, overrides_with_all = ["smart_case", "case_sensitive"])]
    pub(super) ignore_case: bool,

    /// As -i, unless a pattern has an upper case letter
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "case_sensitive"])]
    pub(super) smart_case: bool,

    /// Upper and lower case letters differ: the default
    #[arg(short = 's', long, overrides_with_all = ["ignore_case", "smart_case"])]
    pub(super) case_sensitive: bool,

    /// A match is a whole word
    #[arg(short, long, overrides_with = "line_regexp")]
    pub(super) word_regexp: bool,

    /// A match is a whole line
    #[arg(short = 'x', long, overrides_with = "word_regexp")]
    pub(super) line_regexp: bool,

    /// Lines that do not match are found
    #[arg(short = 'v', long)]
    pub(super) invert_match: bool,

    /// A match may go over several lines; files up to 64 MiB are then held whole
    #[arg(short = 'U', long)]
    pub(super) multiline: bool,

    /// \r\n ends a line as \n does
    #[arg(long)]
    pub(super) crlf: bool,

    /// Binary files are searched like text
    #[arg(short = 'a', long)]
    pub(super) text: bool,

    /// At most NUM lines of a file
    #[arg(short, long, value_name = "NUM")]
    pub(super) max_count: Option<u64>,

    /// Print matches alone, each on a line
    #[arg(short, long)]
    pub(super) only_matching: bool,

    /// Print how many lines of a file are found
    #[arg(short, long, overrides_with_all = MODES)]
    pub(super) count: bool,

    /// Print how many matches a file has
    #[arg(long, overrides_with_all = MODES)]
    pub(super) count_matches: bool,

    /// Print paths of files in which a line is found
    #[arg(short = 'l', long, overrides_with_all = MODES)]
    pub(super) files_with_matches: bool,

    /// Print paths of files in which no line is found
    #[arg(long, overrides_with_all = MODES)]
    pub(super) files_without_match: bool,

    /// Print JSON Lines, as --format json
    #[arg(long, overrides_with_all = MODES)]
    pub(super) json: bool,

    /// How results are written [default: text]
    #[arg(long, value_enum, overrides_with_all = MODES)]
    pub(super) format: Option<FormatArgument>,

    /// Print the paths of the files that would be searched
    #[arg(long)]
    pub(super) files: bool,

    /// Print nothing; the exit code says whether a line was found
    #[arg(short, long)]
    pub(super) quiet: bool,

    /// Print NUM lines after each found one
    #[arg(short = 'A', long, value_name = "NUM")]
    pub(super) after_context: Option<usize>,

    /// Print NUM lines before each found one
    #[arg(short = 'B', long, value_name = "NUM")]
    pub(super) before_context: Option<usize>,

    /// As -A NUM -B NUM
    #[arg(short = 'C', long, value_name = "NUM")]
    pub(super) context: Option<usize>,

    /// Print line numbers: the default on a terminal
    #[arg(short = 'n', long, overrides_with = "no_line_number")]
    pub(super) line_number: bool,

    /// Print no line numbers
    #[arg(short = 'N', long, overrides_with = "line_number")]
    pub(super) no_line_number: bool,

    /// Print the column of the first match, in bytes from 1
    #[arg(long)]
    pub(super) column: bool,

    /// Print each line's offset in its file, in bytes from 0
    #[arg(short, long)]
    pub(super) byte_offset: bool,

    /// Print the path above a file's lines: the default on a terminal
    #[arg(long, overrides_with = "no_heading")]
    pub(super) heading: bool,

    /// Print the path in each line
    #[arg(long, overrides_with = "heading")]
    pub(super) no_heading: bool,

    /// Print paths: the default, unless one file is named
    #[arg(short = 'H', long, overrides_with = "no_filename")]
    pub(super) with_filename: bool,

    /// Print no paths
    #[arg(short = 'I', long, overrides_with = "with_filename")]
    pub(super) no_filename: bool,

    /// When to print colors
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    pub(super) color: ColorArgument,

    /// Print sums at the end, and what became of each object found: clean, with findings, skipped
    /// (why) or failed
    #[arg(long)]
    pub(super) stats: bool,

    /// Files in this order
    #[arg(long, value_name = "BY", value_enum, default_value_t)]
    pub(super) sort: SortArgument,

    /// Search files that match GLOB, or with !GLOB those that do not; the last one that matches
    /// counts
    #[arg(short, long, value_name = "GLOB", allow_hyphen_values = true)]
    pub(super) glob: Vec<String>,

    /// Search files of this type, for example rust
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    pub(super) types: Vec<String>,

    /// Search no files of this type
    #[arg(short = 'T', long = "type-not", value_name = "TYPE")]
    pub(super) types_not: Vec<String>,

    /// Search hidden files and folders
    #[arg(short = '.', long)]
    pub(super) hidden: bool,

    /// Take no notice of .gitignore, .ignore, .rgignore and git's other files
    #[arg(long)]
    pub(super) no_ignore: bool,

    /// Follow symbolic links
    #[arg(short = 'L', long)]
    pub(super) follow: bool,

    /// Pass over files larger than this, for example 10M [default: no bound]
    #[arg(long, value_name = "SIZE", value_parser = amount::file_size, allow_negative_numbers = true)]
    pub(super) max_filesize: Option<u64>,

    /// How many threads work [default: one per core]
    #[arg(short = 'j', long, value_name = "N", value_parser = amount::threads, allow_negative_numbers = true)]
    pub(super) threads: Option<NonZeroUsize>,

    /// The pattern, unless -e, -f or --files is given, and files and folders; - is standard input
    /// [default: standard input if it is a pipe or a file, or else the working directory]
    #[arg(value_name = "PATTERN PATH", action = ArgAction::Append)]
    pub(super) arguments: Vec<OsString>,
}

/// Of these the last one counts.
const MODES: [&str; 6] = [
    "count",
    "count_matches",
    "files_with_matches",
    "files_without_match",
    "json",
    "format",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatArgument {
    /// Lines, as rg prints them
    Text,
    /// JSON Lines, as rg --json prints them
    Json,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorArgument {
    /// On a terminal
    #[default]
    Auto,
    /// Always
    #[value(alias = "ansi")]
    Always,
    /// Never
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SortArgument {
    /// As they are ready
    #[default]
    None,
    /// By path
    Path,
}
