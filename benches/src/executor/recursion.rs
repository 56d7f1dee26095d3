//! The common part of trees: a task a node, and each row's way to run it.
//!
//! A node is a small plain value. Ours adds the node's own part to its worker's sum, spawns all
//! children but the last and returns that one, which runs next. Fork-join schedulers return the
//! sums, their intended use, and halve a node's children if there are more than two.
//!
//! Where an executor lives longer than a run, its workers' sums are slots of a tally, which the
//! caller reads. Where a run is long enough, an executor is started for it and ended with it, and
//! the sums are the scratch values, which a scope returns: its intended use. The peers' threads
//! live on.

use std::sync::Arc;

use ::rayon::Scope;
use executor_threaded::{Executor, ExecutorConfig, Spawner, scope};

use crate::THREADS;
use crate::contender::Contender;
use crate::pool::{Ours, rayon_pool, tokio_runtime};
use crate::tally::{self, Meter, Tally};
use crate::target::{Of, Target};

/// Where a node's children go.
pub(super) trait Spawn<N> {
    fn child(&mut self, child: N);

    /// All children of a node that has always as many.
    #[inline]
    fn children<const C: usize>(&mut self, others: [N; C], last: N) {
        others.into_iter().for_each(|child| self.child(child));
        self.child(last);
    }
}

impl<N, F: FnMut(N)> Spawn<N> for F {
    #[inline]
    fn child(&mut self, child: N) {
        self(child);
    }
}

/// Spawns each child but the last one, which runs next.
struct Ourselves<'a, N> {
    spawner: &'a mut Spawner<N>,
    last: &'a mut Option<N>,
}

impl<N> Spawn<N> for Ourselves<'_, N> {
    #[inline]
    fn child(&mut self, child: N) {
        if let Some(before) = self.last.replace(child) {
            self.spawner.spawn_local(before);
        }
    }

    #[inline]
    fn children<const C: usize>(&mut self, others: [N; C], last: N) {
        self.spawner.spawn_local_all(others);
        *self.last = Some(last);
    }
}

pub(super) trait Recursion: Copy + Send + Sync + 'static {
    fn root() -> Self;

    /// Passes each child to `spawn`. Returns the node's own part of the answer.
    fn visit(self, spawn: impl Spawn<Self>) -> u64;

    fn serial(self) -> u64;

    /// With rayon's `join`.
    fn joined(self) -> u64;

    fn chili(self, scope: &mut chili::Scope<'_>) -> u64;
}

pub(super) fn count<N: Recursion>() -> u64 {
    let (mut nodes, mut waiting) = (0, vec![N::root()]);
    while let Some(node) = waiting.pop() {
        nodes += 1;
        node.visit(|child| waiting.push(child));
    }
    nodes
}

const ONE_WORKER: &str = "windlass, 1 worker";

static OURS: [Ours; 6] = [
    Ours::plain(),
    Ours::pinned(),
    Ours::with("windlass, all public", |config| {
        config.tune(|tuning| tuning.private_tasks = 0)
    }),
    Ours::with(ONE_WORKER, |config| config.workers(1)),
    Ours::with("windlass, 4 workers", |config| config.workers(4)),
    Ours::with("windlass, 16 workers", |config| config.workers(16)),
];

pub(super) fn contenders<N: Recursion>(nodes: u64) -> Vec<Contender> {
    let mut all: Vec<Contender> = OURS.iter().map(ours::<N>).collect();
    all.push(joined::<N>());
    all.push(Contender::peer("rayon scope.spawn", rayon_scope::<N>));
    all.push(chili::<N>());
    all.push(Contender::peer("tokio spawn", move || tokio::<N>(nodes)).slow(3));
    all.push(serial::<N>());
    all
}

/// For trees with more tasks than a scheduler that queues them can hold.
pub(super) fn fork_join<N: Recursion>() -> Vec<Contender> {
    let few = OURS
        .iter()
        .filter(|ours| ours.name == "windlass" || ours.name == ONE_WORKER);
    let peers = [joined::<N>(), chili::<N>(), serial::<N>()];
    few.map(scoped::<N>).chain(peers).collect()
}

fn scoped<N: Recursion>(ours: &'static Ours) -> Contender {
    Contender::ours(ours.name, move || {
        let config = ours.config();
        move || windlass_scope::<N>(config.clone())
    })
}

fn ours<N: Recursion>(ours: &'static Ours) -> Contender {
    Contender::ours(ours.name, move || windlass::<N>(ours.config()))
}

fn joined<N: Recursion>() -> Contender {
    Contender::peer("rayon join", || {
        let pool = rayon_pool(Arc::default());
        move || pool.install(|| N::root().joined())
    })
}

fn chili<N: Recursion>() -> Contender {
    Contender::peer("chili", || {
        let pool = chili_pool();
        move || N::root().chili(&mut pool.scope())
    })
}

fn serial<N: Recursion>() -> Contender {
    Contender::serial(|| std::hint::black_box(N::root()).serial())
}

pub(super) fn targets(
    of_best: f64,
    of_rayon: Option<f64>,
    one_worker: bool,
    more_workers: bool,
) -> Vec<Target> {
    let mut all = vec![Target::at_most(of_best, Of::Best(&["rayon join", "chili"]))];
    all.extend(of_rayon.map(|times| Target::at_most(times, Of::Best(&["rayon join"]))));
    if one_worker {
        all.push(Target::at_most(1.2, Of::Row("serial")).row(ONE_WORKER));
    }
    if more_workers {
        all.push(Target::at_most(1.3, Of::Row("windlass")).row("windlass, 4 workers"));
        all.push(Target::at_most(1.3, Of::Row("windlass")).row("windlass, 16 workers"));
    }
    all.push(Target::told(Of::HALF_OF_SERIAL));
    all
}

fn windlass<N: Recursion>(config: ExecutorConfig) -> impl FnMut() -> u64 {
    let tally = Arc::new(Tally::default());
    let mut meter = Meter::new(Arc::clone(&tally));
    let executor = Executor::<N>::new(
        config,
        move |_| tally.slot(),
        |node, cx| {
            let (slot, spawner) = cx.parts();
            let (result, next) = visit(node, spawner);
            slot.add(result);
            next
        },
    )
    .expect("the executor starts");
    move || {
        assert!(executor.spawn_external(N::root()).is_ok(), "the gate is open");
        executor.wait_idle();
        meter.take()
    }
}

/// Starts the executor and ends it.
fn windlass_scope<N: Recursion>(config: ExecutorConfig) -> u64 {
    let report = scope(
        config,
        |_worker| 0_u64,
        |node: N, cx| {
            let (sum, spawner) = cx.parts();
            let (result, next) = visit(node, spawner);
            *sum = sum.wrapping_add(result);
            next
        },
        |executor| assert!(executor.spawn(N::root()).is_ok(), "the gate is open"),
    )
    .expect("the executor starts");
    report.scratches.into_iter().fold(0, u64::wrapping_add)
}

/// Returns the node's own part of the answer, and the child that runs next.
#[inline]
fn visit<N: Recursion>(node: N, spawner: &mut Spawner<N>) -> (u64, Option<N>) {
    let mut last = None;
    let result = node.visit(Ourselves {
        spawner,
        last: &mut last,
    });
    (result, last)
}

fn rayon_scope<N: Recursion>() -> impl FnMut() -> u64 {
    fn spawned<N: Recursion>(node: N, scope: &Scope<'_>) {
        tally::add_here(node.visit(|child| scope.spawn(move |scope| spawned(child, scope))));
    }
    let tally = Arc::new(Tally::default());
    let mut meter = Meter::new(Arc::clone(&tally));
    let pool = rayon_pool(tally);
    move || {
        pool.scope(|scope| spawned(N::root(), scope));
        meter.take()
    }
}

fn tokio<N: Recursion>(nodes: u64) -> impl FnMut() -> u64 {
    fn spawned<N: Recursion>(node: N) {
        tally::add_task_here(node.visit(|child| drop(::tokio::spawn(async move { spawned(child) }))));
    }
    let tally = Arc::new(Tally::default());
    let mut meter = Meter::new(Arc::clone(&tally));
    let runtime = tokio_runtime(tally);
    move || {
        drop(runtime.spawn(async { spawned(N::root()) }));
        meter.wait(nodes)
    }
}

/// Chili counts the caller as one of its threads.
fn chili_pool() -> chili::ThreadPool {
    chili::ThreadPool::with_config(chili::Config {
        thread_count: std::num::NonZero::new(THREADS),
        ..chili::Config::default()
    })
}

/// With rayon's `join`.
pub(super) fn halved(from: u32, to: u32, leaf: &(impl Fn(u32) -> u64 + Sync)) -> u64 {
    match to - from {
        0 => 0,
        1 => leaf(from),
        n => {
            let middle = from + n / 2;
            let (left, right) = ::rayon::join(|| halved(from, middle, leaf), || halved(middle, to, leaf));
            left.wrapping_add(right)
        }
    }
}

pub(super) fn halved_by_chili(
    scope: &mut chili::Scope<'_>,
    from: u32,
    to: u32,
    leaf: &(impl Fn(u32, &mut chili::Scope<'_>) -> u64 + Sync),
) -> u64 {
    match to - from {
        0 => 0,
        1 => leaf(from, scope),
        n => {
            let middle = from + n / 2;
            let (left, right) = scope.join(
                |scope| halved_by_chili(scope, from, middle, leaf),
                |scope| halved_by_chili(scope, middle, to, leaf),
            );
            left.wrapping_add(right)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node `n` has the children `0..n`; the sum counts the nodes.
    #[derive(Clone, Copy)]
    struct Below(u32);

    impl Recursion for Below {
        fn root() -> Self {
            Self(10)
        }

        fn visit(self, mut spawn: impl Spawn<Self>) -> u64 {
            (0..self.0).map(Self).for_each(|child| spawn.child(child));
            1
        }

        fn serial(self) -> u64 {
            1 + (0..self.0).map(|n| Self(n).serial()).sum::<u64>()
        }

        fn joined(self) -> u64 {
            1 + halved(0, self.0, &|n| Self(n).joined())
        }

        fn chili(self, scope: &mut chili::Scope<'_>) -> u64 {
            1 + halved_by_chili(scope, 0, self.0, &|n, scope| Self(n).chili(scope))
        }
    }

    #[test]
    fn all_contenders_give_the_answer_of_plain_recursion() {
        assert_eq!(count::<Below>(), 1 << 10);
        for contender in contenders::<Below>(1 << 10)
            .into_iter()
            .chain(fork_join::<Below>())
        {
            let mut running = contender.start();
            for _ in 0..3 {
                assert_eq!(running().unwrap().answer, 1 << 10, "{}", contender.name);
            }
        }
    }
}
