//! Short jobs are served soon: a main worker takes the job that has received the least service.
//!
//! A job starts with nothing and each visit adds to it, so a new one waits for a visit or two and not for the end of those before it.
//! What that rests on is that nobody goes into a job while another stands before it in the order of service. The oracle notes at the
//! beginning of a scan of that order at which tag each open job stands, and speaks when the worker goes into one although another stood
//! before it, stands before it still, and could be gone into all the while. A tag only grows, so it stood there at every moment.
//!
//! A scan that begins among the old jobs is compared with those; that a worker goes to the old ones first only when it may is for the
//! [turn oracle](super::TurnOracle).
//!
//! And each visit of a worker to a young job adds to what the job has received, whatever the job is made of. What an old job has received
//! may stay as it is: no job gets further ahead of the others than by a quantum.

use pipeline_exec::JobHandle;

use super::{Oracle, Violation};

/// Notes the tags of open jobs at the beginning of each scan.
#[derive(Debug, Default)]
pub(crate) struct ServiceOracle {
    scans: Vec<Scan>,
    /// Visits under way: the party, the job's number, and what the job had received.
    visits: Vec<(usize, usize, usize)>,
    /// Claims that were compared.
    pub(crate) compared: u64,
}

#[derive(Clone, Debug, Default)]
struct Scan {
    began: u64,
    /// Open jobs that do not limit their workers, and their tags.
    open: Vec<(JobHandle, usize)>,
}

impl ServiceOracle {
    /// `party` begins to go down the order of service, from somewhere on, where those that are `open` to all have these tags.
    pub(crate) fn scan_began(
        &mut self,
        party: usize,
        step: u64,
        open: impl Iterator<Item = (JobHandle, usize)>,
    ) {
        if self.scans.len() <= party {
            self.scans.resize(party + 1, Scan::default());
        }
        let scan = &mut self.scans[party];
        scan.began = step;
        scan.open.clear();
        scan.open.extend(open);
    }

    /// `party` visits `job`, which has received `service`.
    pub(crate) fn entered(&mut self, party: usize, job: JobHandle, service: usize) {
        self.visits.push((party, job.seq, service));
    }

    /// The visit of `party` to `job` is over, which has received `service` by now; `None`: it has ended. `young`: a job that has received
    /// less is young. `adds`: the visit was a worker's, who has claimed something.
    pub(crate) fn left(
        &mut self,
        party: usize,
        job: JobHandle,
        service: Option<usize>,
        young: usize,
        adds: bool,
    ) -> Result<(), Violation> {
        let visit = |visit: &(usize, usize, usize)| (visit.0, visit.1) == (party, job.seq);
        let Some(place) = self.visits.iter().rposition(visit) else {
            return Ok(());
        };
        let (_, _, before) = self.visits.remove(place);
        match service {
            Some(after) if adds && before < young && after <= before => Err(Violation::new(
                Oracle::Service,
                format!(
                    "party {party} has visited {job:?}, which had received {before} before and has {after} now"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// `party` went into `job` after that scan. `now` gives a job's tag, if it has been open to all since
    /// a micro-step.
    pub(crate) fn claimed(
        &mut self,
        party: usize,
        job: JobHandle,
        now: impl Fn(JobHandle, u64) -> Option<usize>,
    ) -> Result<(), Violation> {
        let Some(scan) = self.scans.get(party) else {
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
                    "party {party} went into {job:?}, which had received {had}, but could have had {other:?}, which has {tag}"
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: JobHandle = JobHandle {
        cost: 1,
        seq: 1,
        index: 0,
    };
    const OTHER: JobHandle = JobHandle {
        cost: 1,
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
