//! The same bytes as ripgrep's search and printers, for files, patterns and flags by seed, wherever
//! the files are cut.

use scan::object::Object;
use scan::pattern::{Bounds, Case, PatternConfig};
use scan::print::{Format, PrintConfig};

use crate::pieces::Scan;
use crate::random::{self, Random};
use crate::reference::Reference;

const CHUNKS: [usize; 8] = [16, 37, 64, 256, 1_000, 4_096, 64 << 10, 256 << 10];

const FORMATS: [Format; 10] = [
    Format::Text,
    Format::Text,
    Format::Text,
    Format::Text,
    Format::Json,
    Format::Json,
    Format::Count,
    Format::CountMatches,
    Format::Paths,
    Format::PathsWithout,
];

#[test]
fn any_flags_on_any_file_print_what_ripgrep_prints() {
    // Other seeds: `SCAN_FROM=1500 SCAN_SEEDS=100000`.
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let from: u64 = number("SCAN_FROM").unwrap_or(0);
    for seed in from..from + number("SCAN_SEEDS").unwrap_or(1_500) {
        compare(seed);
    }
}

fn compare(seed: u64) {
    let mut random = Random::new(seed);
    let pattern = pattern(&mut random);
    let mut print = print(&mut random);
    let files: Vec<_> = (0..random.pick(&[1, 1, 2, 3]))
        .map(|id| {
            let mut bytes = random::file(&mut random);
            if random.one_in(8) {
                // Blocks of a file that is converted are as long as ripgrep's converter fills them.
                bytes.retain(|byte| *byte != 0);
                bytes = random::encoded(&bytes, &mut random);
            }
            let path = random.pick(&["a.txt", "src/b.rs", "c d/ü\""]).into();
            (
                Object {
                    id,
                    path,
                    named: random.one_in(3),
                },
                bytes,
            )
        })
        .collect();
    // Of a named binary file ripgrep shows nothing at all if a line before the first is due.
    if files
        .iter()
        .any(|(object, bytes)| object.named && bytes.contains(&0))
        && print.format == Format::Text
    {
        print.before = 0;
    }
    // ripgrep counts lines after the last of `max_count` if lines after it are due.
    if pattern.max_count.is_some() && !matches!(print.format, Format::Text | Format::Json) {
        (print.before, print.after) = (0, 0);
    }
    // Of an empty match behind the last line ripgrep shows the line before.
    let may_be_empty = pattern
        .patterns
        .iter()
        .any(|pattern| ["", "x*", r"^\s*$"].contains(&pattern.as_str()));
    if pattern.multi_line && may_be_empty {
        print.before = 0;
    }
    // Among lines after the last of `max_count`, ripgrep takes `\n` in CRLF files for an empty line, looks
    // for matches across lines, and in an inverted search goes on in the next block.
    if pattern.max_count.is_some() && (pattern.invert || pattern.multi_line || (pattern.crlf && may_be_empty))
    {
        print.after = 0;
    }
    // ripgrep's JSON printer panics at a match that goes on in a line that was not found.
    let asked = std::panic::catch_unwind(|| {
        let mut reference = Reference::new(&pattern, &print);
        let said = files.iter().map(|(object, bytes)| reference.file(object, bytes));
        let said: Vec<_> = said.collect();
        (said, reference.into_out())
    });
    let Ok((said, expected)) = asked else {
        assert!(pattern.multi_line && print.format == Format::Json, "seed {seed}");
        return;
    };
    // How far an inverted search with a bound has read depends on ripgrep's blocks.
    let has_loose_end = pattern.invert && pattern.max_count.is_some();
    let comparable = |out: Vec<u8>| {
        if has_loose_end {
            without_bytes_searched(&out)
        } else {
            out
        }
    };
    let expected = comparable(expected);
    for chunk in CHUNKS {
        let mut scan = Scan::new(&pattern, &print, chunk);
        for ((object, bytes), said) in files.iter().zip(&said) {
            let findings = scan.file(object, bytes);
            let is_binary = !object.named && findings.nul.is_some();
            if !(is_binary && print.format == Format::PathsWithout) {
                assert_eq!(
                    findings.found, said.found,
                    "seed {seed}, chunk {chunk}: {pattern:?} {print:?}"
                );
            }
            // An inverted search of ripgrep goes on in the next block after a printer has ended it.
            if pattern.invert && findings.nul.is_some() {
                continue;
            }
            if let (Some(stats), Format::Text | Format::Json) = (&said.stats, print.format) {
                assert_eq!(
                    (findings.matches, findings.lines),
                    (stats.matches(), stats.matched_lines()),
                    "seed {seed}, chunk {chunk}: {pattern:?} {print:?}"
                );
            }
        }
        let ours = comparable(scan.out);
        assert!(
            ours == expected,
            "seed {seed}, chunk {chunk}: {pattern:?} {print:?}\n{}\n--- files\n{:?}",
            difference(&ours, &expected),
            files
                .iter()
                .map(|(object, bytes)| (object, String::from_utf8_lossy(bytes)))
                .collect::<Vec<_>>(),
        );
    }
}

fn without_bytes_searched(json: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(json);
    let mut parts = text.split("\"bytes_searched\":");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    }
    out.into_bytes()
}

/// The lines around the first byte that differs.
fn difference(ours: &[u8], expected: &[u8]) -> String {
    let same = ours
        .iter()
        .zip(expected)
        .take_while(|(own, other)| own == other)
        .count();
    let around = |bytes: &[u8]| {
        let part = &bytes[same.saturating_sub(200)..bytes.len().min(same + 200)];
        String::from_utf8_lossy(part).into_owned()
    };
    format!("--- ours\n{}\n--- ripgrep's\n{}", around(ours), around(expected))
}

pub(crate) fn pattern(random: &mut Random) -> PatternConfig {
    let (patterns, fixed_strings) = random::patterns(random);
    let multi_line = random.one_in(5);
    let mut pattern = PatternConfig {
        fixed_strings,
        case: random.pick(&[Case::Sensitive, Case::Sensitive, Case::Insensitive, Case::Smart]),
        bounds: random.pick(&[
            Bounds::None,
            Bounds::None,
            Bounds::None,
            Bounds::Word,
            Bounds::Line,
        ]),
        invert: random.one_in(5),
        multi_line,
        crlf: random.one_in(5),
        text: random.one_in(5),
        max_count: random.one_in(4).then(|| random.pick(&[1, 1, 2, 3, 10])),
        ..PatternConfig::new(patterns)
    };
    if multi_line && !fixed_strings && random.one_in(2) {
        let ranges = [
            "use\\s+foo",
            "e\n",
            "(?s)foo.*?bar",
            "\n\n",
            "r$\n^u",
            "[^x]{30}",
            "\\s",
        ];
        pattern.patterns.push(random.pick(&ranges).to_owned());
    }
    pattern
}

pub(crate) fn print(random: &mut Random) -> PrintConfig {
    let context = random.one_in(3);
    PrintConfig {
        format: random.pick(&FORMATS),
        path: !random.one_in(3),
        strip_dot: false,
        heading: random.one_in(3),
        line_numbers: random.one_in(2),
        column: random.one_in(4),
        byte_offset: random.one_in(4),
        only_matching: random.one_in(4),
        color: random.one_in(3),
        before: if context { random.pick(&[0, 1, 2, 5]) } else { 0 },
        after: if context { random.pick(&[0, 1, 2, 5]) } else { 0 },
        stats: random.one_in(5),
        timed: false,
    }
}
