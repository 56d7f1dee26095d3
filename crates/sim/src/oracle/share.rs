//! Old jobs get their share: while one waits, young jobs get at most 17 of 20 parts of a worker's
//! time.
//!
//! A young visit of a worker while an old job is available adds three times its length to the
//! worker's debt; an old visit pays seventeen times its length. The allowed debt is that of ten
//! quanta of young visits. A worker beyond it that enters a young job, although an old one is
//! available throughout, fails the run. The policy charges whenever the oracle does.

use pipeline_exec::policy::JobHandle;

use super::{Oracle, Violation};

#[derive(Debug)]
pub(crate) struct ShareOracle {
    most: u64,
    workers: Vec<Account>,
    nested: Vec<(usize, Account)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    YoungBeforeOld,
    /// Into an old job, to which it owes time.
    OldInTurn,
    Another,
}

#[derive(Clone, Debug, Default)]
struct Account {
    now_ns: u64,
    owes: u64,
    visit: Option<Visit>,
    search: Option<Search>,
}

#[derive(Clone, Debug)]
struct Search {
    began: u64,
    old: Vec<JobHandle>,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    began_ns: u64,
    of: Of,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Young,
    YoungBeforeOld,
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

    pub(crate) fn nest_began(&mut self, actor: usize) {
        if let Some(account) = self.workers.get(actor) {
            self.nested.push((actor, account.clone()));
        }
    }

    pub(crate) fn nest_over(&mut self, actor: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == actor) {
            self.workers[actor] = self.nested.remove(place).1;
        }
    }

    pub(crate) fn read_clock(&mut self, actor: usize, now_ns: u64) {
        if let Some(account) = self.workers.get_mut(actor) {
            account.now_ns = now_ns;
        }
    }

    pub(crate) fn scan_began(&mut self, actor: usize, step: u64, old: impl Iterator<Item = JobHandle>) {
        if let Some(account) = self.workers.get_mut(actor) {
            account.search.get_or_insert_with(|| Search {
                began: step,
                old: old.collect(),
            });
        }
    }

    pub(crate) fn was_old(&self, worker: usize, job: JobHandle) -> bool {
        let search = self
            .workers
            .get(worker)
            .and_then(|account| account.search.as_ref());
        search.is_some_and(|search| search.old.iter().any(|old| old.seq == job.seq))
    }

    pub(crate) fn left(&mut self, worker: usize) {
        let Some(account) = self.workers.get_mut(worker) else {
            return;
        };
        let Some(Visit { began_ns, of }) = account.visit.take() else {
            return;
        };
        let ns = account.now_ns.saturating_sub(began_ns);
        account.owes = match of {
            Of::Young => account.owes,
            Of::YoungBeforeOld => account.owes.saturating_add(3 * ns).min(2 * self.most),
            Of::Old => account.owes.saturating_sub(17 * ns),
        };
    }

    /// `waits` says whether a job was available since a step.
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
        rank: 1,
        seq: 1,
        index: 0,
    };

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
            "no job waits"
        );
        assert_eq!(visit(&mut oracle, true, true, 3_000..3_100), Ok(Came::OldInTurn));
        assert_eq!(visit(&mut oracle, false, true, 3_100..3_200), before_old, "paid");
    }
}
