//! An unbalanced tree that follows from one number: the binomial trees of Olivier et al., "UTS: An
//! Unbalanced Tree Search Benchmark", LCPC 2006.
//!
//! The root has many children; every other node has [`CHILDREN`] or none, by a hash of its state. A
//! few of the root's subtrees hold most of the nodes.

use super::recursion::{self, Recursion, Spawn, halved, halved_by_chili};
use crate::burn::mix;
use crate::workload::{Column, Workload};

/// With the chance below it gives a tree of some 1.6 million nodes.
const SEED: u64 = 155;
const CHILDREN_OF_ROOT: u32 = 4_000;
const CHILDREN: u32 = 4;
/// Chance of a node to have children, in parts of 2³²; 0.9975 children on average.
const CHANCE: u32 = (0.249_375 * 4_294_967_296.0) as u32;

pub(super) fn workload() -> Workload {
    let nodes = recursion::count::<Node>();
    Workload::new(
        "unbalanced tree",
        format!(
            "A binomial tree after UTS of {nodes} nodes, a task a node: {CHILDREN} children or \
             none, by a hash. The answer is the sum of the hashes."
        ),
    )
    .units(nodes)
    .columns([Column::ns_per("ns per node")])
    .answer(|| Node::root().serial())
    .rows(recursion::contenders::<Node>(nodes))
    .targets(recursion::targets(0.5, None, true, true))
}

/// A node's hash. The root's number may be one, as no other node has it.
#[derive(Clone, Copy)]
struct Node(u64);

impl Node {
    fn children(self) -> u32 {
        if self.0 == Self::root().0 {
            CHILDREN_OF_ROOT
        } else if (self.0 >> 32) < u64::from(CHANCE) {
            CHILDREN
        } else {
            0
        }
    }

    fn child(self, index: u32) -> Self {
        Self(mix(
            self.0 ^ u64::from(index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ))
    }
}

impl Recursion for Node {
    fn root() -> Self {
        Self(SEED)
    }

    #[inline]
    fn visit(self, mut spawn: impl Spawn<Self>) -> u64 {
        match self.children() {
            CHILDREN => {
                let others: [Self; CHILDREN as usize - 1] =
                    std::array::from_fn(|index| self.child(index as u32));
                spawn.children(others, self.child(CHILDREN - 1));
            }
            other => (0..other).for_each(|index| spawn.child(self.child(index))),
        }
        self.0
    }

    fn serial(self) -> u64 {
        let below = (0..self.children()).map(|index| self.child(index).serial());
        below.fold(self.0, u64::wrapping_add)
    }

    fn joined(self) -> u64 {
        let below = halved(0, self.children(), &|index| self.child(index).joined());
        self.0.wrapping_add(below)
    }

    fn chili(self, scope: &mut chili::Scope<'_>) -> u64 {
        let leaf = |index, scope: &mut chili::Scope<'_>| self.child(index).chili(scope);
        self.0
            .wrapping_add(halved_by_chili(scope, 0, self.children(), &leaf))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_has_the_size_that_its_numbers_were_chosen_for() {
        let nodes = recursion::count::<Node>();
        assert!((1_500_000..1_700_000).contains(&nodes), "{nodes}");
    }
}
