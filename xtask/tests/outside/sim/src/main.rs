//! On `sim` alone: a seed finds a race in a task graph, and its line replays it.

use std::cell::Cell;
use std::error::Error;
use std::panic;
use std::rc::Rc;

use sim::{Failure, Report, Simulation, TaskCtx};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Task {
    Start,
    Fill,
    Use,
}

/// Relies on the newest task running first, which a steal breaks.
fn run<C: TaskCtx<Task, u32>>(task: Task, filled: &Cell<bool>, cx: &mut C) {
    *cx.scratch() += 1;
    match task {
        Task::Start => {
            cx.spawn_local(Task::Use);
            cx.spawn_local(Task::Fill);
        }
        Task::Fill => filled.set(true),
        Task::Use => assert!(filled.get(), "the buffer is used before it is filled"),
    }
}

fn simulate(simulation: Simulation) -> Result<Report<Task, u32>, Failure> {
    let filled = Rc::new(Cell::new(false));
    simulation.run([Task::Start], |_worker| 0, move |task, cx| run(task, &filled, cx))
}

fn main() -> Result<(), Box<dyn Error>> {
    // The race panics on purpose.
    panic::set_hook(Box::new(|_| ()));
    let alone = simulate(Simulation::new(7).workers(1))?;
    assert_eq!(alone.scratches, [3]);

    let failure = (0..1_000).find_map(|seed| simulate(Simulation::new(seed).workers(3)).err());
    let failure = failure.ok_or("no seed of a thousand finds the race")?;
    let text = failure.to_string();
    let line = failure.course.line.to_string();
    if !text.contains("used before it is filled") || !text.contains(&line) {
        return Err(format!("the failure says neither what nor how to replay it: {text}").into());
    }
    let again = simulate(Simulation::replay(&line)?)
        .err()
        .ok_or("the line leads elsewhere")?;
    assert_eq!(again.course.trace_hash, failure.course.trace_hash);
    assert_eq!(again.oracle, failure.oracle);
    println!("sim: a race found, and found again from `{line}`");
    Ok(())
}
