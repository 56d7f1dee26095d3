//! ripgrep's own search and printers, in this process, as `rg --sort path` puts them together.

use std::io;
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_printer::{
    ColorSpecs, JSON, JSONBuilder, Standard, StandardBuilder, Stats, Summary, SummaryBuilder, SummaryKind,
};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink};
use scan::object::Object;
use scan::pattern::{Bounds, Case, PatternConfig};
use scan::print::{Format, PrintConfig};
use termcolor::Buffer;

pub(crate) struct Reference<'a> {
    pattern: &'a PatternConfig,
    print: &'a PrintConfig,
    matcher: RegexMatcher,
    printer: Printer,
}

enum Printer {
    Standard(Standard<Buffer>),
    Summary(Summary<Buffer>),
    Json(JSON<Buffer>),
}

/// What ripgrep says of a file, beside what it prints.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) found: bool,
    pub(crate) stats: Option<Stats>,
}

impl<'a> Reference<'a> {
    pub(crate) fn new(pattern: &'a PatternConfig, print: &'a PrintConfig) -> Self {
        let out = if print.color {
            Buffer::ansi()
        } else {
            Buffer::no_color()
        };
        Self {
            pattern,
            print,
            matcher: matcher(pattern),
            printer: printer(print, out),
        }
    }

    pub(crate) fn file(&mut self, object: &Object, bytes: &[u8]) -> Said {
        let mut searcher = searcher(self.pattern, self.print, object);
        let path: &Path = &object.path;
        let matcher = &self.matcher;
        match &mut self.printer {
            Printer::Standard(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                run(&mut searcher, matcher, bytes, &mut sink);
                Said {
                    found: sink.has_match(),
                    stats: sink.stats().cloned(),
                }
            }
            Printer::Summary(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                run(&mut searcher, matcher, bytes, &mut sink);
                Said {
                    found: sink.has_match(),
                    stats: sink.stats().cloned(),
                }
            }
            Printer::Json(printer) => {
                let mut sink = printer.sink_with_path(matcher, path);
                run(&mut searcher, matcher, bytes, &mut sink);
                Said {
                    found: sink.has_match(),
                    stats: Some(sink.stats().clone()),
                }
            }
        }
    }

    /// What was printed, without the times of JSON.
    pub(crate) fn into_out(self) -> Vec<u8> {
        let out = match self.printer {
            Printer::Standard(printer) => printer.into_inner(),
            Printer::Summary(printer) => printer.into_inner(),
            Printer::Json(printer) => return without_times(printer.into_inner().as_slice()),
        };
        out.into_inner()
    }
}

fn printer(print: &PrintConfig, out: Buffer) -> Printer {
    let kind = match print.format {
        Format::Json => return Printer::Json(JSONBuilder::new().build(out)),
        Format::Text => {
            let separator = if print.heading {
                Some(Vec::new())
            } else {
                (print.before > 0 || print.after > 0).then(|| b"--".to_vec())
            };
            let mut builder = StandardBuilder::new();
            builder
                .byte_offset(print.byte_offset)
                .color_specs(ColorSpecs::default_with_color())
                .column(print.column)
                .heading(print.heading)
                .only_matching(print.only_matching)
                .path(print.path)
                .per_match_one_line(true)
                .separator_search(separator)
                .stats(print.stats);
            return Printer::Standard(builder.build(out));
        }
        Format::Count => SummaryKind::Count,
        Format::CountMatches => SummaryKind::CountMatches,
        Format::Paths => SummaryKind::PathWithMatch,
        Format::PathsWithout => SummaryKind::PathWithoutMatch,
        Format::Quiet => SummaryKind::QuietWithMatch,
    };
    let mut builder = SummaryBuilder::new();
    builder
        .color_specs(ColorSpecs::default_with_color())
        .kind(kind)
        .path(print.path)
        .stats(print.stats);
    Printer::Summary(builder.build(out))
}

fn searcher(pattern: &PatternConfig, print: &PrintConfig, object: &Object) -> Searcher {
    let binary = match (pattern.text, object.named) {
        (true, _) => BinaryDetection::none(),
        (false, true) => BinaryDetection::convert(0),
        (false, false) => BinaryDetection::quit(0),
    };
    let terminator = if pattern.crlf {
        LineTerminator::crlf()
    } else {
        LineTerminator::byte(b'\n')
    };
    SearcherBuilder::new()
        .line_terminator(terminator)
        .invert_match(pattern.invert)
        .line_number(print.line_numbers)
        .multi_line(pattern.multi_line)
        .before_context(print.before)
        .after_context(print.after)
        .max_matches(pattern.max_count)
        .binary_detection(binary)
        .build()
}

fn matcher(pattern: &PatternConfig) -> RegexMatcher {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .octal(false)
        .fixed_strings(pattern.fixed_strings)
        .case_insensitive(pattern.case == Case::Insensitive)
        .case_smart(pattern.case == Case::Smart)
        .whole_line(pattern.bounds == Bounds::Line)
        .word(pattern.bounds == Bounds::Word);
    if pattern.multi_line {
        if pattern.crlf {
            builder.crlf(true).line_terminator(None);
        }
    } else {
        builder.line_terminator(Some(b'\n'));
        if pattern.crlf {
            builder.crlf(true);
        }
    }
    if !pattern.text {
        builder.ban_byte(Some(0));
    }
    builder
        .build_many(&pattern.patterns)
        .expect("the patterns are right")
}

fn run(searcher: &mut Searcher, matcher: &RegexMatcher, bytes: &[u8], sink: impl Sink<Error = io::Error>) {
    searcher
        .search_reader(matcher, bytes, sink)
        .expect("it is memory");
}

fn without_times(json: &[u8]) -> Vec<u8> {
    let (from, to) = (
        br#""elapsed":{"#,
        br#""elapsed":{"secs":0,"nanos":0,"human":"0.000000s"}"#,
    );
    let mut out = Vec::new();
    let mut rest = json;
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        let end = rest[at..]
            .iter()
            .position(|&byte| byte == b'}')
            .expect("the object ends");
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + end + 1..];
    }
    out.extend_from_slice(rest);
    out
}
