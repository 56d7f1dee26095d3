//! What Ctrl-C does to a running query.

#![cfg(target_os = "linux")]

use std::process::{Command, Stdio};

use crate::program::{Outcome, program};

/// Whether the process handles SIGINT itself, from the kernel's own books.
fn handles_sigint(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:"))
        .map(str::trim)
        .unwrap_or("0");
    u64::from_str_radix(mask, 16).is_ok_and(|mask| mask & (1 << (2 - 1)) != 0)
}

#[test]
fn an_interrupt_ends_the_program_with_a_word_and_no_result() {
    // Minutes of work, were it not interrupted.
    let mut child = program()
        .args([
            "query",
            "--tpch",
            "100",
            "--threads",
            "1",
            "select sum(l_tax) from lineitem",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    while !handles_sigint(child.id()) {
        assert!(
            child.try_wait().expect("it can be asked").is_none(),
            "it ended before it could be interrupted"
        );
        std::thread::yield_now();
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .expect("kill starts");
    assert!(sent.success());
    let outcome = Outcome::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    assert!(
        outcome.stderr.contains("cancel") && !outcome.stderr.contains("panicked"),
        "{outcome:?}"
    );
}
