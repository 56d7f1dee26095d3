//! How much of its time a worker may give to young jobs while old ones wait: in the long run 17
//! parts of 20. While an old job waits, a visit of a young one takes three times its length from
//! the worker's allowance. A visit of an old job adds seventeen times its length. A used-up
//! allowance puts old jobs first; a full one lasts for ten quanta.
//!
//! ```text
//!   old first │ young first
//!  ───────────┼────────────────────────►   word = allowance + most, in nanoseconds;
//!   0         most               2·most    a worker starts with all of it
//! ```

use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use executor_core::ports::Memory;

const YOUNG_TAKES: u64 = 3;
const OLD_ADDS: u64 = 17;

const QUANTA: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pays {
    /// The job is young, and no old one waits.
    Nothing,
    /// The job is young, and an old one waits.
    Young,
    Old,
}

#[derive(Debug)]
pub(crate) struct Allowances<W> {
    workers: Box<[CachePadded<Allowance<W>>]>,
    most: usize,
}

#[derive(Debug)]
struct Allowance<W> {
    /// As in the module's picture.
    word: W,
    /// Choices between a single and a young job.
    turns: W,
}

impl<W> Allowances<W> {
    pub(crate) fn new(workers: usize, quantum_ns: u64, mut word: impl FnMut(usize) -> W) -> Self {
        let most = quantum_ns.saturating_mul(QUANTA * YOUNG_TAKES);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(usize::MAX / 4);
        Self {
            workers: (0..workers)
                .map(|_| {
                    CachePadded::new(Allowance {
                        word: word(2 * most),
                        turns: word(0),
                    })
                })
                .collect(),
            most,
        }
    }

    pub(crate) fn is_used_up<M: Memory<Word = W>>(&self, mem: &M, worker: usize) -> bool {
        // Ordering: Relaxed. The worker's own word.
        mem.load(&self.workers[worker].word, Ordering::Relaxed) <= self.most
    }

    pub(crate) fn pay<M: Memory<Word = W>>(&self, mem: &M, worker: usize, pays: Pays, ns: u64) {
        let times = |factor| usize::try_from(ns.saturating_mul(factor)).unwrap_or(usize::MAX);
        let word = &self.workers[worker].word;
        // Ordering: Relaxed. The worker's own word.
        let before = mem.load(word, Ordering::Relaxed);
        let after = match pays {
            Pays::Nothing => return,
            Pays::Young => before.saturating_sub(times(YOUNG_TAKES)),
            Pays::Old => before.saturating_add(times(OLD_ADDS)).min(2 * self.most),
        };
        // Ordering: Relaxed. The worker's own word.
        mem.store(word, after, Ordering::Relaxed);
    }

    pub(crate) fn single_comes_first<M: Memory<Word = W>>(&self, mem: &M, worker: usize) -> bool {
        let word = &self.workers[worker].turns;
        // Ordering: Relaxed, both. The worker's own word.
        let turns = mem.load(word, Ordering::Relaxed);
        mem.store(word, turns.wrapping_add(1), Ordering::Relaxed);
        turns.is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use executor_core::ports::{Native, NativeWord};

    use super::*;

    const QUANTUM: u64 = 1_000;

    fn allowances() -> Allowances<NativeWord> {
        Allowances::new(2, QUANTUM, NativeWord::new)
    }

    #[test]
    fn young_jobs_have_ten_quanta_in_a_row_and_then_17_of_20_parts() {
        let allowances = allowances();
        let (mut young, mut old, mut in_a_row) = (0, 0, 0);
        for visit in 0..2_000 {
            if allowances.is_used_up(&Native, 0) {
                allowances.pay(&Native, 0, Pays::Old, QUANTUM);
                old += 1;
            } else {
                allowances.pay(&Native, 0, Pays::Young, QUANTUM);
                young += 1;
                in_a_row = if old == 0 { visit + 1 } else { in_a_row };
            }
        }
        assert_eq!(in_a_row, 10);
        let (owed, paid): (u64, u64) = ((young - 10) * 3, old * 17);
        assert!(owed.abs_diff(paid) <= 17, "{young} young, {old} old");
        assert!(!allowances.is_used_up(&Native, 1), "each worker has its own");
    }

    #[test]
    fn one_long_visit_leaves_no_debt_beyond_ten_quanta_and_no_wealth_either() {
        let allowances = allowances();
        allowances.pay(&Native, 0, Pays::Young, 1_000_000 * QUANTUM);
        assert!(allowances.is_used_up(&Native, 0));
        allowances.pay(&Native, 0, Pays::Old, 2 * QUANTUM);
        assert!(!allowances.is_used_up(&Native, 0));
        allowances.pay(&Native, 0, Pays::Old, 1_000_000 * QUANTUM);
        allowances.pay(&Native, 0, Pays::Young, 10 * QUANTUM);
        assert!(allowances.is_used_up(&Native, 0));
        allowances.pay(&Native, 0, Pays::Nothing, 1_000_000 * QUANTUM);
        allowances.pay(&Native, 0, Pays::Old, 1);
        assert!(!allowances.is_used_up(&Native, 0));
    }

    #[test]
    fn singles_and_young_jobs_of_the_board_come_first_in_turns() {
        let allowances = allowances();
        let first: Vec<bool> = (0..4)
            .map(|_| allowances.single_comes_first(&Native, 1))
            .collect();
        assert_eq!(first, [true, false, true, false]);
    }
}
