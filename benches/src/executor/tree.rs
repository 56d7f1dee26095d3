//! A complete binary tree, a task a node: the tasks only spawn.

use super::recursion::{self, Recursion, Spawn};
use crate::contender::Contender;
use crate::workload::{Column, Workload};

const NODES: u64 = (1 << 21) - 1;
/// Nodes of a run that is long enough for chili's second thread to find work, and for the operating
/// system to give two new threads a core each, which may take it 10 ms.
const MANY: u64 = (1 << 28) - 1;

pub(super) fn workloads() -> [Workload; 2] {
    [
        workload::<NODES>("tree", "", recursion::contenders::<Node<NODES>>(NODES)),
        workload::<MANY>(
            "large tree",
            " windlass starts its threads for each run and ends them with it.",
            recursion::fork_join::<Node<MANY>>(),
        ),
    ]
}

fn workload<const N: u64>(name: &str, more: &str, rows: Vec<Contender>) -> Workload {
    let has_more_workers = rows.iter().any(|row| row.name == "windlass, 16 workers");
    Workload::new(
        name,
        format!(
            "A complete binary tree of {N} nodes, a task a node; the answer is the sum of the \
             nodes' numbers.{more}"
        ),
    )
    .units(N)
    .columns([Column::ns_per("ns per node")])
    .answer(|| N * (N + 1) / 2)
    .rows(rows)
    .targets(recursion::targets(0.9, Some(0.35), true, has_more_workers))
}

/// A node's number, as in a heap of `N` nodes: the children of `n` are `2 n` and `2 n + 1`.
#[derive(Clone, Copy)]
struct Node<const N: u64>(u32);

impl<const N: u64> Node<N> {
    fn children(self) -> Option<[Self; 2]> {
        let left = self.0 * 2;
        (u64::from(left) <= N).then_some([Self(left), Self(left + 1)])
    }
}

impl<const N: u64> Recursion for Node<N> {
    fn root() -> Self {
        Self(1)
    }

    #[inline]
    fn visit(self, mut spawn: impl Spawn<Self>) -> u64 {
        if let Some([left, right]) = self.children() {
            spawn.children([left], right);
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
