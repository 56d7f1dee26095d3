//! What ripgrep's printers cannot show: long lines, NULs after the first block, anchors of the text.

use scan::engine::{Engine, Found, Piece, Unit};
use scan::object::Object;
use scan::pattern::PatternConfig;
use scan::print::{Format, PrintConfig, Printer};

use crate::pieces::Scan;

fn walked() -> Object {
    Object {
        id: 0,
        path: "f".into(),
        named: false,
    }
}

fn named() -> Object {
    Object {
        named: true,
        ..walked()
    }
}

fn printed(object: &Object, bytes: &[u8], pattern: &PatternConfig, print: &PrintConfig) -> String {
    let mut outs = [16, 4_096, 256 << 10].map(|chunk| {
        let mut scan = Scan::new(pattern, print, chunk);
        scan.file(object, bytes);
        String::from_utf8(scan.out).expect("the files are text")
    });
    assert_eq!(outs[0], outs[1]);
    assert_eq!(outs[0], outs[2]);
    std::mem::take(&mut outs[0])
}

/// Lines of 8 bytes, and a NUL at `nul`.
fn lines_with_nul(lines: usize, nul: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..lines)
        .flat_map(|line| format!("{line:07}\n").into_bytes())
        .collect();
    bytes[nul] = 0;
    bytes
}

#[test]
fn lines_of_the_blocks_before_a_nul_are_text() {
    let bytes = lines_with_nul(20_000, 2 * 65_536 + 100);
    let pattern = PatternConfig::new(["0000001|0008191|0016383|0016384|0019999"]);
    let message =
        "f: WARNING: stopped searching binary file after match (found \"\\0\" byte around offset 131172)\n";
    let expected = format!("f:0000001\nf:0008191\nf:0016383\n{message}");
    assert_eq!(
        printed(&walked(), &bytes, &pattern, &PrintConfig::default()),
        expected
    );
    let message = "f: binary file matches (found \"\\0\" byte around offset 131172)\n";
    let expected = format!("f:0000001\nf:0008191\nf:0016383\n{message}");
    assert_eq!(
        printed(&named(), &bytes, &pattern, &PrintConfig::default()),
        expected
    );
}

#[test]
fn a_walked_file_with_a_nul_has_no_count_and_a_named_one_has() {
    let bytes = lines_with_nul(20_000, 2 * 65_536 + 100);
    let pattern = PatternConfig::new(["0000001|0019999"]);
    let print = PrintConfig {
        format: Format::Count,
        ..PrintConfig::default()
    };
    assert_eq!(printed(&walked(), &bytes, &pattern, &print), "");
    assert_eq!(printed(&named(), &bytes, &pattern, &print), "f:2\n");
}

#[test]
fn a_path_is_printed_once_a_line_before_the_block_with_a_nul_is_found() {
    let print = PrintConfig {
        format: Format::Paths,
        ..PrintConfig::default()
    };
    let without = PrintConfig {
        format: Format::PathsWithout,
        ..PrintConfig::default()
    };
    let bytes = lines_with_nul(20_000, 65_536);
    for (pattern, path) in [
        ("0000001", "f\n"),
        ("0008191", "f\n"),
        ("0008192", ""),
        ("none", ""),
    ] {
        let pattern = PatternConfig::new([pattern]);
        assert_eq!(printed(&walked(), &bytes, &pattern, &print), path, "{pattern:?}");
        assert_eq!(printed(&walked(), &bytes, &pattern, &without), "", "{pattern:?}");
    }
}

#[test]
fn a_named_binary_file_is_found_even_if_a_line_before_would_be_due() {
    let print = PrintConfig {
        before: 2,
        ..PrintConfig::default()
    };
    let out = printed(
        &named(),
        b"one\ntwo\n\0three\n",
        &PatternConfig::new(["three"]),
        &print,
    );
    assert_eq!(
        out,
        "f: binary file matches (found \"\\0\" byte around offset 8)\n"
    );
}

#[test]
fn a_line_is_the_text_that_anchors_of_the_text_mean() {
    let bytes = b"foo\nxfoo\nfoo x\nfoo\n";
    let all = PrintConfig {
        path: false,
        ..PrintConfig::default()
    };
    let printed = |pattern: &str| printed(&walked(), bytes, &PatternConfig::new([pattern]), &all);
    assert_eq!(printed(r"\Afoo"), "foo\nfoo x\nfoo\n");
    assert_eq!(printed(r"foo\z"), "foo\nxfoo\nfoo\n");
    assert_eq!(printed(r"\Afoo\z"), "foo\nfoo\n");
}

#[test]
fn a_piece_without_a_newline_is_a_line() {
    let pattern = PatternConfig {
        max_line: 4,
        ..PatternConfig::new(["c$"])
    };
    let print = PrintConfig {
        path: false,
        line_numbers: true,
        ..PrintConfig::default()
    };
    let (engine, _) = Printer::new(&pattern, print).expect("the pattern is right");
    assert_eq!(engine.unit(), Unit::Lines { max_line: 4 });
    let (mut scratch, mut found) = (engine.scratch(), Found::default());
    for (offset, bytes, last) in [
        (0, "a\n", false),
        (2, "abbc", false),
        (6, "bc\n", false),
        (9, "c", true),
    ] {
        let piece = Piece {
            bytes: bytes.as_bytes(),
            offset,
            named: false,
            last,
        };
        engine.scan(piece, &mut scratch, &mut found);
    }
    let places: Vec<_> = found
        .findings
        .iter()
        .map(|at| (at.offset, at.line, at.len))
        .collect();
    assert_eq!(places, [(2, 1, 4), (6, 1, 3), (9, 2, 1)]);
    assert_eq!(
        (found.text.as_slice(), found.lines, found.bytes),
        (&b"abbcbc\nc"[..], 2, 10)
    );
}
