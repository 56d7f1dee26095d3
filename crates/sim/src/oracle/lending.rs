//! Lent threads: they run slots of one job and of no other, under a number that nobody else has in it, and sleep through no slot.
//!
//! The oracle is told who lends a thread to which job, who sleeps and who is woken, and it keeps books on who may be inside a job:
//! whoever has fetched its body and has not gone on to something else. What it holds against a run:
//!
//! - a lent thread that claims a slot of another job, or under a worker's number, or a worker under a lent thread's role;
//! - two lent threads that both claim slots of a job;
//! - all threads that are lent to a job sleep, nobody has woken one, nobody is inside the job, and something of it could be claimed.
//!   Whoever made it claimable, or made room, was inside, and owes the wake before it goes on;
//! - the only thread that is lent to a job sleeps though something of it could be claimed all the time since before it registered.
//!
//! A worker whose slot waits for a job of its own is lent to that job as well, inside the one that it is in: it runs nothing but that.
//! The innermost counts.

use pipeline_exec::{JobHandle, Role};

use super::{Oracle, Violation};

/// Follows lent threads, and who is inside jobs.
#[derive(Debug, Default)]
pub(crate) struct LendOracle {
    /// Every thread that is lent, for as long as it is.
    lent: Vec<Lent>,
    /// Jobs in which a party may be, by its number.
    inside: Vec<Option<JobHandle>>,
    /// Parties in whose slots jobs of their own run now, and the jobs whose slots these are.
    nested: Vec<(usize, Option<JobHandle>)>,
    /// The party whose thread runs slots of a job, since its first claim.
    runs: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Lent {
    party: usize,
    job: JobHandle,
    /// The micro-step in which it changed a ledger last: when it is about to sleep, that in which it registered.
    registered: u64,
    asleep: bool,
}

impl LendOracle {
    /// `party` lends its thread to `job`. Gives how many were lent to it before.
    pub(crate) fn began(&mut self, party: usize, job: JobHandle) -> usize {
        let before = self.lent.iter().filter(|lent| lent.job.seq == job.seq).count();
        self.lent.push(Lent {
            party,
            job,
            registered: 0,
            asleep: false,
        });
        before
    }

    /// The thread of `party` is its own again.
    pub(crate) fn ended(
        &mut self,
        party: usize,
        is_open: impl Fn(JobHandle) -> bool,
    ) -> Result<(), Violation> {
        if let Some(place) = self.lent.iter().rposition(|lent| lent.party == party) {
            self.lent.remove(place);
        }
        self.left(party, is_open)
    }

    /// Whether the thread of `party` is lent.
    pub(crate) fn is_lent(&self, party: usize) -> bool {
        self.job_of(party).is_some()
    }

    /// The job to which the thread of `party` is lent.
    pub(crate) fn job_of(&self, party: usize) -> Option<JobHandle> {
        let lent = self.lent.iter().rfind(|lent| lent.party == party);
        lent.map(|lent| lent.job)
    }

    /// A slot that `party` runs begins to wait for a job of its own. It stays inside the one whose slot it is.
    pub(crate) fn nest_began(&mut self, party: usize) {
        let outer = self.inside.get_mut(party).and_then(Option::take);
        self.nested.push((party, outer));
    }

    /// It goes on.
    pub(crate) fn nest_over(&mut self, party: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == party)
            && let (_, Some(outer)) = self.nested.remove(place)
        {
            self.fetched(party, outer);
        }
    }

    /// `party` has fetched the body of `job`, and may go into it.
    pub(crate) fn fetched(&mut self, party: usize, job: JobHandle) {
        if self.inside.len() <= party {
            self.inside.resize(party + 1, None);
        }
        self.inside[party] = Some(job);
    }

    /// `party`, which is in no job, does something to `job` from outside. `false`: it is inside one.
    pub(crate) fn comes(&mut self, party: usize, job: JobHandle) -> bool {
        let outside = self.inside.get(party).is_none_or(Option::is_none);
        if outside {
            self.fetched(party, job);
        }
        outside
    }

    /// `party` has gone on to something else than the job in which it was.
    pub(crate) fn left(
        &mut self,
        party: usize,
        is_open: impl Fn(JobHandle) -> bool,
    ) -> Result<(), Violation> {
        match self.inside.get_mut(party).and_then(Option::take) {
            Some(job) => self.judge_sleep(job, is_open),
            None => Ok(()),
        }
    }

    /// `party` has changed a ledger in micro-step `step`.
    pub(crate) fn changed_ledger(&mut self, party: usize, step: u64) {
        if let Some(lent) = self.lent.iter_mut().rfind(|lent| lent.party == party) {
            lent.registered = step;
        }
    }

    /// `party`, whose thread is lent, is about to sleep. `is_open_since` says whether a job has been open to all since before
    /// a micro-step.
    pub(crate) fn sleeps(
        &mut self,
        party: usize,
        is_open: impl Fn(JobHandle) -> bool,
        is_open_since: impl Fn(JobHandle, u64) -> bool,
    ) -> Result<(), Violation> {
        let left = self.left(party, &is_open);
        let Some(lent) = self.lent.iter_mut().rfind(|lent| lent.party == party) else {
            return left;
        };
        lent.asleep = true;
        let Lent { job, registered, .. } = *lent;
        // Of several, one runs slots, and which is not said here.
        let alone = self.lent.iter().filter(|lent| lent.job.seq == job.seq).count() == 1;
        let may_run = self
            .runs
            .iter()
            .all(|&(seq, runs)| seq != job.seq || runs == party);
        if alone && may_run && is_open_since(job, registered) {
            return Err(said(format!(
                "party {party} is lent to {job:?} and sleeps, but could have claimed a slot of it since before it registered"
            )));
        }
        left.and(self.judge_sleep(job, is_open))
    }

    /// The sleep of `party` is over, or will be. Whether it did sleep.
    pub(crate) fn woken(&mut self, party: usize) -> bool {
        let lent = self.lent.iter_mut().rfind(|lent| lent.party == party);
        lent.is_some_and(|lent| std::mem::replace(&mut lent.asleep, false))
    }

    /// `party` has claimed slots of `job` as number `worker`; a lent thread's is `number`.
    pub(crate) fn claimed(
        &mut self,
        party: usize,
        job: JobHandle,
        (worker, role): (usize, Role),
        number: usize,
    ) -> Result<(), Violation> {
        let lent = self.lent.iter().rfind(|lent| lent.party == party);
        match (lent, role) {
            (None, Role::Main | Role::Reserve) if worker < number => return Ok(()),
            (Some(lent), Role::Lent) if worker == number && lent.job.seq == job.seq => {}
            _ => {
                return Err(said(format!(
                    "party {party}, lent to {:?}, claims of {job:?} as worker {worker} in the role {role:?}",
                    lent.map(|lent| lent.job)
                )));
            }
        }
        match self.runs.iter().find(|(seq, _)| *seq == job.seq) {
            Some(&(_, other)) if other != party => Err(said(format!(
                "parties {other} and {party} both run {job:?} as worker {worker}"
            ))),
            Some(_) => Ok(()),
            None => {
                self.runs.push((job.seq, party));
                Ok(())
            }
        }
    }

    fn judge_sleep(&self, job: JobHandle, is_open: impl Fn(JobHandle) -> bool) -> Result<(), Violation> {
        let mut lent = self.lent.iter().filter(|lent| lent.job.seq == job.seq).peekable();
        let all_asleep = lent.peek().is_some() && lent.all(|lent| lent.asleep);
        let outer = self.nested.iter().filter_map(|(_, outer)| outer.as_ref());
        let anybody_inside = (self.inside.iter().flatten().chain(outer)).any(|inside| inside.seq == job.seq);
        if all_asleep && !anybody_inside && is_open(job) {
            return Err(said(format!(
                "{job:?} has slots to claim and room, and the thread that is lent to it sleeps"
            )));
        }
        Ok(())
    }
}

fn said(message: String) -> Violation {
    Violation::new(Oracle::Lending, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobHandle = JobHandle {
        cost: 1,
        seq: 1,
        index: 0,
    };
    const OTHER: JobHandle = JobHandle {
        cost: 1,
        seq: 2,
        index: 1,
    };
    /// A lent thread's number beside two workers.
    const NUMBER: usize = 2;
    const LENT: (usize, Role) = (NUMBER, Role::Lent);

    /// Party 7 is lent to [`JOB`].
    fn oracle() -> LendOracle {
        let mut oracle = LendOracle::default();
        assert_eq!(oracle.began(7, JOB), 0);
        oracle
    }

    #[test]
    fn a_lent_thread_that_runs_another_job_or_as_somebody_else_is_noticed() {
        assert_eq!(oracle().claimed(7, JOB, LENT, NUMBER), Ok(()));
        assert!(oracle().claimed(7, OTHER, LENT, NUMBER).is_err());
        assert!(oracle().claimed(7, JOB, (0, Role::Main), NUMBER).is_err());
        assert!(oracle().claimed(0, JOB, LENT, NUMBER).is_err(), "it is not lent");
        assert_eq!(oracle().claimed(0, OTHER, (0, Role::Main), NUMBER), Ok(()));
    }

    #[test]
    fn two_threads_under_one_number_are_noticed() {
        let mut oracle = oracle();
        assert_eq!(oracle.began(8, JOB), 1);
        assert_eq!(oracle.claimed(8, JOB, LENT, NUMBER), Ok(()));
        assert!(oracle.claimed(7, JOB, LENT, NUMBER).is_err());
    }

    #[test]
    fn a_sleep_beside_open_slots_is_noticed_once_nobody_owes_the_wake() {
        let mut oracle = oracle();
        oracle.fetched(0, JOB);
        assert_eq!(
            oracle.sleeps(7, |_| true, |_, _| false),
            Ok(()),
            "somebody is inside"
        );
        assert_eq!(oracle.left(0, |_| false), Ok(()), "nothing is open");
        oracle.fetched(0, JOB);
        assert!(oracle.left(0, |_| true).is_err());
        assert!(oracle.woken(7));
        oracle.fetched(0, JOB);
        assert_eq!(oracle.left(0, |_| true), Ok(()), "it was woken");
    }

    #[test]
    fn a_sleep_without_a_look_after_registering_is_noticed() {
        let mut oracle = oracle();
        oracle.changed_ledger(7, 30);
        oracle.fetched(0, JOB);
        let since = |open: u64| move |_, registered| open < registered;
        assert_eq!(
            oracle.sleeps(7, |_| true, since(30)),
            Ok(()),
            "it was opened afterwards"
        );
        assert!(oracle.sleeps(7, |_| true, since(29)).is_err());
    }

    #[test]
    fn a_worker_in_whose_slot_a_job_runs_is_lent_to_that_job_alone_and_stays_inside_the_outer_one() {
        let mut oracle = oracle();
        oracle.fetched(0, JOB);
        oracle.nest_began(0);
        oracle.began(0, OTHER);
        assert_eq!(oracle.claimed(0, OTHER, LENT, NUMBER), Ok(()));
        assert!(
            oracle.claimed(0, JOB, (0, Role::Main), NUMBER).is_err(),
            "another job's slot"
        );
        assert_eq!(
            oracle.sleeps(7, |_| true, |_, _| false),
            Ok(()),
            "it is inside, and owes the wake"
        );
        assert_eq!(oracle.ended(0, |_| true), Ok(()));
        oracle.nest_over(0);
        assert_eq!(oracle.claimed(0, OTHER, (0, Role::Main), NUMBER), Ok(()));
        assert!(
            oracle.left(0, |_| true).is_err(),
            "the outer job's lent thread sleeps"
        );
    }

    #[test]
    fn one_of_two_may_sleep_while_the_other_is_awake() {
        let mut oracle = oracle();
        oracle.began(8, JOB);
        assert_eq!(oracle.sleeps(8, |_| true, |_, _| true), Ok(()));
        assert!(oracle.sleeps(7, |_| true, |_, _| false).is_err());
    }
}
