//! Two races of a user's own: found, shrunk to a few steps, and replayed from one line.
//!
//!     cargo run -p sim --example own_races
//!     cargo test -p sim --example own_races
//!
//! A *lost update*: two tasks add one to a total. A *graph that waits for itself*: tasks wait for
//! their children, and no worker is free to run one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use executor_threaded::{Executor, ExecutorConfig};
use sim::{Access, Failure, Simulation, TaskCtx};

struct AddOne;

fn add_one<C: TaskCtx<AddOne, ()> + Access>(total: &AtomicU64, cx: &mut C) {
    // Ordering: Relaxed. One word, read after the executor has ended.
    let seen = cx.access("read the total", || total.load(Ordering::Relaxed));
    // Ordering: Relaxed. As above. One `fetch_add` would be correct.
    cx.access("write one more", || total.store(seen + 1, Ordering::Relaxed));
}

fn two_add_one(simulation: Simulation) -> Result<(), Failure> {
    let total = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&total);
    let report = simulation.run([AddOne, AddOne], |_| (), move |AddOne, cx| add_one(&shared, cx))?;
    // Ordering: Relaxed. There is one thread.
    let total = total.load(Ordering::Relaxed);
    report.ensure(total == 2, || {
        format!("two tasks added one each, and the total is {total}")
    })?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Node {
    Parent(usize),
    Child(usize),
}

fn visit<C: TaskCtx<Node, ()> + Access>(node: Node, done: &[AtomicBool], cx: &mut C) {
    match node {
        Node::Parent(n) => {
            cx.spawn_local(Node::Child(n));
            // Ordering: Acquire. What the child wrote comes before what its parent does next; pairs
            // with the Release below.
            let _has_run = cx.wait_until("its child has run", || done[n].load(Ordering::Acquire));
        }
        // Ordering: Release. As above.
        Node::Child(n) => cx.access("say that it has run", || done[n].store(true, Ordering::Release)),
    }
}

fn two_families(simulation: Simulation) -> Result<(), Failure> {
    let done = [(); 2].map(|()| AtomicBool::new(false));
    simulation.run(
        [Node::Parent(0), Node::Parent(1)],
        |_| (),
        move |node, cx| visit(node, &done, cx),
    )?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("On two threads, the total is {}.\n", on_threads()?);

    for (name, body) in [
        (
            "two add one",
            two_add_one as fn(Simulation) -> Result<(), Failure>,
        ),
        ("two families", two_families),
    ] {
        match Simulation::new(0).workers(2).explore(0..1_000, body) {
            Ok(schedules) => println!("{name}: {schedules} schedules, and nothing found"),
            Err(failure) => println!("{name}\n{failure}\n"),
        }
    }
    Ok(())
}

fn on_threads() -> Result<u64, Box<dyn std::error::Error>> {
    let total = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&total);
    let config = ExecutorConfig::new(2);
    let executor = Executor::new(config, |_| (), move |AddOne, cx| add_one(&shared, cx))?;
    executor.spawn_external(AddOne)?;
    executor.spawn_external(AddOne)?;
    executor.join();
    // Ordering: Relaxed. After the join.
    Ok(total.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use sim::Oracle;

    use super::*;

    fn found(body: fn(Simulation) -> Result<(), Failure>) -> Failure {
        let found = Simulation::new(0).workers(2).explore(0..1_000, body);
        let failure = found.expect_err("there is a race");
        let line = failure.course.line.to_string();
        let again = Simulation::replay(&line).map(body).expect("it is a line");
        let again = again.expect_err("the line leads to it");
        assert_eq!(again.course.trace_hash, failure.course.trace_hash, "{line}");
        failure
    }

    #[test]
    fn a_lost_update_is_found_shrunk_and_replayed() {
        let failure = found(two_add_one);
        assert_eq!(failure.oracle, Oracle::Expectation);
        assert_eq!(failure.message, "two tasks added one each, and the total is 1");
        let before = failure.found.as_deref().expect("it was shrunk");
        let (steps, switches) = failure.course.size();
        assert!(steps < before.steps && switches < before.switches, "{failure}");
        let table = failure.to_string();
        assert!(table.contains("read the total"), "{table}");
    }

    #[test]
    fn a_graph_that_waits_for_itself_is_found_shrunk_and_replayed() {
        let failure = found(two_families);
        assert_eq!(failure.oracle, Oracle::Deadlock);
        assert!(
            failure.sentence().contains("waits until its child has run"),
            "{failure}"
        );
    }

    /// The corpus keeps a mended failure: its printed line, and a run that now passes.
    #[test]
    fn an_atomic_addition_loses_nothing_under_the_schedule_that_lost_one() {
        let line = "windlass-sim 1 scenario=own,workers=2,tries=1,spin=0 sticky 2 2*9.3*3.0*8.1*27.0*17.1*10";
        let total = Arc::new(AtomicU64::new(0));
        let shared = Arc::clone(&total);
        let simulation = Simulation::replay(line).expect("it is a line");
        let report = simulation.run(
            [AddOne, AddOne],
            |_| (),
            // Ordering: Relaxed. One word, read at the end.
            move |AddOne, cx| cx.access("add one", || _ = shared.fetch_add(1, Ordering::Relaxed)),
        );
        report.unwrap_or_else(|failure| panic!("{failure}"));
        // Ordering: Relaxed. There is one thread.
        assert_eq!(total.load(Ordering::Relaxed), 2);
    }
}
