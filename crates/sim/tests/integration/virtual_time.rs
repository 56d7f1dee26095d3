//! Virtual time: work and span are the graph's, no run beats its bounds, and costs mean what their
//! names say.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;
use sim::{Costs, Profile, Reached, SimCtx, Simulation, StrategyKind, TaskCtx};

#[derive(Clone, Debug)]
enum Graph {
    Task(u64),
    Series(Vec<Graph>),
    /// In parallel, between a task that spawns all of them and one that follows all.
    Parallel(Vec<Graph>),
}

impl Graph {
    fn work_ns(&self) -> u64 {
        match self {
            Self::Task(ns) => *ns,
            Self::Series(parts) | Self::Parallel(parts) => parts.iter().map(Self::work_ns).sum(),
        }
    }

    fn span_ns(&self) -> u64 {
        match self {
            Self::Task(ns) => *ns,
            Self::Series(parts) => parts.iter().map(Self::span_ns).sum(),
            Self::Parallel(parts) => parts.iter().map(Self::span_ns).max().unwrap_or(0),
        }
    }
}

fn graphs() -> impl Strategy<Value = Graph> {
    let task = (0_u64..30_000).prop_map(Graph::Task);
    task.prop_recursive(4, 60, 6, |part| {
        prop_oneof![
            prop::collection::vec(part.clone(), 1..4).prop_map(Graph::Series),
            prop::collection::vec(part, 1..7).prop_map(Graph::Parallel),
        ]
    })
}

#[derive(Clone)]
enum Job {
    Run(Graph, Rc<Job>),
    Join(Rc<RefCell<Joining>>),
    Over,
}

struct Joining {
    left: usize,
    reached: Reached,
    then: Rc<Job>,
}

/// Runs a path: a task spawns what follows it; the last path into a join continues after it.
fn run(job: Job, cx: &mut SimCtx<'_, Job, ()>) {
    let Job::Run(graph, then) = job else {
        return go_on(&job, cx);
    };
    match graph {
        Graph::Task(ns) => {
            cx.work(ns);
            go_on(&then, cx);
        }
        Graph::Series(parts) => {
            let then = parts
                .into_iter()
                .rev()
                .fold(then, |then, part| Rc::new(Job::Run(part, then)));
            go_on(&then, cx);
        }
        Graph::Parallel(parts) => {
            let joining = Joining {
                left: parts.len(),
                reached: Reached::default(),
                then,
            };
            let join = Rc::new(Job::Join(Rc::new(RefCell::new(joining))));
            parts
                .into_iter()
                .for_each(|part| cx.spawn_local(Job::Run(part, Rc::clone(&join))));
        }
    }
}

fn go_on(job: &Job, cx: &mut SimCtx<'_, Job, ()>) {
    match job {
        Job::Over => {}
        Job::Run(..) => cx.spawn_local(job.clone()),
        Job::Join(joining) => {
            let then = {
                let mut joining = joining.borrow_mut();
                joining.reached = joining.reached.max(cx.reached());
                joining.left -= 1;
                if joining.left > 0 {
                    return;
                }
                cx.comes_after(joining.reached);
                Rc::clone(&joining.then)
            };
            go_on(&then, cx);
        }
    }
}

fn profile(graph: &Graph, workers: usize, costs: &Costs, strategy: StrategyKind, seed: u64) -> Profile {
    let root = Job::Run(graph.clone(), Rc::new(Job::Over));
    let report = Simulation::new(seed)
        .workers(workers)
        .strategy(strategy)
        .costs(costs.clone())
        .run([root], |_| (), run);
    report.unwrap_or_else(|failure| panic!("{failure}")).profile
}

fn free() -> Costs {
    let mut costs = Costs::default();
    costs.set_all(0);
    costs
}

const STRATEGIES: &[StrategyKind] = &[
    StrategyKind::Random,
    StrategyKind::Sticky,
    StrategyKind::RoundRobin,
    StrategyKind::Earliest,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_run_beats_work_and_span(
        graph in graphs(),
        workers in 1_usize..9,
        strategy in prop::sample::select(STRATEGIES),
        seed in any::<u64>(),
    ) {
        let profile = profile(&graph, workers, &Costs::default(), strategy, seed);
        prop_assert_eq!(profile.work_ns, graph.work_ns());
        prop_assert_eq!(profile.span_ns, graph.span_ns());
        prop_assert!(profile.burdened_span_ns >= profile.span_ns);
        prop_assert!(profile.elapsed_ns >= profile.lower_bound_ns(workers), "{:?}", profile);
    }

    /// Without costs the executor is greedy, except for tasks in a buffer until their owner's next
    /// tick.
    #[test]
    fn one_worker_without_costs_takes_the_work(graph in graphs(), seed in any::<u64>()) {
        let profile = profile(&graph, 1, &free(), StrategyKind::Earliest, seed);
        prop_assert_eq!(profile.elapsed_ns, graph.work_ns());
    }

    #[test]
    fn more_workers_take_no_longer_but_for_the_burden(graph in graphs(), seed in any::<u64>()) {
        let costs = Costs::default();
        let elapsed = |workers| profile(&graph, workers, &costs, StrategyKind::Earliest, seed);
        let (one, four) = (elapsed(1), elapsed(4));
        let burdened_ns = one.elapsed_ns + four.burdened_span_ns;
        prop_assert!(four.elapsed_ns <= burdened_ns, "{one:?} {four:?}");
    }
}

fn fan(costs: &Costs) -> Profile {
    let report = Simulation::new(3)
        .workers(4)
        .strategy(StrategyKind::Earliest)
        .costs(costs.clone())
        .begin_ns(1_000_000)
        .run(
            [400_u32],
            |_| (),
            |leaves, cx| {
                (0..leaves).for_each(|_| cx.spawn_local(0));
                cx.work(2_000);
            },
        );
    report.unwrap_or_else(|failure| panic!("{failure}")).profile
}

#[test]
fn work_and_span_of_a_fan_are_known() {
    let profile = fan(&Costs::default());
    assert_eq!(
        (profile.tasks, profile.work_ns, profile.span_ns),
        (401, 802_000, 2_000)
    );
    assert_eq!(profile.answered_ns, None, "nobody waited");
}

/// Each of these costs occurs in the run, so a mutant that omits one is noticed.
#[test]
fn each_cost_on_the_way_lengthens_the_run() {
    let base = fan(&Costs::default()).elapsed_ns;
    for name in [
        "steal_ps",
        "steal_task_ps",
        "line_read_ps",
        "line_write_ps",
        "wake_ps",
        "unpark_ps",
        "push_ps",
        "pop_ps",
        "fence_ps",
        "task_ps",
    ] {
        let mut costs = Costs::default();
        costs.set(name, 20_000_000).expect("there is such a cost");
        let dearer = fan(&costs).elapsed_ns;
        assert!(
            dearer > base + base / 50,
            "{name}: {dearer} ns, and {base} ns with its default"
        );
    }
}

#[test]
fn costs_and_the_moment_of_beginning_are_in_the_replay_line() {
    let mut costs = Costs::default();
    costs.set("wake_ps", 77).expect("there is such a cost");
    let simulation = Simulation::new(5)
        .workers(3)
        .strategy(StrategyKind::Earliest)
        .costs(costs)
        .begin_ns(1_000_000);
    let run = |simulation: Simulation| {
        let report = simulation.run(
            [30_u32],
            |_| (),
            |leaves, cx| {
                (0..leaves).for_each(|_| cx.spawn_local(0));
                cx.work(5_000);
            },
        );
        report.unwrap_or_else(|failure| panic!("{failure}"))
    };
    let first = run(simulation);
    let line = first.course.line.to_string();
    assert!(
        line.contains("wake_ps=77") && line.contains("begin_ns=1000000"),
        "{line}"
    );
    let again = run(Simulation::replay(&line).expect("it is a line"));
    assert_eq!(first.course.trace_hash, again.course.trace_hash);
    assert_eq!(first.profile, again.profile);
    let error = Costs::default()
        .set("sleep_ps", 1)
        .expect_err("there is none")
        .to_string();
    assert!(error.contains("sleep_ps"), "{error}");
}
