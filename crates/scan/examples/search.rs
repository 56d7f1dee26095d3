//! One search over files in memory, by this crate's engine or by ripgrep's: for a count of
//! instructions beside each other.
//!
//! ```text
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     target/release/examples/search ours -w use -- FILE...
//! ```
//!
//! The first argument is `ours`, `grep` or `none`, which reads the files only. Then flags `-w -i -c
//! -n`, a pattern, and after `--` the files. A pattern that begins with `-` cannot be given.

use std::error::Error;
use std::hint::black_box;
use std::io;

use grep_printer::{StandardBuilder, SummaryBuilder, SummaryKind};
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use scan::engine::{Engine, Found, Piece};
use scan::object::Object;
use scan::output::{More, Output};
use scan::pattern::{Bounds, Case, PatternConfig};
use scan::print::{Format, PrintConfig, Printer};

#[derive(Default)]
struct Flags {
    word: bool,
    ignore_case: bool,
    count: bool,
    line_numbers: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let by = arguments.next().ok_or("ours, grep or none")?;
    let (mut flags, mut pattern) = (Flags::default(), String::new());
    for argument in arguments.by_ref().take_while(|argument| argument != "--") {
        match argument.as_str() {
            "-w" => flags.word = true,
            "-i" => flags.ignore_case = true,
            "-c" => flags.count = true,
            "-n" => flags.line_numbers = true,
            _ => pattern = argument,
        }
    }
    let files: Vec<Vec<u8>> = arguments.map(std::fs::read).collect::<io::Result<_>>()?;
    let printed = match by.as_str() {
        "ours" => ours(&files, &pattern, &flags)?,
        "grep" => grep(&files, &pattern, &flags)?,
        _ => 0,
    };
    println!("{printed}");
    Ok(())
}

const CHUNK: usize = 256 << 10;

fn ours(files: &[Vec<u8>], pattern: &str, flags: &Flags) -> Result<usize, Box<dyn Error>> {
    let pattern = PatternConfig {
        case: if flags.ignore_case {
            Case::Insensitive
        } else {
            Case::Sensitive
        },
        bounds: if flags.word { Bounds::Word } else { Bounds::None },
        ..PatternConfig::new([pattern])
    };
    let print = PrintConfig {
        format: if flags.count { Format::Count } else { Format::Text },
        line_numbers: flags.line_numbers,
        ..PrintConfig::default()
    };
    let (engine, printer) = Printer::new(&pattern, print)?;
    let (mut scratch, mut found) = (engine.scratch(), Found::default());
    let object = Object {
        id: 0,
        path: "some/path".into(),
        named: false,
    };
    let (mut out, mut printed, mut buffer) = (Vec::new(), 0, Vec::new());
    for bytes in files {
        let mut source = &bytes[..];
        let mut file = printer.begin(&object);
        let mut start = 0;
        while start < bytes.len() {
            let chunk = bytes.len().min(start + CHUNK);
            let end = memchr::memchr(b'\n', &bytes[chunk..]).map_or(bytes.len(), |at| chunk + at + 1);
            found.clear();
            let last = end == bytes.len();
            // As if it were read: ripgrep's searcher copies, too.
            buffer.clear();
            buffer.extend_from_slice(&bytes[start..end]);
            let piece = Piece {
                bytes: &buffer,
                offset: start as u64,
                named: false,
                last,
            };
            engine.scan(piece, &mut scratch, &mut found);
            let more = printer.piece(&mut file, &object, &found, &mut source, &mut out)?;
            if more == More::Enough {
                break;
            }
            start = end;
        }
        printer.end(file, &object, &mut source, &mut out)?;
        printed += black_box(&out).len();
        out.clear();
    }
    Ok(printed)
}

fn grep(files: &[Vec<u8>], pattern: &str, flags: &Flags) -> Result<usize, Box<dyn Error>> {
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .ban_byte(Some(0))
        .word(flags.word)
        .case_insensitive(flags.ignore_case)
        .build(pattern)?;
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(flags.line_numbers)
        .build();
    let mut text = StandardBuilder::new().build_no_color(Vec::new());
    let mut summary = SummaryBuilder::new()
        .kind(SummaryKind::Count)
        .build_no_color(Vec::new());
    let mut printed = 0;
    for bytes in files {
        if flags.count {
            searcher.search_reader(
                &matcher,
                &bytes[..],
                summary.sink_with_path(&matcher, "some/path"),
            )?;
            printed += black_box(summary.get_mut().get_mut()).len();
            summary.get_mut().get_mut().clear();
        } else {
            searcher.search_reader(&matcher, &bytes[..], text.sink_with_path(&matcher, "some/path"))?;
            printed += black_box(text.get_mut().get_mut()).len();
            text.get_mut().get_mut().clear();
        }
    }
    Ok(printed)
}
