//! The board as the job oracle sees it.

use pipeline_exec::policy::JobHandle;

use super::{JobOracle, Record, Scan, board};
use crate::oracle::{Moment, Oracle, Violation};
use crate::pipeline::{Hub, SimBody};
use crate::word::Glass;

impl JobOracle {
    pub(crate) fn appended(&mut self, job: JobHandle, at: Moment) -> Result<(), Violation> {
        let record = self.find_mut(job)?;
        record.appended = true;
        record.single_since = Some(at);
        Ok(())
    }

    pub(crate) fn popped(&mut self, job: JobHandle) {
        if let Ok(record) = self.find_mut(job) {
            record.single_since = None;
        }
    }

    pub(crate) fn put_on(
        &mut self,
        hub: &Hub,
        key: JobHandle,
        step: u64,
        actor: usize,
    ) -> Result<(), Violation> {
        let record = self.find_mut(key)?;
        record.keyed = step;
        let job = record.job;
        self.look_at(hub, job, step, actor);
        Ok(())
    }

    /// Whether `job` has kept its place in every order since before step `since`.
    pub(crate) fn has_stood_since(&self, job: JobHandle, since: u64) -> bool {
        self.find(job).is_ok_and(|record| record.keyed < since)
    }

    /// Fails if the removed job's slots were claimable throughout.
    pub(crate) fn taken_off(
        &mut self,
        hub: &Hub,
        key: JobHandle,
        step: u64,
        actor: usize,
    ) -> Result<(), Violation> {
        let Record { job, open_since, .. } = *self.find(key)?;
        let open_since = open_since.map(|since| since.step);
        self.look_at(hub, job, step, actor);
        let reconciles = self.reconciles.get(actor).copied().flatten();
        let Some((_, began)) = reconciles.filter(|(reconciled, _)| reconciled.seq == job.seq) else {
            return Err(board(
                job,
                "was taken off the board by an actor that does not reconcile it",
            ));
        };
        let stood = hub.on_board(job) == (true, true);
        if open_since.is_some_and(|since| since < began) && hub.is_claimable(job) && !stood {
            return Err(board(job, "was taken off the board while it had slots to claim"));
        }
        Ok(())
    }

    pub(crate) fn scan_began(&mut self, actor: usize, heaviest: bool, step: u64) {
        if self.scans.len() <= actor {
            self.scans.resize(actor + 1, None);
        }
        self.scans[actor] = Some(Scan {
            heaviest,
            began: step,
        });
    }

    pub(crate) fn open_to_all(&self) -> impl Iterator<Item = JobHandle> {
        let open = (self.jobs.iter()).filter(|record| record.open_since.is_some() && !record.limited);
        open.map(|record| record.job)
    }

    pub(crate) fn heaviest_since(&self, since: u64) -> Option<JobHandle> {
        let in_flight = |record: &&Record| record.ended.is_none_or(|ended| ended >= since);
        (self.jobs.iter().filter(in_flight))
            .map(|record| record.job)
            .max()
    }

    pub(crate) fn is_open_to_all_since(&self, job: JobHandle, since: u64) -> bool {
        self.find(job)
            .is_ok_and(|record| record.is_open_since(since) && !record.limited)
    }

    /// A job that has stood on the board since before `boundary`, and arrived since a worker
    /// `looked` there.
    pub(crate) fn awaited_young(
        &self,
        boundary: Moment,
        looked: Moment,
        may_be_gone_into: impl Fn(JobHandle) -> bool,
    ) -> Option<JobHandle> {
        let awaits = |record: &&Record| {
            // May miss a job whose key changes meanwhile.
            let stands = !record.limited && record.keyed < boundary.step;
            let on_board = record.open_since.filter(|_| stands);
            let by_submitter = |submitter| on_board.is_none() || record.opened_by == submitter;
            on_board.or(record.single_since).is_some_and(|since| {
                let came = |(admitted, submitter)| {
                    since.step < admitted && admitted < boundary.step && by_submitter(submitter)
                };
                let is_submitted = looked.step < since.step && record.admitted.is_some_and(came);
                let is_counted = boundary.arrivals > since.arrivals.max(looked.arrivals);
                since.step < boundary.step && (is_submitted || is_counted) && may_be_gone_into(record.job)
            })
        };
        self.jobs.iter().find(awaits).map(|record| record.job)
    }

    pub(crate) fn could_claim_since(&self, hub: &Hub, job: JobHandle, since: u64) -> bool {
        let claims_are_left = |body: &SimBody| body.state().claims().unclaimed_slots(&Glass) > 0;
        !hub.is_closed(job)
            && hub.peek(job).is_some_and(|body| claims_are_left(&body))
            && self.find(job).is_ok_and(|record| record.started < since)
    }

    pub(crate) fn waiting_young(&self, hub: &Hub) -> Option<JobHandle> {
        let may_be_found = |record: &&Record| record.open_since.is_some() || record.single_since.is_some();
        let jobs = self.jobs.iter().filter(may_be_found).map(|record| record.job);
        jobs.into_iter()
            .find(|&job| hub.has_room(job) && hub.is_young(job))
    }

    pub(crate) fn admitted(
        &mut self,
        hub: &Hub,
        job: JobHandle,
        step: u64,
        actor: usize,
    ) -> Result<(), Violation> {
        if self.off {
            return Ok(());
        }
        self.find_mut(job)?.admitted = Some((step, actor));
        let appended = self.find(job)?.appended;
        let body = hub.peek(job);
        let untouched = body.is_some_and(|body| body.state().claims().next_free_slot(&Glass) == (0, 0));
        let found = hub.on_board(job) == (true, true) || appended;
        if untouched && hub.is_claimable(job) && !found {
            return Err(board(
                job,
                "was submitted, no slot was claimed, and it is not on the board",
            ));
        }
        Ok(())
    }

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

    pub(super) fn compare_pick(
        &mut self,
        hub: &Hub,
        job: JobHandle,
        worker: usize,
        actor: usize,
    ) -> Result<(), Violation> {
        let scan = self.scans.get_mut(actor).and_then(Option::take);
        let Some(Scan {
            heaviest: true,
            began,
        }) = scan
        else {
            return Ok(());
        };
        self.picks_compared += 1;
        let equal = |other: &Record| other.job.rank == job.rank && other.open_since.is_some();
        self.picks_tied += u64::from(self.jobs.iter().filter(|other| equal(other)).count() > 1);
        let among_old = hub.is_allowance_used_up(worker) && !hub.is_young(job);
        let better = self.jobs.iter().find(|other| {
            let heavier =
                other.job.rank > job.rank || (other.job.rank == job.rank && other.job.seq < job.seq);
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

    pub(super) fn look_at(&mut self, hub: &Hub, job: JobHandle, step: u64, actor: usize) {
        let open = hub.on_board(job) == (true, true) && hub.is_claimable(job);
        let Ok(record) = self.find_mut(job) else {
            return;
        };
        if !open {
            record.open_since = None;
        } else if record.open_since.is_none() {
            (record.open_since, record.opened_by) = (Some(hub.moment(step)), actor);
        }
    }
}

impl Record {
    fn is_open_since(&self, since: u64) -> bool {
        self.open_since.is_some_and(|open| open.step < since)
    }
}
