//! Scans as a user meets them: lines, exit codes, and messages about what makes no sense.

use std::fs;
use std::io::{Seek as _, SeekFrom};

use crate::program::{Folder, Outcome, program};

fn tree() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path().join("src/deep")).expect("the folder can be written to");
    folder.write("src/a.rs", "use b;\nfn a() {}\n");
    folder.write("src/deep/b.txt", "used\nUse\n");
    folder.write("src/data", "use\0\n");
    folder.write(".ignore", "left_out\n");
    folder.write("left_out", "use\n");
    folder.write(".hidden", "use\n");
    folder
}

#[test]
fn lines_of_a_tree_are_found_in_order() {
    let sorted = |arguments: &[&str]| {
        tree()
            .scan(["--sort", "path"].into_iter().chain(arguments.iter().copied()))
            .answer()
    };
    assert_eq!(sorted(&["use"]), "src/a.rs:use b;\nsrc/deep/b.txt:used\n");
    assert_eq!(
        sorted(&["-n", "-w", "-i", "use", "src"]),
        "src/a.rs:1:use b;\nsrc/deep/b.txt:2:Use\n"
    );
    assert_eq!(
        sorted(&["-c", "-e", "u", "-e", "U"]),
        "src/a.rs:1\nsrc/deep/b.txt:2\n"
    );
    assert_eq!(sorted(&["-l", "-t", "rust", "use"]), "src/a.rs\n");
    assert_eq!(
        sorted(&["-l", "-g", "!*.txt", "--hidden", "--no-ignore", "use"]),
        ".hidden\nleft_out\nsrc/a.rs\n"
    );
    assert_eq!(sorted(&["--files"]), "src/a.rs\nsrc/data\nsrc/deep/b.txt\n");
    assert_eq!(sorted(&["-A", "1", "use", "src/a.rs"]), "use b;\nfn a() {}\n");
}

#[test]
fn a_named_binary_file_is_said_to_match() {
    let out = tree().scan(["use", "src/data"]).answer();
    assert_eq!(out, "binary file matches (found \"\\0\" byte around offset 3)\n");
}

#[test]
fn json_ends_with_sums() {
    let out = tree().scan(["--json", "fn"]).answer();
    let types: Vec<_> = ["begin", "match", "end", "summary"]
        .map(|kind| format!("\"type\":\"{kind}\""))
        .into();
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), types.len(), "{out}");
    for (line, kind) in lines.iter().zip(types) {
        assert!(line.contains(&kind), "no {kind} in {line}");
    }
}

#[test]
fn exit_codes_are_those_of_grep() {
    assert_eq!(tree().scan(["nowhere to be found"]).code, Some(1));
    assert_eq!(tree().scan(["-q", "use"]).code, Some(0));
    let outcome = tree().scan(["use", "src", "gone"]);
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("gone") && outcome.stdout.contains("use b;"),
        "{outcome:?}"
    );
    let outcome = tree().scan(["-m", "0", "use"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
}

#[test]
fn arguments_that_make_no_sense_are_named() {
    let error = |arguments: &[&str], parts: &[&str]| {
        tree().scan(arguments.iter().copied()).assert_error(2, parts);
    };
    error(&[], &["a pattern is needed"]);
    error(&["("], &["unclosed group"]);
    error(&["a\nb"], &["not allowed", "-U"]);
    error(&["-f", "words", "."], &["words", "No such file"]);
    error(&["-t", "no-such-type", "a"], &["no-such-type"]);
    error(&["-g", "[", "a"], &["["]);
    error(&["-m", "many", "a"], &["many", "--max-count"]);
    error(&["--threads", "0", "a"], &["--threads", "at least one thread"]);
    error(
        &["--max-filesize", "1X", "a"],
        &["--max-filesize", "for example 10M"],
    );
    error(&["--sort", "size", "a"], &["size", "path"]);
}

#[test]
fn stats_say_what_became_of_each_object_and_the_sum_is_the_number_found() {
    let folder = tree();
    std::os::unix::fs::symlink("gone", folder.path().join("src/link")).expect("a link can be made");
    folder.write("src/large", "use\n".repeat(1_000));
    let arguments = ["--stats", "--max-filesize", "2K", "use", "src", "gone"];
    let outcome = folder.scan(arguments);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    let sums = "6 objects found = 1 clean + 2 with findings + 2 skipped + 1 failed\n\
                1 skipped: a symbolic link\n1 skipped: larger than the limit\n";
    assert!(outcome.stdout.ends_with(sums), "{outcome:?}");
    let json = folder.scan(arguments.into_iter().chain(["--json"])).stdout;
    let summary = json.lines().last().unwrap_or_default();
    let objects = r#""objects":{"clean":1,"cut_lines":0,"failed":1,"found":6,"skipped":{"cancelled":0,"link":1,"special":0,"too_large":1},"with_findings":2}"#;
    assert!(summary.contains(objects), "{summary}");
}

#[test]
fn a_line_that_is_searched_in_pieces_is_named_on_stderr_and_in_the_sums() {
    let folder = Folder::new();
    folder.write("long", [&[b'x'; 9 << 20][..], b"needle\nneedle\n"].concat());
    folder.write("short", "needle\n");
    for format in ["text", "json"] {
        let outcome = folder.scan(["--stats", "-o", "--format", format, "needle"]);
        assert_eq!(outcome.code, Some(0));
        assert_eq!(
            outcome.stderr,
            "warning: long: a line longer than 8 MiB searched in pieces of that length\n"
        );
        let sums = ["1 lines too long and searched in pieces", "\"cut_lines\":1"];
        assert!(sums.iter().any(|sum| outcome.stdout.contains(sum)));
    }
}

#[test]
fn files_above_the_limit_are_not_listed_and_a_named_one_is_searched() {
    let folder = Folder::new();
    folder.write("large", "use\n".repeat(100));
    folder.write("small", "use\n");
    let limited = |arguments: &[&str]| {
        let limit = ["--max-filesize", "50", "--sort", "path"];
        folder
            .scan(limit.into_iter().chain(arguments.iter().copied()))
            .answer()
    };
    assert_eq!(limited(&["--files"]), "small\n");
    assert_eq!(limited(&["--files", "large"]), "large\n");
    assert_eq!(limited(&["-c", "use"]), "small:1\n");
    assert_eq!(limited(&["-c", "use", "large"]), "100\n");
}

#[test]
fn bytes_printed_are_those_that_came_out() {
    let out = tree().scan(["--stats", "-C", "1", "-i", "use"]).answer();
    let (lines, sums) = out.split_once("\n\n").expect("an empty line is before the sums");
    assert!(lines.contains("\n--\n"), "two files: {out}");
    let printed = format!("\n{} bytes printed\n", lines.len() + 1);
    assert!(sums.contains(&printed), "{out}");
    assert!(!sums.contains("0.000000 seconds spent searching"), "{out}");
}

#[test]
fn a_working_directory_of_which_no_file_is_searched_is_an_error_and_says_so() {
    let none = ["-g", "*.none"];
    let outcome = tree().scan(none.into_iter().chain(["use"]));
    outcome.assert_error(2, &["no file was searched", "--hidden"]);
    // A folder that is named may well have no such file.
    assert_eq!(tree().scan(none.into_iter().chain(["use", "src"])).code, Some(1));
    assert_eq!(tree().scan(none.into_iter().chain(["--files"])).code, Some(1));
}

#[test]
fn lines_in_json_have_no_number_if_none_is_wanted() {
    let out = tree().scan(["--json", "-N", "fn"]).answer();
    assert!(
        out.contains("\"line_number\":null,\"absolute_offset\":7,"),
        "{out}"
    );
}

#[test]
fn a_pipe_is_searched_if_no_path_is_named_or_a_dash_is() {
    let folder = tree();
    let input = b"one\nuse\nthree\n";
    let answer = |arguments: &[&str]| folder.scan_of(input, arguments.iter().copied()).answer();
    assert_eq!(answer(&["-n", "use"]), "2:use\n");
    assert_eq!(answer(&["-c", "use", "-"]), "1\n");
    assert_eq!(answer(&["-l", "use"]), "<stdin>\n");
    assert_eq!(answer(&["-C", "1", "use"]), "one\nuse\nthree\n");
    assert_eq!(answer(&["-U", "one\\nuse"]), "one\nuse\n");
    assert_eq!(
        answer(&["--sort", "path", "use", "src/a.rs", "-"]),
        "src/a.rs:use b;\n<stdin>:use\n"
    );
    assert!(answer(&["--json", "use"]).contains(r#""path":{"text":"<stdin>"}"#));
    // A path that is named, and a list of files, leave the standard input alone.
    assert_eq!(answer(&["-c", "use", "src/a.rs"]), "1\n");
    assert!(answer(&["--files", "src"]).contains("src/a.rs\n"));
    assert_eq!(answer(&["-f", "-", "src/a.rs"]), "use b;\n");
    assert_eq!(folder.scan_of(b"", ["use"]).code, Some(1));
}

#[test]
fn a_long_pipe_is_searched_to_its_end_with_the_lines_around() {
    let line = |number: usize| format!("{number}{}\n", ["", " needle"][usize::from(number % 1_000 == 7)]);
    let input: String = (1..=600_000).map(line).collect();
    let folder = Folder::new();
    let answer = |arguments: &[&str]| {
        folder
            .scan_of(input.as_bytes(), arguments.iter().copied())
            .answer()
    };
    assert_eq!(answer(&["-c", "needle"]), "600\n");
    let shown = answer(&["-n", "-B", "1", "needle"]);
    assert_eq!(shown.lines().count(), 3 * 600 - 1);
    assert!(shown.ends_with("--\n599006-599006\n599007:599007 needle\n"));
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain(input.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(folder.scan_of(&utf16, ["-c", "needle"]).answer(), "600\n");
}

#[test]
fn a_file_as_standard_input_is_searched_from_where_it_stands() {
    let folder = tree();
    let input = |skipped: u64| {
        let mut file = fs::File::open(folder.path().join("src/deep/b.txt")).expect("it is there");
        file.seek(SeekFrom::Start(skipped)).expect("it is a file");
        let mut command = program();
        command.args(["scan", "-i", "-n", "use"]).stdin(file);
        Outcome::of(&command.output().expect("the program starts")).answer()
    };
    assert_eq!(input(0), "1:used\n2:Use\n");
    assert_eq!(input(5), "1:Use\n");
}

#[test]
fn a_folder_as_standard_input_is_an_error() {
    let folder = fs::File::open(tree().path()).expect("it is there");
    let mut command = program();
    command.args(["scan", "use", "-"]).stdin(folder);
    Outcome::of(&command.output().expect("the program starts")).assert_error(2, &["<stdin>", "directory"]);
}
