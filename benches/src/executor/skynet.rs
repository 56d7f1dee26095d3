//! Skynet: a tree of ten-way nodes whose million leaves each add their ordinal number.

use super::recursion::{self, Recursion, Spawn, halved, halved_by_chili};
use crate::workload::{Column, Workload};

const LEAVES: u32 = 1_000_000;
const WAYS: u32 = 10;

pub(super) fn workload() -> Workload {
    let nodes = recursion::count::<Node>();
    Workload::new(
        "skynet",
        format!(
            "A ten-way tree with a million leaves, {nodes} nodes, a task a node; the answer is the \
             sum of the leaves' numbers."
        ),
    )
    .units(nodes)
    .columns([Column::ns_per("ns per node")])
    .answer(|| u64::from(LEAVES) * u64::from(LEAVES - 1) / 2)
    .rows(recursion::contenders::<Node>(nodes))
    .targets(recursion::targets(0.5, None, false, false))
}

/// The leaves from `first` on.
#[derive(Clone, Copy)]
struct Node {
    first: u32,
    leaves: u32,
}

impl Node {
    fn child(self, index: u32) -> Self {
        let leaves = self.leaves / WAYS;
        Self {
            first: self.first + index * leaves,
            leaves,
        }
    }
}

impl Recursion for Node {
    fn root() -> Self {
        Self {
            first: 0,
            leaves: LEAVES,
        }
    }

    #[inline]
    fn visit(self, mut spawn: impl Spawn<Self>) -> u64 {
        if self.leaves == 1 {
            return self.first.into();
        }
        let last = WAYS - 1;
        let others: [Self; WAYS as usize - 1] = std::array::from_fn(|index| self.child(index as u32));
        spawn.children(others, self.child(last));
        0
    }

    fn serial(self) -> u64 {
        if self.leaves == 1 {
            return self.first.into();
        }
        (0..WAYS).map(|index| self.child(index).serial()).sum()
    }

    fn joined(self) -> u64 {
        if self.leaves == 1 {
            return self.first.into();
        }
        halved(0, WAYS, &|index| self.child(index).joined())
    }

    fn chili(self, scope: &mut chili::Scope<'_>) -> u64 {
        if self.leaves == 1 {
            return self.first.into();
        }
        halved_by_chili(scope, 0, WAYS, &|index, scope| self.child(index).chili(scope))
    }
}
