//! Every fault at every point, on both sides and on both at once.

use pools::Pools;

use super::case::{Act, Case, Way, When};
use super::script::{Fault, Point, Script};
use crate::support::pools;

const WAYS: [Way; 3] = [Way::Awaiting, Way::Blocking, Way::Slices];

const ACTS: [Act; 6] = [
    Act::Close,
    Act::Handle,
    Act::Drop,
    Act::Panic,
    Act::Fail,
    Act::Shutdown,
];

fn faults(batches: usize) -> Vec<Option<(Point, Fault)>> {
    let mut faults = vec![None, Some((Point::Close, Fault::Panic))];
    for n in 0..=batches {
        faults.push(Some((Point::Expect(n), Fault::Panic)));
        faults.push(Some((Point::Read(n), Fault::Error)));
        faults.push(Some((Point::Read(n), Fault::Panic)));
    }
    faults.extend((0..batches).map(|n| Some((Point::Weigh(n), Fault::Panic))));
    faults
}

fn points(batches: usize) -> Vec<When> {
    let mut points = Vec::new();
    for n in 0..=batches {
        points.extend([When::After(n), When::Pending(n)]);
    }
    for n in 0..batches {
        points.extend([
            When::InCut(n),
            When::InSlice(n),
            When::BesideSlice(n),
            When::InFold(n),
        ]);
    }
    points
}

fn check(case: &Case, shared: &Pools) {
    match case.act {
        Some((_, Act::Shutdown)) => case.check(&pools(1)),
        _ => case.check(shared),
    }
}

fn play_all(way: Way, is_async: bool, batches: usize) -> usize {
    let shared = pools(2);
    let mut played = 0;
    let acts = points(batches)
        .into_iter()
        .flat_map(|when| ACTS.map(|act| Some((when, act))));
    for act in std::iter::once(None).chain(acts) {
        for fault in faults(batches) {
            let holds = match act {
                Some((When::Pending(n), _)) => Some(n),
                _ => None,
            };
            let case = Case {
                script: Script {
                    sizes: vec![100; batches],
                    knows_sizes: false,
                    fault,
                    holds,
                    is_async,
                },
                read_ahead_bytes: 200,
                way,
                act,
            };
            if case.is_possible() {
                check(&case, &shared);
                played += 1;
            }
        }
    }
    played
}

#[test]
fn every_fault_at_every_point_while_batches_are_awaited() {
    let played = play_all(Way::Awaiting, false, 3) + play_all(Way::Awaiting, true, 3);
    assert_eq!(played, PLAYED[0]);
}

#[test]
fn every_fault_at_every_point_while_a_thread_blocks() {
    let played = play_all(Way::Blocking, false, 3) + play_all(Way::Blocking, true, 3);
    assert_eq!(played, PLAYED[1]);
}

#[test]
fn every_fault_at_every_point_while_slices_run() {
    let played = play_all(Way::Slices, false, 3) + play_all(Way::Slices, true, 3);
    assert_eq!(played, PLAYED[2]);
}

/// Cases of each way: a change means that some are lost.
const PLAYED: [usize; 3] = [794, 634, 862];

#[test]
fn a_thousand_streams_by_seed() {
    let shared = pools(2);
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let case = loop {
            let case = random.case();
            if case.is_possible() {
                break case;
            }
        };
        check(&case, &shared);
    }
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn case(&mut self) -> Case {
        let batches = self.below(12);
        let sizes = (0..batches).map(|_| self.below(300)).collect();
        let act = (self.below(5) > 0).then(|| (self.pick(&points(batches)), self.pick(&ACTS)));
        let holds = match act {
            Some((When::Pending(n), _)) => Some(n),
            _ => None,
        };
        let fault = match self.below(2) {
            0 => None,
            _ => self.pick(&faults(batches)),
        };
        Case {
            script: Script {
                sizes,
                knows_sizes: self.below(2) == 0,
                fault,
                holds,
                is_async: self.below(2) == 0,
            },
            read_ahead_bytes: self.below(1_000),
            way: self.pick(&WAYS),
            act,
        }
    }
}
