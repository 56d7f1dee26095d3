//! Ten million waiting tasks: memory of each.
//!
//! A process's allocator keeps freed memory, so each contender has a process of its own: this
//! program with the argument [`QUEUED`]. Workers are held while the queue fills.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::THREADS;
use crate::contender::{Contender, Outcome};
use crate::options::Options;
use crate::pool::{self, Ours, Start};
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// First argument of a process that measures one row.
const QUEUED: &str = "queued";

/// A task's kind and a number.
type Task = [u64; 2];

const NUMBER: u64 = 0;
/// Holds its worker until the gate opens.
const HOLD: u64 = 1;
/// Spawns the given number of tasks, measures, and opens the gate.
const FILL: u64 = 2;

/// Statics, since a process has one contender.
static HELD: AtomicU64 = AtomicU64::new(0);
static FILLED_BYTES: AtomicU64 = AtomicU64::new(0);
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

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

pub(super) fn workloads(options: &Options) -> Vec<Workload> {
    let tasks = options.of(10_000_000, 1_000_000);
    let workload = |from: From| {
        let mut contenders: Vec<Contender> = Vec::new();
        for pool in pools() {
            let name = pool.name.clone();
            let start = move || {
                let name = name.clone();
                move || elsewhere(&format!("{}:{name}", from.name()), tasks)
            };
            contenders.push(Contender::new(pool.name, pool.role, start));
        }
        Workload::new(
            format!("queued tasks, {}", from.name()),
            format!(
                "{} million tasks of 16 bytes are spawned from {} while no worker takes one: \
                 resident memory more than before, by task. Each contender in a process of its own.",
                tasks / 1_000_000,
                from.name()
            ),
        )
        .units(tasks)
        .columns([Column::measured("bytes per task", 0)])
        .cold()
        .rounds_max(1)
        .answer(move || answer(tasks))
        .rows(contenders)
        .targets([Target::at_most(1.0, Of::Number(64.0))])
        .elsewhere()
    };
    From::ALL.map(workload).into()
}

fn answer(tasks: u64) -> u64 {
    tasks * (tasks - 1) / 2
}

fn elsewhere(contender: &str, tasks: u64) -> Outcome {
    let program = std::env::current_exe().expect("a program knows where it is");
    let mut command = Command::new(program);
    command.args([QUEUED, &tasks.to_string(), contender]);
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

/// The number of tasks and the row, in a process that measures one.
pub(crate) fn asked_for() -> Option<[String; 2]> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next()? == QUEUED).then_some(())?;
    Some([arguments.next()?, arguments.next()?])
}

/// Measures the contender `outside:name` or `inside:name`. Prints bytes per task and the answer.
pub(crate) fn measure_here([tasks, contender]: &[String; 2]) -> anyhow::Result<()> {
    let tasks: u64 = tasks.parse()?;
    let unknown = || anyhow::anyhow!("there is no contender {contender:?}");
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

fn fill(tasks: u64, mut spawn: impl FnMut(Task)) {
    let before = resident_bytes();
    (0..tasks).for_each(|n| spawn([NUMBER, n]));
    FILLED_BYTES.store(resident_bytes().saturating_sub(before), Ordering::Relaxed);
    let (open, opened) = &GATE;
    *open.lock().unwrap_or_else(PoisonError::into_inner) = true;
    opened.notify_all();
}

/// The kernel's count.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("the kernel tells in KiB") * 1_024
}
