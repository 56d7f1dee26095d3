//! The loads, on threads and in virtual time: the same tasks by the same runner.
//!
//! On threads a task's nanoseconds are [burnt](crate::burn); in the simulator they pass on the
//! worker's clock. All other code is shared, generic over [`TaskCtx`].

use executor_core::TaskCtx;

use crate::burn::mix;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) name: &'static str,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// What this task grows into.
    Tasks(Task),
    Job(Slots),
}

/// A job of equal stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pub(crate) stages: usize,
    pub(crate) slots: usize,
    pub(crate) lengths: Lengths,
}

/// Drawn by the task's hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    least_ns: u32,
    most_ns: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// A node of a complete binary tree, `depth` levels above the leaves.
    Tree { depth: u32, ns: u32 },
    /// The root of an unbalanced tree.
    Root { children: u32, bushy: Bushy },
    /// Any other node of the unbalanced tree: four children or none, by its hash.
    Node { hash: u64, bushy: Bushy },
    /// A task that spawns its leaves at once.
    Fan { leaves: u32, lengths: Lengths },
    /// A task that spawns nothing.
    Leaf { ns: u32 },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bushy {
    /// Chance to have children, in parts of 2³².
    chance: u32,
    lengths: Lengths,
}

const CHILDREN: u32 = 4;

impl Lengths {
    const fn exactly(ns: u32) -> Self {
        Self::between(ns, ns)
    }

    const fn between(least_ns: u32, most_ns: u32) -> Self {
        Self { least_ns, most_ns }
    }

    /// Length of the task or slot with this hash.
    pub(crate) fn ns(self, hash: u64) -> u32 {
        let Self { least_ns, most_ns } = self;
        least_ns + (mix(hash) % u64::from(most_ns - least_ns + 1)) as u32
    }
}

/// Nodes have `mean` children on average.
const fn bushy(children: u32, mean: f64, lengths: Lengths) -> What {
    let chance = (mean / CHILDREN as f64 * 4_294_967_296.0) as u32;
    What::Tasks(Task::Root {
        children,
        bushy: Bushy { chance, lengths },
    })
}

const fn fan(leaves: u32, lengths: Lengths) -> What {
    What::Tasks(Task::Fan { leaves, lengths })
}

const fn job(stages: usize, slots: usize, lengths: Lengths) -> What {
    What::Job(Slots {
        stages,
        slots,
        lengths,
    })
}

impl Load {
    const fn new(name: &'static str, what: What) -> Self {
        Self { name, what }
    }

    /// Whether its tasks take a hundred nanoseconds or less.
    pub(crate) fn is_fine(&self) -> bool {
        self.name.starts_with("fine")
    }
}

/// Microseconds, as users have them.
pub(crate) const COARSE: [Load; 4] = [
    Load::new("tree", What::Tasks(Task::Tree { depth: 10, ns: 2_000 })),
    Load::new(
        "unbalanced tree",
        bushy(25, 0.97, Lengths::between(1_000, 20_000)),
    ),
    Load::new("fan-out", fan(500, Lengths::between(1_000, 20_000))),
    Load::new("job", job(4, 128, Lengths::between(1_000, 20_000))),
];

/// Tasks of a hundred nanoseconds and less, where the executor's own work counts.
pub(crate) const FINE: [Load; 4] = [
    Load::new("fine tree", What::Tasks(Task::Tree { depth: 16, ns: 50 })),
    Load::new(
        "fine unbalanced tree",
        bushy(1_000, 0.99, Lengths::between(20, 100)),
    ),
    Load::new("fine fan-out", fan(50_000, Lengths::exactly(100))),
    Load::new("fine job", job(4, 10_000, Lengths::exactly(100))),
];

/// Large enough for a thousand workers.
pub(crate) const LARGE: [Load; 4] = [
    Load::new("tree", What::Tasks(Task::Tree { depth: 17, ns: 5_000 })),
    Load::new(
        "unbalanced tree",
        bushy(1_000, 0.99, Lengths::between(1_000, 20_000)),
    ),
    Load::new("fan-out", fan(100_000, Lengths::between(1_000, 20_000))),
    Load::new("job", job(4, 25_000, Lengths::between(1_000, 20_000))),
];

pub(crate) const EMPTY_TREE: Load = Load::new("empty tree", What::Tasks(Task::Tree { depth: 17, ns: 0 }));

pub(crate) const EMPTY_JOB: Load = Load::new("empty job", job(1, 50_000, Lengths::exactly(0)));

/// A worker whose clock moves: the real one, or the simulator's.
pub(crate) trait Works {
    fn work(&mut self, ns: u32);
}

/// The runner for threads and simulator alike.
#[inline]
pub(crate) fn run<S, C: TaskCtx<Task, S> + Works>(task: Task, cx: &mut C) {
    cx.work(task.ns());
    task.children(|child| cx.spawn_local(child));
}

impl Task {
    #[inline]
    fn ns(self) -> u32 {
        match self {
            Self::Tree { ns, .. } | Self::Leaf { ns } => ns,
            Self::Node { hash, bushy } => bushy.lengths.ns(hash),
            Self::Root { .. } | Self::Fan { .. } => 0,
        }
    }

    #[inline]
    fn children(self, mut spawn: impl FnMut(Self)) {
        match self {
            Self::Tree { depth: 0, .. } | Self::Leaf { .. } => {}
            Self::Tree { depth, ns } => {
                let child = Self::Tree { depth: depth - 1, ns };
                spawn(child);
                spawn(child);
            }
            Self::Root { children, bushy } => bushy.children(SEED, children, spawn),
            Self::Node { hash, bushy } => {
                if ((hash >> 32) as u32) < bushy.chance {
                    bushy.children(hash, CHILDREN, spawn);
                }
            }
            Self::Fan { leaves, lengths } => (0..leaves).for_each(|leaf| {
                spawn(Self::Leaf {
                    ns: lengths.ns(leaf.into()),
                });
            }),
        }
    }
}

/// Seed whose hashes make trees of a suitable size.
const SEED: u64 = 155;

impl Bushy {
    #[inline]
    fn children(self, hash: u64, children: u32, mut spawn: impl FnMut(Task)) {
        for index in 0..children {
            spawn(Task::Node {
                hash: mix(hash ^ u64::from(index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                bushy: self,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(what: What) -> (u64, u64) {
        let What::Tasks(root) = what else {
            panic!("it is a job");
        };
        let (mut tasks, mut ns, mut waiting) = (0, 0, vec![root]);
        while let Some(task) = waiting.pop() {
            tasks += 1;
            ns += u64::from(task.ns());
            task.children(|child| waiting.push(child));
        }
        (tasks, ns)
    }

    #[test]
    fn loads_are_as_large_as_they_should_be() {
        for load in COARSE.iter().chain(&FINE).chain(&LARGE) {
            if let What::Tasks(_) = load.what {
                let (count, ns) = tasks(load.what);
                assert!((300..400_000).contains(&count), "{}: {count} tasks", load.name);
                assert!(ns > 1_500_000, "{}: {ns} ns", load.name);
            }
        }
        assert_eq!(tasks(COARSE[0].what), (2_047, 4_094_000));
    }
}
