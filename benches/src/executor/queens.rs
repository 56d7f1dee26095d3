//! Twelve queens: a search with a few nanoseconds of work a node.

use super::recursion::{self, Recursion, Spawn, halved, halved_by_chili};
use crate::workload::{Column, Workload};

const QUEENS: u32 = 12;
const ALL: u32 = (1 << QUEENS) - 1;

/// Ways to place twelve queens on twelve by twelve squares so that none attacks another; OEIS
/// A000170.
const SOLUTIONS: u64 = 14_200;

pub(super) fn workload() -> Workload {
    let nodes = recursion::count::<Board>();
    Workload::new(
        "queens",
        format!("Twelve queens, a task a placement, {nodes} of them; the answer is the number of solutions."),
    )
    .units(nodes)
    .columns([Column::ns_per("ns per placement")])
    .answer(|| SOLUTIONS)
    .rows(recursion::contenders::<Board>(nodes))
    .targets(recursion::targets(0.65, None, true, false))
}

/// The rows filled so far, as sets of attacked squares of the next row.
#[derive(Clone, Copy)]
struct Board {
    columns: u32,
    left: u32,
    right: u32,
}

impl Board {
    fn free(self) -> u32 {
        ALL & !(self.columns | self.left | self.right)
    }

    fn is_solution(self) -> bool {
        self.columns == ALL
    }

    fn with(self, square: u32) -> Self {
        Self {
            columns: self.columns | square,
            left: (self.left | square) << 1,
            right: (self.right | square) >> 1,
        }
    }

    fn squares(self) -> ([u32; QUEENS as usize], u32) {
        let (mut squares, mut count) = ([0; QUEENS as usize], 0);
        for (place, square) in squares.iter_mut().zip(Bits(self.free())) {
            *place = square;
            count += 1;
        }
        (squares, count)
    }
}

struct Bits(u32);

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let lowest = self.0 & self.0.wrapping_neg();
        self.0 ^= lowest;
        (lowest != 0).then_some(lowest)
    }
}

impl Recursion for Board {
    fn root() -> Self {
        Self {
            columns: 0,
            left: 0,
            right: 0,
        }
    }

    #[inline]
    fn visit(self, mut spawn: impl Spawn<Self>) -> u64 {
        Bits(self.free()).for_each(|square| spawn.child(self.with(square)));
        self.is_solution().into()
    }

    fn serial(self) -> u64 {
        let below = Bits(self.free()).map(|square| self.with(square).serial());
        u64::from(self.is_solution()) + below.sum::<u64>()
    }

    fn joined(self) -> u64 {
        let (squares, count) = self.squares();
        let below = halved(0, count, &|index| self.with(squares[index as usize]).joined());
        u64::from(self.is_solution()) + below
    }

    fn chili(self, scope: &mut chili::Scope<'_>) -> u64 {
        let (squares, count) = self.squares();
        let leaf = |index, scope: &mut chili::Scope<'_>| self.with(squares[index as usize]).chili(scope);
        u64::from(self.is_solution()) + halved_by_chili(scope, 0, count, &leaf)
    }
}
