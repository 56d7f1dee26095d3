//! Ten million tasks that wait: what each of them takes in memory.
//!
//! The allocator of a process keeps what was freed, so each contender has a process of its own: this program again,
//! with [`OPTION`]. All workers are held up by tasks that wait for a gate while the queue fills.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::{Column, Effort, Workload};
use crate::THREADS;
use crate::contender::{Contender, Named, Outcome};
use crate::pool::{self, Ours, Start};
use crate::target::{Of, Target};

/// The option of this program that measures one contender here and prints bytes and answer. Not for people.
pub(crate) const OPTION: &str = "queued";

/// A task of 16 bytes: what it is, and a number.
type Task = [u64; 2];

const NUMBER: u64 = 0;
/// Holds its worker up until the gate opens.
const HOLD: u64 = 1;
/// Spawns tasks, as many as its number says, measures, and opens the gate.
const FILL: u64 = 2;

/// One contender a process: what it needs to know is the process's.
static HELD: AtomicU64 = AtomicU64::new(0);
static FILLED_BYTES: AtomicU64 = AtomicU64::new(0);
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// Who fills the queue.
#[derive(Clone, Copy)]
enum From {
    Outside,
    Inside,
}

impl From {
    const ALL: [Self; 2] = [Self::Outside, Self::Inside];

    fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Inside => "inside",
        }
    }
}

fn pools() -> Vec<Start<Task>> {
    pool::all(&[Ours::plain()], run)
}

pub(super) fn workloads(effort: Effort) -> Vec<Workload> {
    let tasks = effort.of(10_000_000, 1_000_000);
    let workload = |from: From| {
        let mut contenders: Vec<Box<dyn Contender>> = Vec::new();
        for pool in pools() {
            let name = pool.name.clone();
            let start = move || {
                let name = name.clone();
                move || elsewhere(&format!("{}:{name}", from.name()), effort)
            };
            contenders.push(Named::new(pool.name, pool.role, start).boxed());
        }
        Workload {
            name: format!("queued tasks, {}", from.name()),
            story: format!(
                "{} million tasks of 16 bytes are spawned from {} while no worker takes one: resident memory more than before, by \
                 task. Each contender in a process of its own.",
                tasks / 1_000_000,
                from.name()
            ),
            units: tasks,
            columns: vec![Column::Measured {
                head: "bytes per task",
                index: 0,
            }],
            warm_ups: 0,
            rounds_max: 1,
            answer: Box::new(move || answer(tasks)),
            contenders,
            targets: vec![Target::at_most(1.0, Of::Number(64.0))],
            is_elsewhere: true,
            family: None,
        }
    };
    From::ALL.map(workload).into()
}

fn answer(tasks: u64) -> u64 {
    tasks * (tasks - 1) / 2
}

/// Starts this program again for one contender.
fn elsewhere(contender: &str, effort: Effort) -> Outcome {
    let program = std::env::current_exe().expect("a program knows where it is");
    let mut command = Command::new(program);
    command.args([format!("--{OPTION}"), contender.to_owned()]);
    if effort.quick {
        command.arg("--quick");
    }
    let output = command.output().expect("this program can be started again");
    assert!(
        output.status.success(),
        "{contender}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let bytes = words.next().and_then(|word| word.parse().ok());
    let answer = words.next().and_then(|word| word.parse().ok());
    Outcome {
        answer: answer.expect("the answer is the second word"),
        measured: vec![bytes.expect("bytes per task are the first word")],
        ..Outcome::default()
    }
}

/// Measures one contender, named `outside:name` or `inside:name`, in this process, and prints bytes per task and the
/// answer.
///
/// # Errors
///
/// When there is no contender of this name.
pub(crate) fn measure_here(contender: &str, effort: Effort) -> Result<(), String> {
    let tasks = effort.of(10_000_000, 1_000_000);
    let unknown = || format!("there is no contender {contender:?}");
    let (from, name) = contender.split_once(':').ok_or_else(unknown)?;
    let from = From::ALL.into_iter().find(|known| known.name() == from);
    let (from, start) = from
        .zip(pools().into_iter().find(|pool| pool.name == name))
        .ok_or_else(unknown)?;
    let mut pool = (start.start)();
    let held = match from {
        From::Outside => THREADS as u64,
        From::Inside => THREADS as u64 - 1,
    };
    (0..held).for_each(|_| pool.spawn([HOLD, 0]));
    while HELD.load(Ordering::Relaxed) < held {
        std::thread::yield_now();
    }
    match from {
        From::Outside => {
            fill(tasks, |task| pool.spawn(task));
        }
        From::Inside => {
            pool.spawn([FILL, tasks]);
        }
    }
    let all = match from {
        From::Outside => tasks + held,
        From::Inside => tasks + held + 1,
    };
    let answer = pool.wait(all);
    let bytes = FILLED_BYTES.load(Ordering::Relaxed) as f64 / tasks as f64;
    println!("{bytes} {answer}");
    Ok(())
}

fn run([what, number]: Task, spawn: &mut dyn FnMut(Task)) -> u64 {
    let (open, opened) = &GATE;
    match what {
        NUMBER => return number,
        HOLD => {
            HELD.fetch_add(1, Ordering::Relaxed);
            let closed = open.lock().unwrap_or_else(PoisonError::into_inner);
            drop(opened.wait_while(closed, |open| !*open));
        }
        FILL => fill(number, spawn),
        other => unreachable!("no task is {other}"),
    }
    0
}

/// Spawns the tasks, notes what they took, and opens the gate.
fn fill(tasks: u64, mut spawn: impl FnMut(Task)) {
    let before = resident_bytes();
    (0..tasks).for_each(|n| spawn([NUMBER, n]));
    FILLED_BYTES.store(resident_bytes().saturating_sub(before), Ordering::Relaxed);
    let (open, opened) = &GATE;
    *open.lock().unwrap_or_else(PoisonError::into_inner) = true;
    opened.notify_all();
}

/// Memory of this process that is in use, by the kernel's count.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("the kernel tells in KiB") * 1_024
}
