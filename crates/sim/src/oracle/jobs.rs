//! Jobs: each slot is claimed and run once, the board shows claimable jobs, each job ends once.
//!
//! The oracle fails a run for
//!
//! - a slot claimed twice, run twice, run unclaimed, or never run in a completed job;
//! - a slot that runs although its job was closed at the boundary before, or is abandoned in an
//!   open job;
//! - a stage that starts twice or before its predecessors end, or ends before its slots have run;
//! - a job removed from the board while a slot is claimable throughout, or by an actor that does
//!   not reconcile it;
//! - an unclaimed job that is not on the board when its submission returns;
//! - a claim after a search for the heaviest job that passes over a job available throughout;
//! - a job that ends twice, or never.

mod board;

use std::ops::Range;

use pipeline_exec::policy::{InnerEvent, PipelineEvent};
use pipeline_exec::{JobErrorKind, policy::JobHandle};

use super::{Moment, Oracle, Violation};
use crate::pipeline::Hub;
use crate::word::Glass;

#[derive(Debug, Default)]
pub(crate) struct JobOracle {
    jobs: Vec<Record>,
    scans: Vec<Option<Scan>>,
    reconciles: Vec<Option<(JobHandle, u64)>>,
    held: Vec<Held>,
    nested: Vec<(usize, Held)>,
    pub(crate) picks_compared: u64,
    pub(crate) picks_tied: u64,
    /// Off in runs of thousands of jobs that only measure virtual time.
    pub(crate) off: bool,
}

#[derive(Debug)]
struct Record {
    job: JobHandle,
    appended: bool,
    single_since: Option<Moment>,
    /// It limits its workers, so it may have slots and no room.
    limited: bool,
    /// One slot stands for all of its tasks.
    grows: bool,
    stages: Vec<StageRecord>,
    open_since: Option<Moment>,
    opened_by: usize,
    /// The step in which its submission returned, and the submitter.
    admitted: Option<(u64, usize)>,
    started: u64,
    keyed: u64,
    end: Option<Option<JobErrorKind>>,
    ended: Option<u64>,
}

#[derive(Debug, Default)]
struct StageRecord {
    before: Vec<usize>,
    slots: Option<Vec<Slot>>,
    over: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    slots: usize,
    /// The job that it found closed, or could have, at the last slot boundary.
    closed: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Free,
    Claimed,
    Ran,
    GivenUp,
}

#[derive(Clone, Copy, Debug)]
struct Scan {
    heaviest: bool,
    began: u64,
}

impl JobOracle {
    pub(crate) fn observe(
        &mut self,
        hub: &Hub,
        event: PipelineEvent<'_>,
        step: u64,
        actor: usize,
    ) -> Result<(), Violation> {
        if self.off {
            return Ok(());
        }
        match event {
            PipelineEvent::Submitted { job } => self.submitted(hub, job),
            PipelineEvent::StageStarted { job, stage, slots } => {
                self.stage_started(job, stage, slots)?;
                self.find_mut(job)?.started = step;
                self.look_at(hub, job, step, actor);
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
                let picked = self.compare_pick(hub, job, worker, actor);
                if !self.grows(job) {
                    self.claimed(job, stage, first, slots)?;
                    self.held_by(actor).slots = slots;
                }
                self.boundary(hub, job, actor);
                self.look_at(hub, job, step, actor);
                picked
            }
            PipelineEvent::Inner(InnerEvent::Reconciles { job }) => {
                self.reconciles.resize(self.reconciles.len().max(actor + 1), None);
                self.reconciles[actor] = Some((job, step));
                self.find(job).map(|_| ())
            }
            PipelineEvent::SlotRan { job, stage, slot, .. } => {
                let was_closed = self.held_by(actor).closed == Some(job.seq);
                self.boundary(hub, job, actor);
                self.slot_ran(job, stage, slot, was_closed)
            }
            PipelineEvent::Inner(InnerEvent::Takes { job }) => {
                self.look_at(hub, job, step, actor);
                Ok(())
            }
            PipelineEvent::Inner(InnerEvent::GivenBack {
                job,
                stage,
                first,
                slots,
            }) => {
                self.held_by(actor).slots -= slots;
                self.let_go(job, stage, first..first + slots, Slot::Free)?;
                self.look_at(hub, job, step, actor);
                Ok(())
            }
            PipelineEvent::Inner(InnerEvent::GivenUp {
                job,
                stage,
                first,
                slots,
            }) => {
                if !hub.is_closed(job) {
                    return Err(claims(job, "had slots given up and is not closed".to_owned()));
                }
                self.let_go(job, stage, first..first + slots, Slot::GivenUp)
            }
            PipelineEvent::Entered { .. }
            | PipelineEvent::Started { .. }
            | PipelineEvent::Inner(InnerEvent::Nests { .. })
            | PipelineEvent::Inner(InnerEvent::NestAnswered { .. })
            | PipelineEvent::Inner(InnerEvent::NestOver { .. })
            | PipelineEvent::Failed { .. }
            | PipelineEvent::Left { .. }
            | PipelineEvent::Inner(InnerEvent::TaskSpawned { .. })
            | PipelineEvent::Inner(InnerEvent::TaskWoken { .. })
            | PipelineEvent::Inner(InnerEvent::TaskCancelled { .. })
            | PipelineEvent::Inner(InnerEvent::TurnOver { .. })
            | PipelineEvent::Inner(InnerEvent::TaskOver { .. })
            | PipelineEvent::Inner(InnerEvent::Stops) => Ok(()),
            PipelineEvent::StageOver { job, stage } => {
                if self.grows(job) {
                    self.let_go(job, stage, 0..1, Slot::Ran)?;
                }
                self.stage_over(hub, job, stage)
            }
            PipelineEvent::Ended { job, error, .. } => self.ended(job, error.map(|error| error.kind), step),
        }
    }

    pub(crate) fn nest_began(&mut self, actor: usize) {
        let held = std::mem::take(self.held_by(actor));
        self.nested.push((actor, held));
    }

    pub(crate) fn nest_over(&mut self, actor: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == actor) {
            *self.held_by(actor) = self.nested.remove(place).1;
        }
    }

    /// Whether all slots of `stage` have run, and another actor has not completed its own.
    pub(crate) fn is_another_finishing(&self, hub: &Hub, job: JobHandle, stage: usize, actor: usize) -> bool {
        let (Some(body), Ok(record)) = (hub.peek(job), self.find(job)) else {
            return false;
        };
        let slots = record.stages.get(stage).and_then(|row| row.slots.as_ref());
        let all_ran = slots.is_some_and(|slots| slots.iter().all(|slot| *slot == Slot::Ran));
        let mine = self.held.get(actor).map_or(0, |held| held.slots);
        all_ran && body.state().claims().left(&Glass, stage) > mine
    }

    pub(crate) fn is_side_by_side(&self, job: JobHandle) -> bool {
        let Ok(record) = self.find(job) else { return false };
        if record.grows {
            return false;
        }
        let slots = record.stages.iter().filter_map(|row| row.slots.as_ref());
        slots.filter(|slots| slots.contains(&Slot::Claimed)).count() > 1
    }

    pub(crate) fn end_of(&self, job: JobHandle) -> Option<Option<JobErrorKind>> {
        self.find(job).ok()?.end
    }

    pub(crate) fn handed_back(&self) -> Vec<usize> {
        let said = |record: &&Record| record.end == Some(Some(JobErrorKind::HandedBack));
        self.jobs
            .iter()
            .filter(said)
            .map(|record| record.job.seq)
            .collect()
    }

    pub(crate) fn judge_tickets(&self) -> Result<(), Violation> {
        match self.jobs.iter().find(|record| record.end.is_none()) {
            None => Ok(()),
            Some(record) => Err(Violation::new(
                Oracle::Ticket,
                format!("{:?} was accepted and has not ended", record.job),
            )),
        }
    }

    fn submitted(&mut self, hub: &Hub, job: JobHandle) -> Result<(), Violation> {
        if self.jobs.iter().any(|record| record.job.seq == job.seq) {
            return Err(board(job, "has a number that another job has"));
        }
        let Some(body) = hub.peek(job) else {
            return Err(board(job, "was accepted, and the table does not hold it"));
        };
        self.jobs.push(Record {
            job,
            appended: false,
            single_since: None,
            limited: body.spec().terms().workers_max != usize::MAX,
            grows: body.state().grows(),
            stages: (0..body.stages().len())
                .map(|stage| StageRecord {
                    before: body.stages().before(stage).to_vec(),
                    ..StageRecord::default()
                })
                .collect(),
            open_since: None,
            opened_by: 0,
            admitted: None,
            started: 0,
            keyed: 0,
            end: None,
            ended: None,
        });
        Ok(())
    }

    fn stage_started(&mut self, job: JobHandle, stage: usize, slots: usize) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        let waits = (record.stages[stage].before.iter()).find(|&&before| !record.stages[before].over);
        if let Some(before) = waits {
            return Err(claims(
                job,
                format!("started stage {stage} before stage {before} was over"),
            ));
        }
        let as_yet = if record.grows { Slot::Claimed } else { Slot::Free };
        let started = &mut record.stages[stage].slots;
        if started.replace(vec![as_yet; slots]).is_some() {
            return Err(claims(job, format!("started stage {stage} twice")));
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
        let Some(row) = record.stages.get_mut(stage).and_then(|row| row.slots.as_mut()) else {
            return Err(claims(
                job,
                format!("had slots of stage {stage} claimed before it started"),
            ));
        };
        for slot in first..first + slots {
            match row.get_mut(slot) {
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

    fn slot_ran(
        &mut self,
        job: JobHandle,
        stage: usize,
        slot: usize,
        was_closed: bool,
    ) -> Result<(), Violation> {
        if !self.grows(job) {
            self.let_go(job, stage, slot..slot + 1, Slot::Ran)?;
        }
        if was_closed {
            return Err(claims(
                job,
                format!("was closed, and then slot {slot} of stage {stage} was run"),
            ));
        }
        Ok(())
    }

    fn let_go(
        &mut self,
        job: JobHandle,
        stage: usize,
        slots: Range<usize>,
        after: Slot,
    ) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        let mut row = record.stages.get_mut(stage).and_then(|row| row.slots.as_mut());
        for slot in slots {
            match row.as_mut().and_then(|row| row.get_mut(slot)) {
                Some(place @ Slot::Claimed) => *place = after,
                other => {
                    return Err(claims(
                        job,
                        format!("slot {slot} of stage {stage} is {after:?} now and was {other:?} before"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn boundary(&mut self, hub: &Hub, job: JobHandle, actor: usize) {
        self.held_by(actor).closed = hub.is_closed(job).then_some(job.seq);
    }

    fn held_by(&mut self, actor: usize) -> &mut Held {
        self.held.resize(self.held.len().max(actor + 1), Held::default());
        &mut self.held[actor]
    }

    fn stage_over(&mut self, hub: &Hub, job: JobHandle, stage: usize) -> Result<(), Violation> {
        let closed = hub.is_closed(job);
        let record = self.find_mut(job)?;
        let row = &mut record.stages[stage];
        let Some(slots) = &row.slots else {
            return Err(claims(job, format!("stage {stage} is over and has not started")));
        };
        let unfinished = slots.iter().position(|&slot| match slot {
            Slot::Ran | Slot::GivenUp => false,
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

    fn ended(&mut self, job: JobHandle, error: Option<JobErrorKind>, step: u64) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        record.ended.get_or_insert(step);
        if record.end.replace(error).is_some() {
            return Err(Violation::new(Oracle::Ticket, format!("{job:?} ended twice")));
        }
        record.open_since = None;
        let slots = || {
            record
                .stages
                .iter()
                .flat_map(|stage| stage.slots.iter().flatten())
        };
        if slots().any(|&slot| slot == Slot::Claimed) {
            return Err(claims(job, "ended while an actor had a claimed slot".to_owned()));
        }
        let all_over = record.stages.iter().all(|stage| stage.over);
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

    fn grows(&self, job: JobHandle) -> bool {
        self.find(job).is_ok_and(|record| record.grows)
    }

    fn find(&self, job: JobHandle) -> Result<&Record, Violation> {
        let known = self.jobs.iter().find(|record| record.job.seq == job.seq);
        known.ok_or_else(|| board(job, "was never accepted"))
    }

    fn find_mut(&mut self, job: JobHandle) -> Result<&mut Record, Violation> {
        let known = self.jobs.iter_mut().find(|record| record.job.seq == job.seq);
        known.ok_or_else(|| board(job, "was never accepted"))
    }
}

fn board(job: JobHandle, what: &str) -> Violation {
    Violation::new(Oracle::Board, format!("{job:?} {what}"))
}

fn claims(job: JobHandle, what: String) -> Violation {
    Violation::new(Oracle::Claims, format!("{job:?}: {what}"))
}

#[cfg(test)]
mod tests;
