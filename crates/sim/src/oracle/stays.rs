//! The length of a worker's stay in a job.
//!
//! A *look* has a quantum from its first reading of the clock. A young visit lasts until that is
//! over, and so does an old visit once the allowance for young jobs is used up. Any other old visit
//! is a *stay*: four quanta from the last reading before it, unless a young job arrives. The run
//! fails if, at a boundary, a worker
//!
//! - continues after it read its clock past the end of the visit;
//! - continues in a stay, although a young job was available since before that reading, and has
//!   arrived since the worker last looked at the board;
//! - leaves a stay early, although it could claim more and no young job has arrived.
//!
//! A job that grows old while a worker enters it counts as either.

use pipeline_exec::policy::JobHandle;

use super::{Oracle, Violation};

#[derive(Debug)]
pub(crate) struct StayOracle {
    quantum_ns: u64,
    stay_ns: u64,
    workers: Vec<Worker>,
    nested: Vec<(usize, Worker)>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    pub(crate) step: u64,
    pub(crate) arrivals: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Young,
    Either,
    Old,
}

#[derive(Clone, Debug, Default)]
struct Worker {
    /// `None` before its first reading of the clock.
    look_until_ns: Option<u64>,
    now_ns: u64,
    read: Moment,
    after_slot: Option<(u64, Moment)>,
    ran: bool,
    looked: Moment,
    search: Option<Search>,
    /// The body that it fetched last, and whether the job was old then.
    fetched: Option<(usize, bool)>,
    visit: Option<Visit>,
}

#[derive(Clone, Copy, Debug)]
struct Search {
    arrivals: usize,
    old_first: bool,
}

#[derive(Clone, Copy, Debug)]
struct Visit {
    job: JobHandle,
    until_ns: Option<u64>,
    /// Arrivals before the search that led to it, if it is a stay.
    stays: Option<usize>,
    claims: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stayed {
    Longer,
    GaveWay,
    Otherwise,
}

impl StayOracle {
    pub(crate) fn new(workers: usize, quantum_ns: u64, stay_ns: u64) -> Self {
        Self {
            quantum_ns,
            stay_ns,
            workers: vec![Worker::default(); workers],
            nested: Vec::new(),
        }
    }

    pub(crate) fn is_visiting(&self, actor: usize) -> bool {
        self.workers
            .get(actor)
            .is_some_and(|worker| worker.visit.is_some())
    }

    pub(crate) fn nest_began(&mut self, actor: usize) {
        if let Some(worker) = self.workers.get_mut(actor) {
            self.nested.push((actor, std::mem::take(worker)));
        }
    }

    pub(crate) fn nest_over(&mut self, actor: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == actor) {
            self.workers[actor] = self.nested.remove(place).1;
        }
    }

    pub(crate) fn look_began(&mut self, worker: usize) {
        self.workers[worker] = Worker::default();
    }

    pub(crate) fn read_clock(&mut self, actor: usize, now_ns: u64, at: Moment) {
        let quantum_ns = self.quantum_ns;
        if let Some(worker) = self.workers.get_mut(actor) {
            (worker.now_ns, worker.read) = (now_ns, at);
            worker.after_slot.get_or_insert((now_ns, at));
            worker
                .look_until_ns
                .get_or_insert(now_ns.saturating_add(quantum_ns));
        }
    }

    pub(crate) fn looked(&mut self, actor: usize, at: Moment, old_first: bool) {
        if let Some(worker) = self.workers.get_mut(actor) {
            worker.looked = at;
            if worker.visit.is_none() {
                worker.search.get_or_insert(Search {
                    arrivals: worker.read.arrivals,
                    old_first,
                });
            }
        }
    }

    pub(crate) fn fetched(&mut self, actor: usize, job: JobHandle, is_old: bool) {
        if let Some(worker) = self.workers.get_mut(actor) {
            worker.fetched = Some((job.seq, is_old));
        }
    }

    pub(crate) fn entered(&mut self, worker: usize, job: JobHandle, is_old: bool) {
        let stay_ns = self.stay_ns;
        let Some(worker) = self.workers.get_mut(worker) else {
            return;
        };
        let age = match worker.fetched {
            _ if !is_old => Age::Young,
            Some((fetched, true)) if fetched == job.seq => Age::Old,
            _ => Age::Either,
        };
        let search = worker
            .search
            .filter(|search| !search.old_first && age != Age::Young);
        worker.visit = Some(Visit {
            job,
            until_ns: match search {
                Some(_) => Some(worker.now_ns.saturating_add(stay_ns)),
                None => worker.look_until_ns,
            },
            stays: search.filter(|_| age == Age::Old).map(|search| search.arrivals),
            claims: 0,
        });
    }

    /// `waits` returns a young job that should have ended the stay.
    pub(crate) fn claimed(
        &mut self,
        worker: usize,
        waits: impl Fn(Moment, Moment) -> Option<JobHandle>,
    ) -> Result<(), Violation> {
        let Some(state) = self.workers.get_mut(worker) else {
            return Ok(());
        };
        state.ran = false;
        let boundary = (state.now_ns, state.read);
        let Some(visit) = &mut state.visit else {
            return Ok(());
        };
        visit.claims += 1;
        if visit.claims == 1 {
            return Ok(());
        }
        let visit = *visit;
        visit.judge(worker, "claims once more in a job", boundary, state.looked, waits)
    }

    pub(crate) fn slot_began(
        &mut self,
        actor: usize,
        waits: impl Fn(Moment, Moment) -> Option<JobHandle>,
    ) -> Result<(), Violation> {
        let Some(state) = self.workers.get_mut(actor) else {
            return Ok(());
        };
        let after_slot = state.after_slot.take();
        if !std::mem::replace(&mut state.ran, true) {
            return Ok(());
        }
        match (state.visit, after_slot) {
            (Some(visit), Some(boundary)) => visit.judge(
                actor,
                "runs another slot of its claim",
                boundary,
                state.looked,
                waits,
            ),
            _ => Ok(()),
        }
    }

    /// `could_claim` says whether `worker` could have claimed more there since a moment.
    pub(crate) fn left(
        &mut self,
        worker: usize,
        arrivals: usize,
        could_claim: impl Fn(JobHandle, Moment) -> bool,
    ) -> Result<Stayed, Violation> {
        let Some(state) = self.workers.get_mut(worker) else {
            return Ok(Stayed::Otherwise);
        };
        let Some(visit) = state.visit.take() else {
            return Ok(Stayed::Otherwise);
        };
        if visit.claims == 0 {
            return Ok(Stayed::Otherwise);
        }
        state.search = None;
        let Some(before) = visit.stays else {
            return Ok(Stayed::Otherwise);
        };
        let is_over = |until_ns: Option<u64>| until_ns.is_some_and(|until| state.now_ns >= until);
        if is_over(visit.until_ns) {
            return Ok(Stayed::Longer);
        }
        if !could_claim(visit.job, state.read) {
            return Ok(Stayed::Otherwise);
        }
        if arrivals != before {
            return Ok(Stayed::GaveWay);
        }
        Err(violation(format!(
            "worker {worker} leaves {:?}, which is old, though its time is not over and no young job has arrived",
            visit.job
        )))
    }
}

impl Visit {
    fn judge(
        self,
        worker: usize,
        does: &str,
        boundary: (u64, Moment),
        looked: Moment,
        waits: impl Fn(Moment, Moment) -> Option<JobHandle>,
    ) -> Result<(), Violation> {
        let (now_ns, read) = boundary;
        if self.until_ns.is_some_and(|until| now_ns >= until) {
            return Err(violation(format!(
                "worker {worker} {does} though its time there is over"
            )));
        }
        match self.stays.and_then(|_| waits(read, looked)) {
            None => Ok(()),
            Some(young) => Err(violation(format!(
                "worker {worker} {does} though that is old and {young:?} waits, which is young"
            ))),
        }
    }
}

fn violation(message: String) -> Violation {
    Violation::new(Oracle::Quantum, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobHandle = JobHandle {
        rank: 1,
        seq: 1,
        index: 0,
    };
    const YOUNG: JobHandle = JobHandle {
        rank: 1,
        seq: 2,
        index: 1,
    };

    fn moment(step: u64, arrivals: usize) -> Moment {
        Moment { step, arrivals }
    }

    /// Worker 0 began a look at 1,000 ns and has claimed; the quantum is 100 ns.
    fn in_a_job(is_old: bool, old_first: bool) -> StayOracle {
        let mut oracle = StayOracle::new(1, 100, 400);
        oracle.look_began(0);
        oracle.read_clock(0, 1_000, moment(1, 7));
        oracle.looked(0, moment(2, 7), old_first);
        oracle.fetched(0, JOB, is_old);
        oracle.entered(0, JOB, is_old);
        assert!(oracle.is_visiting(0));
        assert_eq!(oracle.claimed(0, no_young_job), Ok(()));
        oracle
    }

    fn no_young_job(_: Moment, _: Moment) -> Option<JobHandle> {
        None
    }

    fn a_young_job(_: Moment, _: Moment) -> Option<JobHandle> {
        Some(YOUNG)
    }

    fn may_go_on(
        mut oracle: StayOracle,
        now_ns: u64,
        waits: fn(Moment, Moment) -> Option<JobHandle>,
    ) -> [bool; 2] {
        let mut other = StayOracle {
            workers: oracle.workers.clone(),
            nested: Vec::new(),
            ..oracle
        };
        assert_eq!(other.slot_began(0, a_young_job), Ok(()), "the first of a claim");
        for oracle in [&mut oracle, &mut other] {
            oracle.read_clock(0, now_ns, moment(3, 7));
        }
        let says = |verdict: Result<(), Violation>| match verdict {
            Ok(()) => true,
            Err(violation) => {
                assert_eq!(violation.oracle, Oracle::Quantum);
                false
            }
        };
        [says(oracle.claimed(0, waits)), says(other.slot_began(0, waits))]
    }

    #[test]
    fn a_visit_of_a_young_job_and_one_on_a_used_up_allowance_end_with_the_looks_quantum_whatever_waits() {
        for (is_old, old_first) in [(false, false), (false, true), (true, true)] {
            let oracle = || in_a_job(is_old, old_first);
            assert_eq!(may_go_on(oracle(), 1_099, a_young_job), [true; 2]);
            assert_eq!(may_go_on(oracle(), 1_100, no_young_job), [false; 2]);
        }
    }

    #[test]
    fn a_stay_lasts_four_quanta_and_no_longer() {
        let oracle = || in_a_job(true, false);
        assert_eq!(may_go_on(oracle(), 1_399, no_young_job), [true; 2]);
        assert_eq!(may_go_on(oracle(), 1_400, no_young_job), [false; 2]);
    }

    #[test]
    fn a_stay_that_goes_on_though_a_young_job_waits_is_noticed() {
        assert_eq!(may_go_on(in_a_job(true, false), 1_001, a_young_job), [false; 2]);
    }

    #[test]
    fn a_job_that_may_have_been_young_or_old_has_the_longer_time_and_gives_no_way() {
        let oracle = || {
            let mut oracle = in_a_job(true, false);
            oracle.workers[0].visit = None;
            oracle.fetched(0, JOB, false);
            oracle.entered(0, JOB, true);
            assert_eq!(oracle.claimed(0, no_young_job), Ok(()));
            oracle
        };
        assert_eq!(may_go_on(oracle(), 1_399, a_young_job), [true; 2]);
        assert_eq!(may_go_on(oracle(), 1_400, no_young_job), [false; 2]);
    }

    #[test]
    fn a_stay_that_ends_early_without_a_reason_is_noticed() {
        let left = |now_ns: u64, arrivals: usize, could_claim: bool| {
            let mut oracle = in_a_job(true, false);
            oracle.read_clock(0, now_ns, moment(3, arrivals));
            let stayed = oracle.left(0, arrivals, |job, since| {
                assert_eq!((job, since.step), (JOB, 3));
                could_claim
            });
            assert!(!oracle.is_visiting(0));
            stayed.map_err(|violation| violation.oracle)
        };
        assert_eq!(left(1_400, 7, true), Ok(Stayed::Longer));
        assert_eq!(left(1_399, 8, true), Ok(Stayed::GaveWay));
        assert_eq!(left(1_399, 7, false), Ok(Stayed::Otherwise));
        assert_eq!(left(1_399, 7, true), Err(Oracle::Quantum));
    }
}
