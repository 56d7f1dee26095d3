//! Jobs: each slot claimed and run once, on the board while there is something to claim, one end each.
//!
//! The oracle hears of everything from the policy's events and from the operations on the board, and looks at the
//! words itself where it matters. What it holds against a run:
//!
//! - a slot that is claimed twice, run twice, run without having been claimed, or never, in a job that completed;
//! - a stage that starts before the one before it is over, or is over before its slots have run;
//! - a job that is taken off the board while a slot could still be claimed, or has one and is not on it;
//! - a worker that looked for the heaviest job and went into one although a heavier one, or an equally heavy and older
//!   one, could be gone into during all of its look;
//! - a job that ends twice, or never.

use pipeline_exec::policy::PipelineEvent;
use pipeline_exec::{JobErrorKind, JobHandle};

use super::{Oracle, Violation};
use crate::pipeline::Hub;

/// What is known of every job.
#[derive(Debug, Default)]
pub(crate) struct JobOracle {
    jobs: Vec<Record>,
    scans: Vec<Option<Scan>>,
    /// First claims that were compared with what was on the board.
    pub(crate) picks_compared: u64,
    /// Those for which another job was equally heavy.
    pub(crate) picks_tied: u64,
}

#[derive(Debug)]
struct Record {
    job: JobHandle,
    /// Only so many workers may be in it, so that it may have slots and no room.
    limited: bool,
    stages: Vec<StageRecord>,
    stages_in_all: usize,
    /// Since which micro-step any worker that looks could find it and claim something.
    open_since: Option<u64>,
    end: Option<Option<JobErrorKind>>,
}

#[derive(Debug)]
struct StageRecord {
    slots: Vec<Slot>,
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Free,
    Claimed,
    Ran,
}

/// A party goes down one of the board's orders.
#[derive(Clone, Copy, Debug)]
struct Scan {
    heaviest: bool,
    began: u64,
}

impl JobOracle {
    /// The policy says that something happened.
    pub(crate) fn observe(
        &mut self,
        hub: &Hub,
        event: PipelineEvent<'_>,
        step: u64,
        party: usize,
    ) -> Result<(), Violation> {
        match event {
            PipelineEvent::Submitted { job } => self.submitted(hub, job),
            PipelineEvent::StageStarted { job, stage, slots } => {
                self.stage_started(hub, job, stage, slots)?;
                self.look_at(hub, job, step);
                Ok(())
            }
            PipelineEvent::Claimed {
                job,
                stage,
                first,
                slots,
                worker,
                role: _,
            } => {
                // Both, whatever the first says: what was claimed has to be in the books.
                let picked = self.compare_pick(hub, job, worker, party);
                self.claimed(job, stage, first, slots)?;
                self.look_at(hub, job, step);
                picked
            }
            PipelineEvent::SlotRan { job, stage, slot, .. } => self.slot_ran(job, stage, slot),
            PipelineEvent::Entered { .. }
            | PipelineEvent::Started { .. }
            | PipelineEvent::Failed { .. }
            | PipelineEvent::Left { .. } => Ok(()),
            PipelineEvent::StageOver { job, stage } => self.stage_over(hub, job, stage),
            PipelineEvent::Ended { job, error, .. } => self.ended(job, error.map(|error| error.kind)),
        }
    }

    /// `job` was put into one of the board's orders, or taken out.
    pub(crate) fn board_changed(&mut self, hub: &Hub, job: JobHandle, step: u64) -> Result<(), Violation> {
        let was_open = self.find(job).is_ok_and(|record| record.open_since.is_some());
        self.look_at(hub, job, step);
        if was_open && hub.is_claimable(job) && hub.on_board(job) != (true, true) {
            return Err(board(job, "was taken off the board while it had slots to claim"));
        }
        Ok(())
    }

    /// `party` begins to go down one of the board's orders.
    pub(crate) fn scan_began(&mut self, party: usize, heaviest: bool, step: u64) {
        if self.scans.len() <= party {
            self.scans.resize(party + 1, None);
        }
        self.scans[party] = Some(Scan {
            heaviest,
            began: step,
        });
    }

    /// Jobs that any worker that looks finds and can claim something of.
    pub(crate) fn open_to_all(&self) -> impl Iterator<Item = JobHandle> {
        let open = (self.jobs.iter()).filter(|record| record.open_since.is_some() && !record.limited);
        open.map(|record| record.job)
    }

    /// Whether `job` has been one of those all the time since before micro-step `since`.
    pub(crate) fn is_open_to_all_since(&self, job: JobHandle, since: u64) -> bool {
        let open = |record: &Record| record.open_since.is_some_and(|open| open < since) && !record.limited;
        self.find(job).is_ok_and(open)
    }

    /// Whether all slots of `stage` have run, and of several nobody has accounted for yet: they race for being the last.
    pub(crate) fn is_anybody_else_finishing(&self, hub: &Hub, job: JobHandle, stage: usize) -> bool {
        let Some(body) = hub.peek(job) else { return false };
        let (Ok(record), (done, _)) = (
            self.find(job),
            body.state().claims().progress(&crate::word::Glass),
        ) else {
            return false;
        };
        let over = |slot: &Slot| *slot == Slot::Ran;
        let ran = record.stages.iter().flat_map(|stage| &stage.slots);
        let all_ran = record
            .stages
            .get(stage)
            .is_some_and(|row| row.slots.iter().all(over));
        all_ran && ran.filter(|slot| over(slot)).count() >= done + 2
    }

    /// `job` was let in, and its submitter has returned.
    pub(crate) fn admitted(&self, hub: &Hub, job: JobHandle) -> Result<(), Violation> {
        self.find(job)?;
        if hub.is_claimable(job) && hub.on_board(job) != (true, true) {
            return Err(board(
                job,
                "was submitted, has slots to claim, and is not on the board",
            ));
        }
        Ok(())
    }

    /// How `job` ended, if it has.
    pub(crate) fn end_of(&self, job: JobHandle) -> Option<Option<JobErrorKind>> {
        self.find(job).ok()?.end
    }

    /// Numbers of the jobs whose tickets say that they are handed back.
    pub(crate) fn handed_back(&self) -> Vec<usize> {
        let said = |record: &&Record| record.end == Some(Some(JobErrorKind::HandedBack));
        self.jobs
            .iter()
            .filter(said)
            .map(|record| record.job.seq)
            .collect()
    }

    /// At the end of a run: every job has ended.
    pub(crate) fn judge_tickets(&self) -> Result<(), Violation> {
        match self.jobs.iter().find(|record| record.end.is_none()) {
            None => Ok(()),
            Some(record) => Err(Violation::new(
                Oracle::Ticket,
                format!("{:?} was let in and has not ended", record.job),
            )),
        }
    }

    /// At the end of a run in which every job has ended: nothing is left over.
    pub(crate) fn judge_leftovers(&self, hub: &Hub, looks_may_be_out: bool) -> Result<(), Violation> {
        let leftovers = hub.leftovers();
        for what in ["board", "table", "count", "looks"] {
            let left = leftovers[what];
            if left > 0 && !(what == "looks" && looks_may_be_out) {
                return Err(Violation::new(
                    Oracle::Board,
                    format!("every job has ended, but something is left ({what}: {left})"),
                ));
            }
        }
        Ok(())
    }

    fn submitted(&mut self, hub: &Hub, job: JobHandle) -> Result<(), Violation> {
        if self.jobs.iter().any(|record| record.job.seq == job.seq) {
            return Err(board(job, "has a number that another job has"));
        }
        let Some(body) = hub.peek(job) else {
            return Err(board(job, "was let in, and the table does not hold it"));
        };
        self.jobs.push(Record {
            job,
            limited: body.spec().workers_max != usize::MAX,
            stages: Vec::new(),
            stages_in_all: body.spec().stages.len(),
            open_since: None,
            end: None,
        });
        Ok(())
    }

    fn stage_started(
        &mut self,
        hub: &Hub,
        job: JobHandle,
        stage: usize,
        slots: usize,
    ) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        if stage != record.stages.len() || record.stages.last().is_some_and(|before| !before.over) {
            return Err(claims(job, format!("started stage {stage} out of turn")));
        }
        record.stages.push(StageRecord {
            slots: vec![Slot::Free; slots],
            over: false,
        });
        if stage > 0 && hub.is_claimable(job) && hub.on_board(job) != (true, true) {
            return Err(board(job, "started a stage and is not on the board"));
        }
        Ok(())
    }

    fn claimed(&mut self, job: JobHandle, stage: usize, first: usize, slots: usize) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        if record.end.is_some() {
            return Err(claims(
                job,
                format!("had slots of stage {stage} claimed after its end"),
            ));
        }
        // A stage is announced before anybody can claim a slot of it, or in the same micro-step.
        let Some(row) = record.stages.get_mut(stage) else {
            return Err(claims(
                job,
                format!("had slots of stage {stage} claimed before it started"),
            ));
        };
        for slot in first..first + slots {
            match row.slots.get_mut(slot) {
                Some(place @ Slot::Free) => *place = Slot::Claimed,
                Some(_) => {
                    return Err(claims(
                        job,
                        format!("slot {slot} of stage {stage} was claimed twice"),
                    ));
                }
                None => return Err(claims(job, format!("stage {stage} has no slot {slot}"))),
            }
        }
        Ok(())
    }

    fn slot_ran(&mut self, job: JobHandle, stage: usize, slot: usize) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        match record
            .stages
            .get_mut(stage)
            .and_then(|row| row.slots.get_mut(slot))
        {
            Some(place @ Slot::Claimed) => {
                *place = Slot::Ran;
                Ok(())
            }
            other => Err(claims(
                job,
                format!("slot {slot} of stage {stage} ran while it was {other:?}"),
            )),
        }
    }

    fn stage_over(&mut self, hub: &Hub, job: JobHandle, stage: usize) -> Result<(), Violation> {
        let closed = hub
            .peek(job)
            .is_some_and(|body| body.state().claims().is_closed(&crate::word::Glass));
        let record = self.find_mut(job)?;
        let row = &mut record.stages[stage];
        let unfinished = row.slots.iter().position(|&slot| match slot {
            Slot::Ran => false,
            Slot::Claimed => true,
            Slot::Free => !closed,
        });
        if let Some(slot) = unfinished {
            return Err(claims(
                job,
                format!("stage {stage} is over, but not its slot {slot}"),
            ));
        }
        if std::mem::replace(&mut row.over, true) {
            return Err(claims(job, format!("stage {stage} was over twice")));
        }
        Ok(())
    }

    fn ended(&mut self, job: JobHandle, error: Option<JobErrorKind>) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        if record.end.replace(error).is_some() {
            return Err(Violation::new(Oracle::Ticket, format!("{job:?} ended twice")));
        }
        record.open_since = None;
        let slots = || record.stages.iter().flat_map(|stage| &stage.slots);
        if slots().any(|&slot| slot == Slot::Claimed) {
            return Err(claims(job, "ended while a claimed slot had not run".to_owned()));
        }
        let all_over =
            record.stages.len() == record.stages_in_all && record.stages.iter().all(|stage| stage.over);
        match error {
            None if !all_over || slots().any(|&slot| slot != Slot::Ran) => {
                Err(claims(job, "completed, but not all of its slots ran".to_owned()))
            }
            Some(JobErrorKind::HandedBack) if slots().any(|&slot| slot != Slot::Free) => {
                Err(claims(job, "was handed back, but slots of it ran".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// A worker's first claim after it went down the heaviest order: nothing heavier could be had all the while.
    fn compare_pick(
        &mut self,
        hub: &Hub,
        job: JobHandle,
        worker: usize,
        party: usize,
    ) -> Result<(), Violation> {
        let scan = self.scans.get_mut(party).and_then(Option::take);
        let Some(Scan {
            heaviest: true,
            began,
        }) = scan
        else {
            return Ok(());
        };
        self.picks_compared += 1;
        let equal = |other: &Record| other.job.cost == job.cost && other.open_since.is_some();
        self.picks_tied += u64::from(self.jobs.iter().filter(|other| equal(other)).count() > 1);
        let better = self.jobs.iter().find(|other| {
            let heavier =
                other.job.cost > job.cost || (other.job.cost == job.cost && other.job.seq < job.seq);
            let open_all_the_while = other.open_since.is_some_and(|since| since < began);
            heavier && !other.limited && open_all_the_while && hub.is_claimable(other.job)
        });
        match better {
            None => Ok(()),
            Some(other) => Err(Violation::new(
                Oracle::PickOrder,
                format!(
                    "worker {worker} looked for the heaviest job and took {job:?}, but could have had {:?}",
                    other.job
                ),
            )),
        }
    }

    /// Notes since when `job` can be found and gone into.
    fn look_at(&mut self, hub: &Hub, job: JobHandle, step: u64) {
        let open = hub.on_board(job) == (true, true) && hub.is_claimable(job);
        if let Ok(record) = self.find_mut(job) {
            record.open_since = match record.open_since {
                since @ Some(_) if open => since,
                _ => open.then_some(step),
            };
        }
    }

    fn find(&self, job: JobHandle) -> Result<&Record, Violation> {
        let known = self.jobs.iter().find(|record| record.job.seq == job.seq);
        known.ok_or_else(|| board(job, "was never let in"))
    }

    fn find_mut(&mut self, job: JobHandle) -> Result<&mut Record, Violation> {
        let known = self.jobs.iter_mut().find(|record| record.job.seq == job.seq);
        known.ok_or_else(|| board(job, "was never let in"))
    }
}

fn board(job: JobHandle, what: &str) -> Violation {
    Violation::new(Oracle::Board, format!("{job:?} {what}"))
}

fn claims(job: JobHandle, what: String) -> Violation {
    Violation::new(Oracle::Claims, format!("{job:?}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobHandle = JobHandle {
        cost: 5,
        seq: 3,
        index: 0,
    };

    /// An oracle that knows of one job of one stage of two slots.
    fn oracle() -> JobOracle {
        JobOracle {
            jobs: vec![Record {
                job: JOB,
                limited: false,
                stages: vec![StageRecord {
                    slots: vec![Slot::Free; 2],
                    over: false,
                }],
                stages_in_all: 1,
                open_since: None,
                end: None,
            }],
            ..JobOracle::default()
        }
    }

    fn says(verdict: Result<(), Violation>) -> Oracle {
        verdict.expect_err("the oracle speaks").oracle
    }

    #[test]
    fn a_slot_that_is_claimed_twice_is_noticed() {
        let mut oracle = oracle();
        assert_eq!(oracle.claimed(JOB, 0, 0, 2), Ok(()));
        assert_eq!(says(oracle.claimed(JOB, 0, 1, 1)), Oracle::Claims);
    }

    #[test]
    fn a_slot_that_runs_twice_or_unclaimed_is_noticed() {
        let mut oracle = oracle();
        assert_eq!(oracle.claimed(JOB, 0, 0, 1), Ok(()));
        assert_eq!(oracle.slot_ran(JOB, 0, 0), Ok(()));
        assert_eq!(says(oracle.slot_ran(JOB, 0, 0)), Oracle::Claims);
        assert_eq!(says(oracle.slot_ran(JOB, 0, 1)), Oracle::Claims);
    }

    #[test]
    fn a_job_that_completes_without_all_of_its_slots_is_noticed() {
        let mut oracle = oracle();
        assert_eq!(oracle.claimed(JOB, 0, 0, 1), Ok(()));
        assert_eq!(oracle.slot_ran(JOB, 0, 0), Ok(()));
        assert_eq!(says(oracle.ended(JOB, None)), Oracle::Claims);
    }

    #[test]
    fn a_job_that_is_handed_back_after_it_ran_is_noticed() {
        let mut oracle = oracle();
        assert_eq!(oracle.claimed(JOB, 0, 0, 1), Ok(()));
        assert_eq!(oracle.slot_ran(JOB, 0, 0), Ok(()));
        assert_eq!(
            says(oracle.ended(JOB, Some(JobErrorKind::HandedBack))),
            Oracle::Claims
        );
    }

    #[test]
    fn a_job_that_ends_twice_is_noticed() {
        let mut oracle = oracle();
        assert_eq!(oracle.ended(JOB, Some(JobErrorKind::Cancelled)), Ok(()));
        assert_eq!(
            says(oracle.ended(JOB, Some(JobErrorKind::Cancelled))),
            Oracle::Ticket
        );
        assert_eq!(oracle.end_of(JOB), Some(Some(JobErrorKind::Cancelled)));
    }

    #[test]
    fn a_job_that_nobody_let_in_is_noticed() {
        let stranger = JobHandle { seq: 4, ..JOB };
        assert_eq!(says(oracle().claimed(stranger, 0, 0, 1)), Oracle::Board);
    }
}
