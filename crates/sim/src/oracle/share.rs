//! Old jobs get their share: while one waits, young ones get 17 of 20 parts of a worker's time at
//! most, in either role.
//!
//! The oracle keeps each worker's account by itself: from the clock as the worker reads it and from
//! what it goes into. A visit of a young job, while an old one could have been gone into, makes a
//! debt of three times its length; a visit of an old job pays seventeen times its length. Ten
//! quanta of young visits may be owed. A worker that owes them and goes into another young job,
//! although an old one could be gone into all the while, does not keep to it.
//!
//! The policy counts an old job as waiting when its key is on the board, so it charges in all cases in which the oracle does.

use pipeline_exec::JobHandle;

use super::{Oracle, Violation};

/// Every worker's account.
#[derive(Debug)]
pub(crate) struct ShareOracle {
    most: u64,
    workers: Vec<Account>,
    /// Accounts of workers in whose slots jobs of their own run now.
    nested: Vec<(usize, Account)>,
}

/// Where a worker has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// Into a young job, and an old one waits.
    YoungBeforeOld,
    /// Into an old job, to which it owes something.
    OldInTurn,
    /// Into another one.
    Another,
}

#[derive(Clone, Debug, Default)]
struct Account {
    now_ns: u64,
    owes: u64,
    visit: Option<Visit>,
    search: Option<Search>,
}

/// A worker looks for a job.
#[derive(Clone, Debug)]
struct Search {
    began: u64,
    /// Old jobs that could be gone into when it began.
    old: Vec<JobHandle>,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    began_ns: u64,
    of: Of,
}

/// What a worker goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// A young job, and no old one could have been had.
    Young,
    /// A young job, and an old one could have been had all the while.
    YoungBeforeOld,
    /// An old job.
    Old,
}

impl ShareOracle {
    pub(crate) fn new(workers: usize, quantum_ns: u64) -> Self {
        Self {
            most: quantum_ns.saturating_mul(3 * 10),
            workers: vec![Account::default(); workers],
            nested: Vec::new(),
        }
    }

    /// A slot that `party` runs begins to wait for a job of its own: that is a part of the slot.
    pub(crate) fn nest_began(&mut self, party: usize) {
        if let Some(account) = self.workers.get(party) {
            self.nested.push((party, account.clone()));
        }
    }

    /// It goes on.
    pub(crate) fn nest_over(&mut self, party: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == party) {
            self.workers[party] = self.nested.remove(place).1;
        }
    }

    /// `party` has read its clock.
    pub(crate) fn read_clock(&mut self, party: usize, now_ns: u64) {
        if let Some(account) = self.workers.get_mut(party) {
            account.now_ns = now_ns;
        }
    }

    /// `party` begins to look for a job at micro-step `step`, or goes on to another order. `old`
    /// are the old jobs that could be gone into now.
    pub(crate) fn scan_began(&mut self, party: usize, step: u64, old: impl Iterator<Item = JobHandle>) {
        if let Some(account) = self.workers.get_mut(party) {
            account.search.get_or_insert_with(|| Search {
                began: step,
                old: old.collect(),
            });
        }
    }

    /// Whether `job` was old and could be gone into when `worker` began to look.
    pub(crate) fn was_old(&self, worker: usize, job: JobHandle) -> bool {
        let search = self
            .workers
            .get(worker)
            .and_then(|account| account.search.as_ref());
        search.is_some_and(|search| search.old.iter().any(|old| old.seq == job.seq))
    }

    /// `worker` has left what it was in.
    pub(crate) fn left(&mut self, worker: usize) {
        let Some(account) = self.workers.get_mut(worker) else {
            return;
        };
        let Some(Visit { began_ns, of }) = account.visit.take() else {
            return;
        };
        // A visit ends with a reading of the clock.
        let ns = account.now_ns.saturating_sub(began_ns);
        account.owes = match of {
            Of::Young => account.owes,
            Of::YoungBeforeOld => account.owes.saturating_add(3 * ns).min(2 * self.most),
            Of::Old => account.owes.saturating_sub(17 * ns),
        };
    }

    /// `worker` has gone into a job that it looked for, which is old or not. `waits` says whether a
    /// job could be gone into since a micro-step.
    pub(crate) fn went_into(
        &mut self,
        worker: usize,
        is_old: bool,
        waits: impl Fn(JobHandle, u64) -> bool,
    ) -> Result<Came, Violation> {
        let Some(account) = self.workers.get_mut(worker) else {
            return Ok(Came::Another);
        };
        let Some(Search { began, old }) = account.search.take() else {
            return Ok(Came::Another);
        };
        let of = match is_old {
            true => Of::Old,
            false if old.iter().any(|&job| waits(job, began)) => Of::YoungBeforeOld,
            false => Of::Young,
        };
        account.visit = Some(Visit {
            began_ns: account.now_ns,
            of,
        });
        if of != Of::YoungBeforeOld {
            let in_turn = of == Of::Old && account.owes > 0;
            return Ok(if in_turn { Came::OldInTurn } else { Came::Another });
        }
        if account.owes < self.most || self.most == 0 {
            return Ok(Came::YoungBeforeOld);
        }
        Err(Violation::new(
            Oracle::Share,
            format!(
                "worker {worker} owes {} ns to old jobs, and went into a young one although an old one was waiting",
                account.owes
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: JobHandle = JobHandle {
        cost: 1,
        seq: 1,
        index: 0,
    };

    /// Worker 0 visits a job from then to then, an old one or a young one, while an old one waits or not.
    fn visit(
        oracle: &mut ShareOracle,
        is_old: bool,
        waits: bool,
        ns: std::ops::Range<u64>,
    ) -> Result<Came, Oracle> {
        oracle.read_clock(0, ns.start);
        oracle.scan_began(0, 7, [OLD].into_iter());
        let verdict = oracle.went_into(0, is_old, |job, since| {
            assert_eq!((job, since), (OLD, 7));
            waits
        });
        oracle.read_clock(0, ns.end);
        oracle.left(0);
        verdict.map_err(|violation| violation.oracle)
    }

    #[test]
    fn an_eleventh_quantum_of_young_jobs_before_an_old_one_is_noticed() {
        let mut oracle = ShareOracle::new(1, 100);
        let before_old = Ok(Came::YoungBeforeOld);
        assert_eq!(visit(&mut oracle, false, true, 0..1_000), before_old);
        assert_eq!(visit(&mut oracle, false, true, 1_000..1_010), Err(Oracle::Share));
        assert_eq!(
            visit(&mut oracle, false, false, 2_000..3_000),
            Ok(Came::Another),
            "nobody waits"
        );
        assert_eq!(visit(&mut oracle, true, true, 3_000..3_100), Ok(Came::OldInTurn));
        assert_eq!(visit(&mut oracle, false, true, 3_100..3_200), before_old, "paid");
    }
}
