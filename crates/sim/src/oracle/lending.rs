//! Lent threads: each runs one job alone, under its own number, and sleeps through no slot.
//!
//! An actor is inside a job from the fetch of its body until it leaves for something else. A run
//! fails when
//!
//! - a lent thread claims in another job or under a worker's number, or a worker as a lent thread;
//! - two lent threads both claim slots of a job;
//! - all threads lent to a job sleep unwoken, no actor is inside the job, and something is
//!   claimable;
//! - the only thread lent to a job sleeps though something was claimable since before it
//!   registered.
//!
//! A worker whose slot waits for a nested job is lent to that job.

use pipeline_exec::{Role, policy::JobHandle};

use super::{Oracle, Violation};

#[derive(Debug, Default)]
pub(crate) struct LendOracle {
    lent: Vec<Lent>,
    inside: Vec<Option<JobHandle>>,
    nested: Vec<(usize, Option<JobHandle>)>,
    runs: Vec<(usize, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct Lent {
    actor: usize,
    job: JobHandle,
    /// The step in which it last changed a ledger; before a sleep, that of its registration.
    registered: u64,
    asleep: bool,
}

impl LendOracle {
    pub(crate) fn began(&mut self, actor: usize, job: JobHandle) -> usize {
        let before = self.lent.iter().filter(|lent| lent.job.seq == job.seq).count();
        self.lent.push(Lent {
            actor,
            job,
            registered: 0,
            asleep: false,
        });
        before
    }

    pub(crate) fn ended(
        &mut self,
        actor: usize,
        is_open: impl Fn(JobHandle) -> bool,
    ) -> Result<(), Violation> {
        if let Some(place) = self.lent.iter().rposition(|lent| lent.actor == actor) {
            self.lent.remove(place);
        }
        self.left(actor, is_open)
    }

    pub(crate) fn is_lent(&self, actor: usize) -> bool {
        self.job_of(actor).is_some()
    }

    pub(crate) fn job_of(&self, actor: usize) -> Option<JobHandle> {
        let lent = self.lent.iter().rfind(|lent| lent.actor == actor);
        lent.map(|lent| lent.job)
    }

    pub(crate) fn nest_began(&mut self, actor: usize) {
        let outer = self.inside.get_mut(actor).and_then(Option::take);
        self.nested.push((actor, outer));
    }

    pub(crate) fn nest_over(&mut self, actor: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == actor)
            && let (_, Some(outer)) = self.nested.remove(place)
        {
            self.fetched(actor, outer);
        }
    }

    pub(crate) fn fetched(&mut self, actor: usize, job: JobHandle) {
        if self.inside.len() <= actor {
            self.inside.resize(actor + 1, None);
        }
        self.inside[actor] = Some(job);
    }

    /// Returns `false` if `actor` is inside a job.
    pub(crate) fn comes(&mut self, actor: usize, job: JobHandle) -> bool {
        let outside = self.inside.get(actor).is_none_or(Option::is_none);
        if outside {
            self.fetched(actor, job);
        }
        outside
    }

    pub(crate) fn left(
        &mut self,
        actor: usize,
        is_open: impl Fn(JobHandle) -> bool,
    ) -> Result<(), Violation> {
        match self.inside.get_mut(actor).and_then(Option::take) {
            Some(job) => self.judge_sleep(job, is_open),
            None => Ok(()),
        }
    }

    pub(crate) fn changed_ledger(&mut self, actor: usize, step: u64) {
        if let Some(lent) = self.lent.iter_mut().rfind(|lent| lent.actor == actor) {
            lent.registered = step;
        }
    }

    pub(crate) fn sleeps(
        &mut self,
        actor: usize,
        is_open: impl Fn(JobHandle) -> bool,
        is_open_since: impl Fn(JobHandle, u64) -> bool,
    ) -> Result<(), Violation> {
        let left = self.left(actor, &is_open);
        let Some(lent) = self.lent.iter_mut().rfind(|lent| lent.actor == actor) else {
            return left;
        };
        lent.asleep = true;
        let Lent { job, registered, .. } = *lent;
        // Of several lent threads one runs slots; the oracle does not know which.
        let alone = self.lent.iter().filter(|lent| lent.job.seq == job.seq).count() == 1;
        let may_run = self
            .runs
            .iter()
            .all(|&(seq, runs)| seq != job.seq || runs == actor);
        if alone && may_run && is_open_since(job, registered) {
            return Err(said(format!(
                "actor {actor} is lent to {job:?} and sleeps, but could have claimed a slot of it since before it registered"
            )));
        }
        left.and(self.judge_sleep(job, is_open))
    }

    pub(crate) fn woken(&mut self, actor: usize) -> bool {
        let lent = self.lent.iter_mut().rfind(|lent| lent.actor == actor);
        lent.is_some_and(|lent| std::mem::replace(&mut lent.asleep, false))
    }

    /// A lent thread's number is `number`.
    pub(crate) fn claimed(
        &mut self,
        actor: usize,
        job: JobHandle,
        (worker, role): (usize, Role),
        number: usize,
    ) -> Result<(), Violation> {
        let lent = self.lent.iter().rfind(|lent| lent.actor == actor);
        match (lent, role) {
            (None, Role::Main | Role::Reserve) if worker < number => return Ok(()),
            (Some(lent), Role::Lent) if worker == number && lent.job.seq == job.seq => {}
            _ => {
                return Err(said(format!(
                    "actor {actor}, lent to {:?}, claims of {job:?} as worker {worker} in the role {role:?}",
                    lent.map(|lent| lent.job)
                )));
            }
        }
        match self.runs.iter().find(|(seq, _)| *seq == job.seq) {
            Some(&(_, other)) if other != actor => Err(said(format!(
                "actors {other} and {actor} both run {job:?} as worker {worker}"
            ))),
            Some(_) => Ok(()),
            None => {
                self.runs.push((job.seq, actor));
                Ok(())
            }
        }
    }

    fn judge_sleep(&self, job: JobHandle, is_open: impl Fn(JobHandle) -> bool) -> Result<(), Violation> {
        let mut lent = self.lent.iter().filter(|lent| lent.job.seq == job.seq).peekable();
        let all_asleep = lent.peek().is_some() && lent.all(|lent| lent.asleep);
        let outer = self.nested.iter().filter_map(|(_, outer)| outer.as_ref());
        let any_inside = (self.inside.iter().flatten().chain(outer)).any(|inside| inside.seq == job.seq);
        if all_asleep && !any_inside && is_open(job) {
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
        rank: 1,
        seq: 1,
        index: 0,
    };
    const OTHER: JobHandle = JobHandle {
        rank: 1,
        seq: 2,
        index: 1,
    };
    const NUMBER: usize = 2;
    const LENT: (usize, Role) = (NUMBER, Role::Lent);

    fn oracle() -> LendOracle {
        let mut oracle = LendOracle::default();
        assert_eq!(oracle.began(7, JOB), 0);
        oracle
    }

    #[test]
    fn a_lent_thread_that_runs_another_job_or_under_another_number_is_noticed() {
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
    fn a_sleep_beside_open_slots_is_noticed_once_no_actor_owes_the_wake() {
        let mut oracle = oracle();
        oracle.fetched(0, JOB);
        assert_eq!(
            oracle.sleeps(7, |_| true, |_, _| false),
            Ok(()),
            "an actor is inside"
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
