//! A complete binary tree, a task a node: the tasks only spawn.

use super::recursion::{self, Recursion};
use crate::workload::{Column, Workload};

const NODES: u64 = (1 << 21) - 1;

pub(super) fn workload() -> Workload {
    Workload::new(
        "tree",
        "A complete binary tree of 2,097,151 nodes, a task a node; the answer is the sum of the \
         nodes' numbers.",
    )
    .units(NODES)
    .columns([Column::ns_per("ns per node")])
    .answer(|| NODES * (NODES + 1) / 2)
    .rows(recursion::contenders::<Node>(NODES))
    .targets(recursion::targets(0.9, Some(0.35), true, true))
}

/// A node's number, as in a heap: the children of `n` are `2 n` and `2 n + 1`.
#[derive(Clone, Copy)]
struct Node(u32);

impl Node {
    fn children(self) -> Option<[Self; 2]> {
        let left = self.0 * 2;
        (u64::from(left) <= NODES).then_some([Self(left), Self(left + 1)])
    }
}

impl Recursion for Node {
    fn root() -> Self {
        Self(1)
    }

    #[inline]
    fn visit(self, spawn: impl FnMut(Self)) -> u64 {
        if let Some(children) = self.children() {
            children.into_iter().for_each(spawn);
        }
        self.0.into()
    }

    fn serial(self) -> u64 {
        match self.children() {
            None => self.0.into(),
            Some([left, right]) => u64::from(self.0) + left.serial() + right.serial(),
        }
    }

    fn joined(self) -> u64 {
        match self.children() {
            None => self.0.into(),
            Some([left, right]) => {
                let (left, right) = ::rayon::join(|| left.joined(), || right.joined());
                u64::from(self.0) + left + right
            }
        }
    }

    fn chili(self, scope: &mut chili::Scope<'_>) -> u64 {
        match self.children() {
            None => self.0.into(),
            Some([left, right]) => {
                let (left, right) = scope.join(|scope| left.chili(scope), |scope| right.chili(scope));
                u64::from(self.0) + left + right
            }
        }
    }
}
