//! Jobs: each slot claimed and run once, on the board while there is something to claim, one end each.
//!
//! The oracle hears of everything from the policy's events and from the operations on the board, and looks at the
//! words itself where it matters. What it holds against a run:
//!
//! - a slot that is claimed twice, run twice, run without having been claimed, or never, in a job that completed;
//! - a slot that runs although its job was closed at the slot boundary before, or is given up although it is not closed;
//! - a stage that starts twice, or before those before it are over, or is over before its slots have run;
//! - a job that is taken off the board although a slot could be claimed all the while, or by somebody who does not settle it;
//! - a job of which nothing was claimed and that is not on the board when its submitter returns;
//! - a worker that looked for the heaviest job and went into one although a heavier one, or an
//!   equally heavy and older one, could be gone into during all of its look; if its allowance for
//!   young jobs is used up, and it went into an old one, the heavier one was old as well;
//! - a job that ends twice, or never.

use std::ops::Range;

use pipeline_exec::policy::PipelineEvent;
use pipeline_exec::{JobErrorKind, JobHandle};

use super::{Moment, Oracle, Violation};
use crate::pipeline::{Hub, SimBody};
use crate::word::Glass;

/// What is known of every job.
#[derive(Debug, Default)]
pub(crate) struct JobOracle {
    jobs: Vec<Record>,
    scans: Vec<Option<Scan>>,
    /// What each party has begun to settle last, and in which micro-step.
    settles: Vec<Option<(JobHandle, u64)>>,
    /// What each party has claimed last.
    held: Vec<Held>,
    /// What parties have claimed in whose slots jobs of their own run now.
    nested: Vec<(usize, Held)>,
    /// First claims that were compared with what was on the board.
    pub(crate) picks_compared: u64,
    /// Those for which another job was equally heavy.
    pub(crate) picks_tied: u64,
    /// Keeps no books: a run of thousands of jobs for the sake of its virtual time would be all bookkeeping.
    pub(crate) off: bool,
}

#[derive(Debug)]
struct Record {
    job: JobHandle,
    /// Its handle has been in the queue of singles.
    appended: bool,
    /// Since when its handle is in the queue of singles.
    single_since: Option<Moment>,
    /// Only so many workers may be in it, so that it may have slots and no room.
    limited: bool,
    /// It is made of tasks, whose turns are claimed; its one slot is all tasks' together.
    grows: bool,
    stages: Vec<StageRecord>,
    /// Since when any worker that looks could find it on the board and claim something.
    open_since: Option<Moment>,
    /// The micro-step at which its submission was over.
    admitted: Option<u64>,
    /// The micro-step at which its last stage started.
    started: u64,
    /// The micro-step at which it got its last key.
    keyed: u64,
    end: Option<Option<JobErrorKind>>,
    /// The micro-step of its end.
    ended: Option<u64>,
}

#[derive(Debug, Default)]
struct StageRecord {
    /// Numbers of the stages that have to be over first.
    before: Vec<usize>,
    /// Once it has started.
    slots: Option<Vec<Slot>>,
    over: bool,
}

/// What a party does with the slots that it has claimed last.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// Those that it accounts for.
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
        if self.off {
            return Ok(());
        }
        match event {
            PipelineEvent::Submitted { job } => self.submitted(hub, job),
            PipelineEvent::StageStarted { job, stage, slots } => {
                self.stage_started(job, stage, slots)?;
                self.find_mut(job)?.started = step;
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
                if !self.grows(job) {
                    self.claimed(job, stage, first, slots)?;
                    self.held_by(party).slots = slots;
                }
                self.boundary(hub, job, party);
                self.look_at(hub, job, step);
                picked
            }
            PipelineEvent::Settles { job } => {
                self.settles.resize(self.settles.len().max(party + 1), None);
                self.settles[party] = Some((job, step));
                self.find(job).map(|_| ())
            }
            PipelineEvent::SlotRan { job, stage, slot, .. } => {
                let was_closed = self.held_by(party).closed == Some(job.seq);
                self.boundary(hub, job, party);
                self.slot_ran(job, stage, slot, was_closed)
            }
            PipelineEvent::Takes { job } => {
                self.look_at(hub, job, step);
                Ok(())
            }
            PipelineEvent::GivenBack {
                job,
                stage,
                first,
                slots,
            } => {
                self.held_by(party).slots -= slots;
                self.let_go(job, stage, first..first + slots, Slot::Free)?;
                self.look_at(hub, job, step);
                Ok(())
            }
            PipelineEvent::GivenUp {
                job,
                stage,
                first,
                slots,
            } => {
                if !hub.is_closed(job) {
                    return Err(claims(job, "had slots given up and is not closed".to_owned()));
                }
                self.let_go(job, stage, first..first + slots, Slot::GivenUp)
            }
            PipelineEvent::Entered { .. }
            | PipelineEvent::Started { .. }
            | PipelineEvent::Nests { .. }
            | PipelineEvent::NestAnswered { .. }
            | PipelineEvent::NestOver { .. }
            | PipelineEvent::Failed { .. }
            | PipelineEvent::Left { .. }
            | PipelineEvent::TaskSpawned { .. }
            | PipelineEvent::TaskWoken { .. }
            | PipelineEvent::TaskCancelled { .. }
            | PipelineEvent::TurnOver { .. }
            | PipelineEvent::TaskOver { .. }
            | PipelineEvent::Stops => Ok(()),
            PipelineEvent::StageOver { job, stage } => {
                if self.grows(job) {
                    self.let_go(job, stage, 0..1, Slot::Ran)?;
                }
                self.stage_over(hub, job, stage)
            }
            PipelineEvent::Ended { job, error, .. } => self.ended(job, error.map(|error| error.kind), step),
        }
    }

    /// A slot that `party` runs begins to wait for a job of its own.
    pub(crate) fn nest_began(&mut self, party: usize) {
        let held = std::mem::take(self.held_by(party));
        self.nested.push((party, held));
    }

    /// It goes on.
    pub(crate) fn nest_over(&mut self, party: usize) {
        if let Some(place) = self.nested.iter().rposition(|nested| nested.0 == party) {
            *self.held_by(party) = self.nested.remove(place).1;
        }
    }

    /// `job` was appended to the queue of singles.
    pub(crate) fn appended(&mut self, job: JobHandle, at: Moment) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        record.appended = true;
        record.single_since = Some(at);
        Ok(())
    }

    /// `job` was taken out of the queue of singles.
    pub(crate) fn popped(&mut self, job: JobHandle) {
        if let Ok(record) = self.find_mut(job) {
            record.single_since = None;
        }
    }

    /// The job of `key` was put into one of the board's orders.
    pub(crate) fn put_on(&mut self, hub: &Hub, key: JobHandle, step: u64) -> Result<(), Violation> {
        let record = self.find_mut(key)?;
        record.keyed = step;
        let job = record.job;
        self.look_at(hub, job, step);
        Ok(())
    }

    /// Whether `job` has stood in the same place of every order since before micro-step `since`.
    pub(crate) fn has_stood_since(&self, job: JobHandle, since: u64) -> bool {
        self.find(job).is_ok_and(|record| record.keyed < since)
    }

    /// `party` has taken the job of `key` out of one of the board's orders. There may be something
    /// to claim again, since it has read that there is not; but not all the while.
    pub(crate) fn taken_off(
        &mut self,
        hub: &Hub,
        key: JobHandle,
        step: u64,
        party: usize,
    ) -> Result<(), Violation> {
        let Record { job, open_since, .. } = *self.find(key)?;
        let open_since = open_since.map(|since| since.step);
        self.look_at(hub, job, step);
        let settles = self.settles.get(party).copied().flatten();
        let Some((_, began)) = settles.filter(|(settled, _)| settled.seq == job.seq) else {
            return Err(board(
                job,
                "was taken off the board by somebody who does not settle it",
            ));
        };
        let stood = hub.on_board(job) == (true, true);
        if open_since.is_some_and(|since| since < began) && hub.is_claimable(job) && !stood {
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

    /// The heaviest of all jobs that may have been in flight since micro-step `since`.
    pub(crate) fn heaviest_since(&self, since: u64) -> Option<JobHandle> {
        let in_flight = |record: &&Record| record.ended.is_none_or(|ended| ended >= since);
        (self.jobs.iter().filter(in_flight))
            .map(|record| record.job)
            .max()
    }

    /// Whether `job` has been one of those all the time since before micro-step `since`.
    pub(crate) fn is_open_to_all_since(&self, job: JobHandle, since: u64) -> bool {
        self.find(job)
            .is_ok_and(|record| record.is_open_since(since) && !record.limited)
    }

    /// A job that stands where workers look since before `boundary`, and that has arrived since a
    /// worker `looked` there: its submission was over by `boundary`, or another arrival was counted
    /// since it stands there. `may_be_gone_into` is asked about each.
    pub(crate) fn awaited_young(
        &self,
        boundary: Moment,
        looked: Moment,
        may_be_gone_into: impl Fn(JobHandle) -> bool,
    ) -> Option<JobHandle> {
        let awaits = |record: &&Record| {
            let on_board = record.open_since.filter(|_| !record.limited);
            on_board.or(record.single_since).is_some_and(|since| {
                let came = record.admitted.filter(|&admitted| since.step < admitted);
                let is_submitted = looked.step < since.step && came.is_some_and(|came| came < boundary.step);
                let is_counted = boundary.arrivals > since.arrivals.max(looked.arrivals);
                since.step < boundary.step && (is_submitted || is_counted) && may_be_gone_into(record.job)
            })
        };
        self.jobs.iter().find(awaits).map(|record| record.job)
    }

    /// Whether slots of `job` could have been claimed at every moment since before micro-step
    /// `since`: none of its stages has started afterwards, and not all of their slots have been
    /// claimed.
    pub(crate) fn could_claim_since(&self, hub: &Hub, job: JobHandle, since: u64) -> bool {
        let claims_are_left = |body: &SimBody| body.state().claims().unclaimed_slots(&Glass) > 0;
        !hub.is_closed(job)
            && hub.peek(job).is_some_and(|body| claims_are_left(&body))
            && self.find(job).is_ok_and(|record| record.started < since)
    }

    /// Whether all slots of `stage` have run, and somebody else than `party` has not accounted for theirs yet: they race for being
    /// the last.
    pub(crate) fn is_anybody_else_finishing(
        &self,
        hub: &Hub,
        job: JobHandle,
        stage: usize,
        party: usize,
    ) -> bool {
        let (Some(body), Ok(record)) = (hub.peek(job), self.find(job)) else {
            return false;
        };
        let slots = record.stages.get(stage).and_then(|row| row.slots.as_ref());
        let all_ran = slots.is_some_and(|slots| slots.iter().all(|slot| *slot == Slot::Ran));
        let mine = self.held.get(party).map_or(0, |held| held.slots);
        all_ran && body.state().claims().left(&Glass, stage) > mine
    }

    /// Whether slots of two stages of `job` are claimed and run at this moment.
    pub(crate) fn is_side_by_side(&self, job: JobHandle) -> bool {
        let Ok(record) = self.find(job) else { return false };
        if record.grows {
            return false;
        }
        let slots = record.stages.iter().filter_map(|row| row.slots.as_ref());
        slots.filter(|slots| slots.contains(&Slot::Claimed)).count() > 1
    }

    /// `job` was let in, and its submitter has returned.
    pub(crate) fn admitted(&mut self, hub: &Hub, job: JobHandle, step: u64) -> Result<(), Violation> {
        if self.off {
            return Ok(());
        }
        self.find_mut(job)?.admitted = Some(step);
        // A single that is no more in its queue is somebody's who is about to claim it.
        let appended = self.find(job)?.appended;
        let body = hub.peek(job);
        let untouched = body.is_some_and(|body| body.state().claims().next_free_slot(&Glass) == (0, 0));
        let found = hub.on_board(job) == (true, true) || appended;
        if untouched && hub.is_claimable(job) && !found {
            return Err(board(
                job,
                "was submitted, nobody has claimed a slot, and it is not on the board",
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
        // The slot of a job that grows is claimed as the job is opened.
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
        // A stage is announced before anybody can claim a slot of it, or in the same micro-step.
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

    /// Claimed slots are over for whoever had them.
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

    /// `party` stands between two slots of `job`, or before the first that it has claimed: it asks next whether the job is closed.
    fn boundary(&mut self, hub: &Hub, job: JobHandle, party: usize) {
        self.held_by(party).closed = hub.is_closed(job).then_some(job.seq);
    }

    fn held_by(&mut self, party: usize) -> &mut Held {
        self.held.resize(self.held.len().max(party + 1), Held::default());
        &mut self.held[party]
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
            return Err(claims(job, "ended while somebody had a claimed slot".to_owned()));
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
        let among_old = hub.is_allowance_used_up(worker) && !hub.is_young(job);
        let better = self.jobs.iter().find(|other| {
            let heavier =
                other.job.cost > job.cost || (other.job.cost == job.cost && other.job.seq < job.seq);
            let counts = !among_old || hub.share.borrow().was_old(worker, other.job);
            heavier && counts && !other.limited && other.is_open_since(began) && hub.is_claimable(other.job)
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
                _ => open.then(|| hub.moment(step)),
            };
        }
    }

    fn grows(&self, job: JobHandle) -> bool {
        self.find(job).is_ok_and(|record| record.grows)
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

impl Record {
    /// Whether any worker could find it and claim something at every moment since before micro-step
    /// `since`.
    fn is_open_since(&self, since: u64) -> bool {
        self.open_since.is_some_and(|open| open.step < since)
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
