//! Short jobs are served soon: a main worker takes the job that has received the least service.
//!
//! A new job starts with as much service as the least served one had when it was taken, and each visit adds to it. So a job waits
//! for one visit, more or less, of each job before it, and not for their end; what that rests on is that nobody goes into a job
//! while another has received less. The oracle notes at the beginning of a scan of the oldest jobs what each open one has received,
//! and speaks when the worker goes into one although another had less, and has less still, and could be gone into all the while.
//!
//! The policy looks among so many of the oldest, and goes into the first that has no more than where new jobs start; what it may
//! do by that is not held against it.

use pipeline_exec::JobHandle;
use pipeline_exec::policy::role::LEAST_SERVED_AMONG;

use super::{Oracle, Violation};

/// Notes the service of open jobs at the beginning of each scan.
#[derive(Debug, Default)]
pub(crate) struct ServiceOracle {
    scans: Vec<Scan>,
    /// The most that new jobs have started with so far.
    floor: usize,
    /// Claims that were compared.
    pub(crate) compared: u64,
}

#[derive(Clone, Debug, Default)]
struct Scan {
    began: u64,
    /// Open jobs that do not limit their workers, and what they had received.
    open: Vec<(JobHandle, usize)>,
}

impl ServiceOracle {
    /// New jobs start with as much as `floor` now.
    pub(crate) fn floor_is(&mut self, floor: usize) {
        self.floor = self.floor.max(floor);
    }

    /// `party` begins to go down the oldest jobs, of which those that are `open` to all have received so much.
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

    /// `party` went into `job` after that scan. `now` gives what a job has received, if it has been open to all since
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
        if had <= self.floor || scan.open.len() > LEAST_SERVED_AMONG {
            return Ok(());
        }
        self.compared += 1;
        let others = scan.open.iter().filter(|(other, _)| other.seq != job.seq);
        let less = (others.filter_map(|&(other, _)| Some((other, now(other, scan.began)?))))
            .find(|&(_, received)| received < had);
        match less {
            None => Ok(()),
            Some((other, received)) => Err(Violation::new(
                Oracle::Service,
                format!(
                    "party {party} went into {job:?}, which had received {had}, but could have had {other:?}, which has {received}"
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
    fn a_job_that_was_passed_over_for_one_with_more_service_is_noticed() {
        let mut oracle = ServiceOracle::default();
        oracle.floor_is(3);
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
        oracle.floor_is(9);
        assert_eq!(
            oracle.claimed(0, ONE, |_, _| Some(5)),
            Ok(()),
            "new jobs start there"
        );
    }
}
