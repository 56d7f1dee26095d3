//! The program `windlass-sim`: its output and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

fn windlass_sim(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_windlass-sim"))
        .args(arguments)
        .env("RUST_BACKTRACE", "0")
        .current_dir(Path::new(env!("CARGO_TARGET_TMPDIR")))
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn a_swarm_ends_with_a_table_and_a_closing_line() {
    let (code, stdout, stderr) = windlass_sim(&["--seeds", "50"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    for row in [
        "seeds",
        "schedules",
        "steps",
        "steps / s",
        "faults: ",
        "coverage points hit / total",
        "failures",
    ] {
        assert!(stdout.contains(row), "{row} is missing in\n{stdout}");
    }
    assert!(stdout.ends_with("swarm ok: 50 seeds, no failure\n"), "{stdout}");
}

#[test]
fn a_line_is_replayed_to_the_same_hash() {
    let line = "windlass-sim 1 scenario=mixed,roots=2,size=20,workers=3,spurious=4 sticky 12";
    let hash = || {
        let (code, stdout, stderr) = windlass_sim(&["--replay", line]);
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        let told = stdout.lines().find(|row| row.starts_with("trace hash "));
        told.expect("the hash is printed").to_owned()
    };
    assert_eq!(hash(), hash());
}

#[test]
fn a_trace_is_json() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trace.json");
    let arguments = ["--seeds", "1", "--seed-base", "7", "--trace"];
    let path_text = path.to_str().expect("a plain path");
    let (code, stdout, stderr) = windlass_sim(&[&arguments[..], &[path_text]].concat());
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let text = std::fs::read(&path).expect("it was written");
    let trace: serde_json::Value = serde_json::from_slice(&text).expect("it is JSON");
    assert!(
        trace["traceEvents"]
            .as_array()
            .is_some_and(|rows| rows.len() > 10)
    );
}

#[test]
fn a_page_has_the_line_and_the_picture() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page.html");
    let path_text = path.to_str().expect("a plain path");
    let line = "windlass-sim 1 scenario=tree,roots=1,size=2,workers=2 random 5";
    let (code, stdout, stderr) = windlass_sim(&["--replay", line, "--html", path_text]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let page = std::fs::read_to_string(&path).expect("it was written");
    assert!(page.contains(line) && page.contains("<svg "), "{page}");
}

#[test]
fn a_line_may_have_its_choices_in_it() {
    let line = "windlass-sim 1 scenario=flat,roots=1,size=0,workers=2 random 0 2*6.1*4/0";
    let (code, stdout, stderr) = windlass_sim(&["--replay", line]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let line = "windlass-sim 1 scenario=flat,roots=1,size=0,workers=2 random 0 2*6.x";
    let (code, _, stderr) = windlass_sim(&["--replay", line]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("`x`"), "{stderr}");
}

/// A limit that cuts a good run short makes correct code fail.
#[test]
fn shrinking_tells_what_it_came_to() {
    let scenario = "scenario=tree,roots=2,size=5,workers=3,steps=300";
    let arguments = [
        "--scenario",
        scenario,
        "--seeds",
        "3",
        "--report",
        "2",
        "--shrink",
    ];
    let (code, stdout, stderr) = windlass_sim(&arguments);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    let told = stdout
        .lines()
        .filter(|row| row.starts_with("shrunk `liveness`: steps 301 -> "));
    assert_eq!(told.count(), 2, "{stdout}");
    assert!(
        stdout.contains("shrunk 2 failures, in the median: steps 301 -> "),
        "{stdout}"
    );
}

#[test]
fn a_failure_that_is_expected_and_does_not_come_is_a_failure() {
    let (code, stdout, _) = windlass_sim(&["--expect-failure", "--seeds", "20"]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(
        stdout.contains("no failure in 20 schedules, but one was expected"),
        "{stdout}"
    );
}

#[test]
fn a_search_ends_with_a_table_and_fails_if_it_does_not_close() {
    let scenario = "scenario=flat,roots=1,workers=1,spin=0,private=0,credit=1,tries=1";
    let arguments = ["--exhaustive", "--scenario", scenario];
    let (code, stdout, stderr) = windlass_sim(&arguments);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let last = stdout.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("exhaustive ok: 1 of 1 configurations closed, 0 failures"),
        "{stdout}"
    );
    let (code, stdout, _) = windlass_sim(&[&arguments[..], &["--limit", "5"]].concat());
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("no, gave up"), "{stdout}");
    let (code, stdout, _) = windlass_sim(&[&arguments[..], &["--expect-failure"]].concat());
    assert_eq!(code, Some(1), "{stdout}");
}

#[test]
fn nonsense_is_refused_with_exit_code_2_and_a_reason() {
    for (arguments, about) in [
        (&["--sseds", "1"][..], "`--sseds`"),
        (&["--seeds"], "needs a value"),
        (&["--seeds", "many"], "`--seeds many`"),
        (&["--seeds", "0"], "`--seeds` is 0"),
        (&["--replay", "windlass-sim 1"], "five words"),
        (
            &["--replay", "windlass-sim 1 scenario=flat,worker=1 random 0"],
            "`worker`",
        ),
        (
            &[
                "--replay",
                "windlass-sim 1 scenario=flat random 0",
                "--seeds",
                "3",
            ],
            "does not go with",
        ),
        (&["--scenario", "scenario=flat,workers=0"], "`workers` is 0"),
        (&["--strategy", "luck"], "`luck` is no strategy"),
        (&["--choices", "no-such-file"], "no-such-file"),
        (&["--exhaustive", "--seeds", "3"], "`--seeds`"),
        (&["--exhaustive", "--preemptions", "3"], "go with `--scenario`"),
        (&["--exhaustive", "--scenario", "scenario=flat"], "`spin`"),
    ] {
        let (code, stdout, stderr) = windlass_sim(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stdout}{stderr}");
        assert!(stderr.contains(about), "{arguments:?}: {stderr}");
        assert_eq!(stdout, "", "{arguments:?}");
    }
}
