//! A small set-up under many schedules, until the situation that it is about has occurred.

use executor_core::{ExecutorConfig, TaskCtx};
use sim::{Course, Event, Object, Op, Report, Simulation, StrategyKind, WordName};

/// Workers that look once and then sleep.
pub(crate) fn sleepy(workers: usize) -> ExecutorConfig {
    ExecutorConfig::new(workers).tune(|tuning| {
        tuning.steal_tries = 1;
        tuning.spin_iters = 0;
        tuning.credit_block = 1;
    })
}

/// No oracle may fail a run, and `happened` must hold in at least one.
pub(crate) fn explore(
    set_up: impl Fn(Simulation) -> Simulation,
    tasks: u32,
    happened: impl Fn(&Report<u32, u32>) -> bool,
) {
    explore_with_children(set_up, tasks, 0, happened);
}

/// The first task spawns `children` others.
pub(crate) fn explore_with_children(
    set_up: impl Fn(Simulation) -> Simulation,
    tasks: u32,
    children: u32,
    happened: impl Fn(&Report<u32, u32>) -> bool,
) {
    let mut times = 0;
    for seed in 0..3_000 {
        for strategy in [StrategyKind::Random, StrategyKind::Sticky] {
            let simulation = set_up(Simulation::new(seed)).strategy(strategy).keep_events(true);
            let report = simulation
                .run(
                    0..tasks,
                    |_worker| 0,
                    move |task, cx| {
                        *TaskCtx::scratch(cx) += 1;
                        if task == 0 {
                            (0..children).for_each(|child| cx.spawn_local(tasks + child));
                        }
                    },
                )
                .unwrap_or_else(|failure| panic!("{failure}"));
            let ran: u32 = report.scratches.iter().sum();
            let left = report.handed_back.len() + report.refused.len();
            let all = (tasks + children) as usize;
            assert_eq!(ran as usize + left, all, "{}", report.course.line);
            times += u32::from(happened(&report));
        }
    }
    assert!(times > 0, "the situation never came about in 6,000 schedules");
}

pub(crate) fn actor(course: &Course, name: &str) -> u32 {
    let place = course.actors.iter().position(|other| other == name);
    place.unwrap_or_else(|| panic!("there is no actor `{name}`")) as u32
}

/// Searchers in a sleep word; `crates/executor-core/src/words/sleep/README.md` has the layout.
pub(crate) fn searchers(word: u64) -> u64 {
    (word >> 17) & 0x7fff
}

pub(crate) fn sleepers(word: u64) -> u64 {
    (word >> 2) & 0x7fff
}

/// Leaving the search and registering are read-modify-writes of the sleep word.
pub(crate) fn changes_sleep_word(event: &Event) -> bool {
    event.op == Op::Fetch && event.object == Object::Word(WordName::Sleep)
}

pub(crate) fn find(events: &[Event], from: usize, mut wanted: impl FnMut(&Event) -> bool) -> Option<usize> {
    (from..events.len()).find(|&at| wanted(&events[at]))
}
