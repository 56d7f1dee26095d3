//! A main worker takes the job that has received the least service.
//!
//! When a search begins, the oracle notes the tag of each open job. A claim fails the run if
//! another job preceded the claimed one then, still does, and was available throughout; a tag only
//! grows, so that job preceded it at every moment. A search that begins among old jobs is compared
//! with those.
//!
//! Each visit to a young job must add to the job's service. An old job's figure may stay: no job
//! gets ahead by more than a quantum.

use pipeline_exec::policy::JobHandle;

use super::{Oracle, Violation};

#[derive(Debug, Default)]
pub(crate) struct ServiceOracle {
    scans: Vec<Scan>,
    /// Visits under way: the actor, the job's number, and the service before.
    visits: Vec<(usize, usize, usize)>,
    pub(crate) compared: u64,
}

#[derive(Clone, Debug, Default)]
struct Scan {
    began: u64,
    open: Vec<(JobHandle, usize)>,
}

impl ServiceOracle {
    pub(crate) fn scan_began(
        &mut self,
        actor: usize,
        step: u64,
        open: impl Iterator<Item = (JobHandle, usize)>,
    ) {
        if self.scans.len() <= actor {
            self.scans.resize(actor + 1, Scan::default());
        }
        let scan = &mut self.scans[actor];
        scan.began = step;
        scan.open.clear();
        scan.open.extend(open);
    }

    pub(crate) fn entered(&mut self, actor: usize, job: JobHandle, service: usize) {
        self.visits.push((actor, job.seq, service));
    }

    /// `service` is `None` if the job has ended. `young`: a job with less service is young. `adds`:
    /// a worker's visit that claimed something.
    pub(crate) fn left(
        &mut self,
        actor: usize,
        job: JobHandle,
        service: Option<usize>,
        young: usize,
        adds: bool,
    ) -> Result<(), Violation> {
        let visit = |visit: &(usize, usize, usize)| (visit.0, visit.1) == (actor, job.seq);
        let Some(place) = self.visits.iter().rposition(visit) else {
            return Ok(());
        };
        let (_, _, before) = self.visits.remove(place);
        match service {
            Some(after) if adds && before < young && after <= before => Err(Violation::new(
                Oracle::Service,
                format!(
                    "actor {actor} has visited {job:?}, which had received {before} before and has {after} now"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// `now` returns a job's tag if it was open to all since a step.
    pub(crate) fn claimed(
        &mut self,
        actor: usize,
        job: JobHandle,
        now: impl Fn(JobHandle, u64) -> Option<usize>,
    ) -> Result<(), Violation> {
        let Some(scan) = self.scans.get(actor) else {
            return Ok(());
        };
        let Some(&(_, had)) = scan.open.iter().find(|(other, _)| other.seq == job.seq) else {
            return Ok(());
        };
        self.compared += 1;
        let others = scan.open.iter().filter(|(other, _)| other.seq != job.seq);
        let less = (others.filter_map(|&(other, _)| Some((other, now(other, scan.began)?))))
            .find(|&(_, tag)| tag < had);
        match less {
            None => Ok(()),
            Some((other, tag)) => Err(Violation::new(
                Oracle::Service,
                format!(
                    "actor {actor} went into {job:?}, which had received {had}, but could have had {other:?}, which has {tag}"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: JobHandle = JobHandle {
        rank: 1,
        seq: 1,
        index: 0,
    };
    const OTHER: JobHandle = JobHandle {
        rank: 1,
        seq: 2,
        index: 1,
    };

    #[test]
    fn a_visit_to_a_young_job_that_adds_nothing_is_noticed() {
        let visit = |before, after, adds| {
            let mut oracle = ServiceOracle::default();
            oracle.entered(0, ONE, before);
            oracle.left(0, ONE, after, 10, adds)
        };
        assert_eq!(visit(3, Some(4), true), Ok(()));
        assert!(visit(3, Some(3), true).is_err());
        assert_eq!(visit(3, Some(3), false), Ok(()), "it was a lent thread");
        assert_eq!(visit(10, Some(10), true), Ok(()), "it is old");
        assert_eq!(visit(3, None, true), Ok(()), "it has ended");
    }

    #[test]
    fn a_job_that_was_passed_over_for_one_with_more_service_is_noticed() {
        let mut oracle = ServiceOracle::default();
        oracle.scan_began(0, 7, [(ONE, 9), (OTHER, 5)].into_iter());
        assert_eq!(oracle.claimed(0, OTHER, |_, _| Some(9)), Ok(()));
        assert_eq!(
            oracle.claimed(0, ONE, |_, _| None),
            Ok(()),
            "the other was not open"
        );
        assert_eq!(
            oracle.claimed(0, ONE, |_, _| Some(9)),
            Ok(()),
            "the other was served too"
        );
        let violation = oracle.claimed(0, ONE, |job, since| {
            assert_eq!((job, since), (OTHER, 7));
            Some(5)
        });
        assert_eq!(violation.expect_err("it had less").oracle, Oracle::Service);
    }
}
