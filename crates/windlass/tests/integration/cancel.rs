//! Ctrl-C during a query, on a terminal and without one.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Read;
use std::process::{Child, Stdio};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::program::{Outcome, program};

/// The far side of the terminal that is the program's stderr.
struct Screen {
    output: File,
    text: String,
}

impl Screen {
    /// Returns false at the terminal's end.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4_096];
        // After the last holder of the terminal has closed it, Linux says EIO.
        let Ok(len @ 1..) = self.output.read(&mut bytes) else {
            return false;
        };
        self.text.push_str(&String::from_utf8_lossy(&bytes[..len]));
        true
    }

    fn per_cent(&self) -> Option<u32> {
        let (before, _) = self.text.rsplit_once(" %")?;
        before.rsplit(' ').next()?.parse().ok()
    }
}

fn start_on_a_terminal() -> (Child, Screen) {
    let size = Winsize {
        ws_row: 24,
        ws_col: 100,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let terminal = openpty(Some(&size), None).expect("the system has terminals");
    let child = minutes_of_work()
        .stderr(terminal.slave)
        .spawn()
        .expect("the program starts");
    let screen = Screen {
        output: File::from(terminal.master),
        text: String::new(),
    };
    (child, screen)
}

/// 60 million generated rows, one thread.
fn minutes_of_work() -> std::process::Command {
    let mut command = program();
    command
        .args(["query", "--tpch", "40", "--threads", "1"])
        .arg("select sum(o_totalprice) from orders")
        .stdout(Stdio::piped());
    command
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(child.id().try_into().expect("a process number"));
    kill(pid, Signal::SIGINT).expect("the program is still there");
}

#[test]
fn an_interrupt_while_slots_run_cancels_the_query_and_leaves_a_clean_terminal() {
    let (child, mut screen) = start_on_a_terminal();
    while screen.per_cent().is_none_or(|shown| shown == 0) {
        assert!(screen.read(), "it ended before slots had run: {}", screen.text);
    }
    assert!(screen.text.contains("generating orders"), "{}", screen.text);
    interrupt(&child);
    while screen.read() {}
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", screen.text);
    assert!(output.stdout.is_empty(), "{output:?}");
    let (_, said) = screen
        .text
        .split_once("cancelling; Ctrl-C again ends at once\r\n")
        .expect("a word at once");
    let left = said.rsplit("\u{1b}[2K").next();
    assert_eq!(left, Some("error: the query was cancelled\r\n"), "{said:?}");
}

/// From the kernel's own books.
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
fn an_interrupt_without_a_terminal_at_whatever_moment_ends_the_program_with_a_word_and_no_result() {
    let mut child = minutes_of_work()
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
    interrupt(&child);
    let outcome = Outcome::of(&child.wait_with_output().expect("it ends"));
    assert_eq!(outcome.code, Some(130), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
    // No key is echoed; the word depends on whether a job ran yet.
    assert!(
        matches!(
            outcome.stderr.as_str(),
            "cancelled\n" | "cancelling; Ctrl-C again ends at once\nerror: the query was cancelled\n"
        ),
        "{outcome:?}"
    );
}
