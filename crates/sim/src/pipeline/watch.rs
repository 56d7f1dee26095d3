//! What the oracles and the marks hear of jobs: from the policy's events, and from what the parties do on the board.

use executor_core::ports::OrderedSet;
use pipeline_exec::policy::{LookEnd, NestAnswer, PipelineConfig, PipelineEvent};
use pipeline_exec::{JobEntry, JobErrorKind, JobHandle, Role};

use super::Hub;
use crate::mark::Mark;
use crate::oracle::{
    Answer, CameByShare, CameToJob as Came, Claim, Moment, Oracle, Order, Stayed, Violation,
};
use crate::word::Glass;
use crate::world::World;

impl Hub {
    /// The policy says on party `me` that something happened.
    pub(super) fn heard(&self, world: &mut World, me: usize, event: PipelineEvent<'_>) {
        let verdict = self.oracle.borrow_mut().observe(self, event, world.steps(), me);
        world.judge(verdict);
        self.heard_of_task(world, me, event);
        let clock_ns = world.clock_ns(me);
        world.trace.job(me, clock_ns, || {
            let body = match event {
                PipelineEvent::Submitted { job } | PipelineEvent::StageStarted { job, .. } => self.peek(job),
                _ => None,
            };
            // On a party's own clock a submission begins where it is told: what it did before stands before it.
            let spec = body.map(|body| body.spec());
            JobEntry::of(&event, spec.as_ref().map(|spec| (spec, clock_ns)))
        });
        match event {
            PipelineEvent::Stops => self.admission.borrow_mut().stops(),
            PipelineEvent::Submitted { .. } => self.submitted(world, me),
            PipelineEvent::StageStarted { slots: 0, .. } => world.marks.hit(Mark::StageWithoutSlots),
            PipelineEvent::Claimed {
                job,
                slots,
                worker,
                role,
                ..
            } => {
                if slots > 1 {
                    world.marks.hit(Mark::SeveralClaimed);
                }
                if self.oracle.borrow().is_side_by_side(job) {
                    world.marks.hit(Mark::StagesSideBySide);
                }
                self.claimed(world, me, job, (worker, role));
                let verdict = self.admission.borrow().claimed(me);
                world.judge(verdict);
            }
            PipelineEvent::GivenBack { .. } => world.marks.hit(Mark::SlotsGivenBack),
            PipelineEvent::GivenUp { .. } => world.marks.hit(Mark::SlotsGivenUp),
            PipelineEvent::SlotRan { job, stage, role, .. } => {
                if role != Role::Lent {
                    self.spares.oracle.borrow_mut().ran(me);
                }
                if self
                    .oracle
                    .borrow()
                    .is_anybody_else_finishing(self, job, stage, me)
                {
                    world.marks.hit(Mark::TwoFinishers);
                }
            }
            PipelineEvent::Ended { .. } => {
                self.admission.borrow_mut().ended();
                if self.lending.borrow().is_lent(me) {
                    world.marks.hit(Mark::EndedByLentThread);
                }
                if world.is_canceller(me) {
                    world.marks.hit(Mark::EndedByCanceller);
                }
            }
            PipelineEvent::Nests { .. } => self.nest_began(world, me),
            PipelineEvent::NestAnswered { answer, .. } => self.nest_answered(world, me, answer),
            PipelineEvent::NestOver { end, .. } => {
                self.nest_over(world, me, end.as_ref().err().map(|error| error.kind));
            }
            PipelineEvent::Entered {
                job,
                worker,
                role,
                at_ns,
            } => {
                let service = self.service_of(job).unwrap_or(usize::MAX);
                self.service.borrow_mut().entered(me, job, service);
                if role != Role::Lent {
                    self.spares.oracle.borrow_mut().entered(me, at_ns);
                    let is_old = !self.is_young(job);
                    self.stays.borrow_mut().entered(worker, job, is_old);
                }
            }
            PipelineEvent::Started { .. }
            | PipelineEvent::StageStarted { .. }
            | PipelineEvent::StageOver { .. }
            | PipelineEvent::Settles { .. }
            | PipelineEvent::Takes { .. }
            | PipelineEvent::TaskSpawned { .. }
            | PipelineEvent::TaskWoken { .. }
            | PipelineEvent::TaskCancelled { .. }
            | PipelineEvent::TurnOver { .. }
            | PipelineEvent::TaskOver { .. }
            | PipelineEvent::Failed { .. } => {}
            PipelineEvent::Left {
                job,
                worker,
                role,
                claims,
                ..
            } => {
                let (after, young) = (self.service_of(job), self.shared.young_tag());
                let adds = claims > 0 && role != Role::Lent;
                let verdict = (self.service.borrow_mut()).left(me, job, after, young, adds);
                world.judge(verdict);
                self.share.borrow_mut().left(worker);
                if role != Role::Lent {
                    self.spares.oracle.borrow_mut().left(me, claims > 0);
                    self.stayed(world, worker);
                    if role != Role::Spare && self.is_allowance_used_up(worker) {
                        self.latency.borrow_mut().allowance_used_up();
                    }
                }
            }
        }
    }

    /// What `job` has received, if it has not ended.
    fn service_of(&self, job: JobHandle) -> Option<usize> {
        Some(self.peek(job)?.state().service(&Glass))
    }

    /// `worker` begins a look.
    pub(crate) fn look_began(&self, worker: usize) {
        self.turns.borrow_mut().look_began(worker);
        self.stays.borrow_mut().look_began(worker);
    }

    /// A look has ended.
    pub(crate) fn look_ended(&self, world: &mut World, worker: usize, end: LookEnd) {
        self.left_job(world, worker);
        self.spares.oracle.borrow_mut().searches(worker);
        if end == LookEnd::Again {
            world.marks.hit(Mark::QuantumOver);
        }
    }

    /// `party` begins to go down one of the board's orders, or takes a single.
    pub(super) fn scan_began(&self, world: &mut World, party: usize, order: Order) {
        if self.looked(world, party) {
            return;
        }
        self.left_job(world, party);
        let step = world.steps();
        let mut jobs = self.oracle.borrow_mut();
        jobs.scan_began(party, order == Order::Heaviest, step);
        self.turns.borrow_mut().scan_began(party, order, step);
        self.admission.borrow_mut().scan_began(party);
        let young_tag = self.shared.young_tag();
        let old = jobs
            .open_to_all()
            .filter(|job| self.tag(*job).is_some_and(|tag| tag >= young_tag));
        self.share.borrow_mut().scan_began(party, step, old);
        if let Order::Served { from_tag } = order {
            let open = (jobs.open_to_all())
                .filter_map(|job| Some((job, self.tag(job)?)))
                .filter(|(_, tag)| *tag >= from_tag);
            self.service.borrow_mut().scan_began(party, step, open);
        }
    }

    /// `party` has come to the end of one of the board's orders.
    pub(super) fn scan_ended(&self, party: usize, order: Order) {
        let in_a_job =
            self.stays.borrow().is_visiting(party) || self.spares.oracle.borrow().is_visiting(party);
        if !in_a_job {
            self.turns.borrow_mut().scan_ended(party, order);
        }
    }

    /// `party` has counted the singles, of which there are `len`.
    pub(super) fn counted_singles(&self, world: &mut World, party: usize, len: usize) {
        if !self.looked(world, party) {
            self.share.borrow_mut().left(party);
        }
        if len == 0 {
            self.scan_ended(party, Order::Singles);
        }
    }

    /// `party` looks at the board: `true` if it is in a job and stays there unless it finds
    /// something, which is a glance and no search.
    fn looked(&self, world: &World, party: usize) -> bool {
        let mut stays = self.stays.borrow_mut();
        let config = self.shared.config();
        if party < config.main + config.reserve {
            stays.looked(
                party,
                self.moment(world.steps()),
                self.is_allowance_used_up(party),
            );
        }
        let mut stand_ins = self.spares.oracle.borrow_mut();
        let is_glance = stays.is_visiting(party) || stand_ins.is_visiting(party);
        // A slot that hands over a job of its own counts the singles, too.
        if !is_glance && !self.nests.borrow().iter().any(|nest| nest.0 == party) {
            stand_ins.searches(party);
        }
        is_glance
    }

    /// `party` has fetched the body of `job`.
    pub(super) fn fetched(&self, party: usize, job: JobHandle) {
        let (mut stays, mut stand_ins) = (self.stays.borrow_mut(), self.spares.oracle.borrow_mut());
        if !stays.is_visiting(party) && !stand_ins.is_visiting(party) {
            let is_young = self.is_young(job);
            stays.fetched(party, job, !is_young);
            if is_young {
                stand_ins.found_young(party, job);
            }
            self.lending.borrow_mut().fetched(party, job);
        }
    }

    /// `party` has read its clock, in micro-step `step`.
    pub(super) fn read_clock(&self, party: usize, now_ns: u64, step: u64) {
        self.turns.borrow_mut().read_clock(party, now_ns);
        self.share.borrow_mut().read_clock(party, now_ns);
        self.spares.oracle.borrow_mut().read_clock(party, now_ns);
        self.stays
            .borrow_mut()
            .read_clock(party, now_ns, self.moment(step));
    }

    /// A slot has begun that `party` runs.
    pub(super) fn slot_began(&self, world: &mut World, party: usize, role: Role) {
        if role != Role::Lent {
            self.spares.oracle.borrow_mut().goes_on(party);
        }
        let waits = |boundary, looked| self.awaited_young(boundary, looked);
        let verdict = self.stays.borrow_mut().slot_began(party, waits);
        world.judge(verdict);
    }

    /// A young job that a worker must have found at `boundary`, which `looked` at the board last.
    fn awaited_young(&self, boundary: Moment, looked: Moment) -> Option<JobHandle> {
        let jobs = self.oracle.borrow();
        let may_be_gone_into = |job| self.is_young(job) && jobs.could_claim_since(self, job, boundary.step);
        jobs.awaited_young(boundary, looked, may_be_gone_into)
    }

    /// `worker` leaves the job in which it was.
    fn stayed(&self, world: &mut World, worker: usize) {
        let could_claim = |job, since: Moment| {
            let jobs = self.oracle.borrow();
            jobs.could_claim_since(self, job, since.step) && !self.admission.borrow().is_stopping()
        };
        let arrivals = self.shared.young_arrivals(&Glass);
        match self.stays.borrow_mut().left(worker, arrivals, could_claim) {
            Ok(Stayed::Longer) => world.marks.hit(Mark::OldStay),
            Ok(Stayed::GaveWay) => world.marks.hit(Mark::GaveWay),
            Ok(Stayed::Otherwise) => {}
            Err(violation) => world.judge(Err(violation)),
        }
    }

    /// `party` begins to submit a job.
    pub(crate) fn call_began(&self, party: usize) {
        self.admission.borrow_mut().call_began(party);
    }

    /// The submission of `party` is over.
    pub(crate) fn call_ended(&self, world: &mut World, party: usize, answer: Answer) {
        let verdict = self.admission.borrow_mut().call_ended(party, answer);
        world.judge(verdict);
    }

    /// Somebody begins to close the gate, or, `stopping`, to shut down.
    pub(crate) fn closes(&self, stopping: bool) {
        self.admission.borrow_mut().closes(stopping);
    }

    /// The gate has been closed.
    pub(crate) fn closed(&self) {
        self.admission.borrow_mut().closed();
    }

    /// A worker has gone into a job that it looked for.
    fn went_into(&self, world: &mut World, worker: usize, job: JobHandle) {
        let jobs = self.oracle.borrow();
        let waits = |job: JobHandle, since: u64| {
            // A worker that goes down the order may miss a job that gets another key meanwhile.
            let stood = jobs.has_stood_since(job, since);
            stood && jobs.is_open_to_all_since(job, since) && self.is_claimable(job)
        };
        let came = self
            .share
            .borrow_mut()
            .went_into(worker, !self.is_young(job), waits);
        match came {
            Ok(CameByShare::YoungBeforeOld) => world.marks.hit(Mark::YoungBeforeOld),
            Ok(CameByShare::OldInTurn) => world.marks.hit(Mark::OldInTurn),
            Ok(CameByShare::Another) => {}
            Err(violation) => world.judge(Err(violation)),
        }
    }

    fn submitted(&self, world: &mut World, me: usize) {
        let in_table = self.shared.jobs().taken();
        if in_table == self.shared.config().capacity {
            world.marks.hit(Mark::AdmittedAtLimit);
        }
        let verdict = self.admission.borrow_mut().submitted(me, in_table);
        world.judge(verdict);
    }

    /// A slot that `party` runs hands over a job of its own. What the oracles know of the party's place in the outer job waits meanwhile.
    fn nest_began(&self, world: &mut World, party: usize) {
        if self.spares.oracle.borrow().spare_of(party).is_some() {
            world.marks.hit(Mark::SpareNested);
        }
        self.nests.borrow_mut().push((party, None));
        self.oracle.borrow_mut().nest_began(party);
        self.turns.borrow_mut().nest_began(party);
        self.stays.borrow_mut().nest_began(party);
        self.share.borrow_mut().nest_began(party);
        self.lending.borrow_mut().nest_began(party);
        self.call_began(party);
    }

    fn nest_answered(&self, world: &mut World, party: usize, answer: NestAnswer) {
        let (said, mark) = match answer {
            NestAnswer::Admitted(_) => (Answer::Admitted, Mark::NestAdmitted),
            NestAnswer::Full => (Answer::Full, Mark::NestByHand),
            NestAnswer::Closed => (Answer::Closed, Mark::NestByHandInDrain),
        };
        self.call_ended(world, party, said);
        world.marks.hit(mark);
        if let NestAnswer::Admitted(job) = answer {
            let mut nests = self.nests.borrow_mut();
            if let Some((_, inner)) = nests.iter_mut().rfind(|nest| nest.0 == party) {
                *inner = Some(job);
            }
            self.lending_began(world, party, job);
        }
    }

    /// The slot goes on, having been told how its own job ended.
    fn nest_over(&self, world: &mut World, party: usize, told: Option<JobErrorKind>) {
        let place = self.nests.borrow().iter().rposition(|nest| nest.0 == party);
        let nest = place.map(|place| self.nests.borrow_mut().remove(place));
        if let Some((_, Some(job))) = nest {
            self.lending_ended(world, party);
            let seen = self.oracle.borrow().end_of(job);
            if seen != Some(told) && !self.oracle.borrow().off {
                let message = format!("a slot is told {told:?} of {job:?}, but its end was {seen:?}");
                world.fail(Oracle::Ticket, message);
            }
        }
        self.lending.borrow_mut().nest_over(party);
        self.share.borrow_mut().nest_over(party);
        self.stays.borrow_mut().nest_over(party);
        self.turns.borrow_mut().nest_over(party);
        self.oracle.borrow_mut().nest_over(party);
    }

    /// The thread of `party` is lent to `job` from now on.
    pub(crate) fn lending_began(&self, world: &mut World, party: usize, job: JobHandle) {
        if self.lending.borrow_mut().began(party, job) > 0 {
            world.marks.hit(Mark::TwoThreadsLent);
        }
    }

    /// The thread of `party` is its own again.
    pub(crate) fn lending_ended(&self, world: &mut World, party: usize) {
        let verdict = self
            .lending
            .borrow_mut()
            .ended(party, |job| self.awaits_lent(job));
        world.judge(verdict);
    }

    /// `party`, whose thread is lent, goes to sleep.
    pub(crate) fn lent_sleeps(&self, world: &mut World, party: usize) {
        world.marks.hit(Mark::LentThreadSlept);
        let jobs = self.oracle.borrow();
        let verdict = self.lending.borrow_mut().sleeps(
            party,
            |job| self.awaits_lent(job),
            |job, since| jobs.is_open_to_all_since(job, since) && self.awaits_lent(job),
        );
        world.judge(verdict);
    }

    /// Whether a thread that is lent to `job` could go into it now. From the beginning of a shutdown on it leaves the job to that.
    fn awaits_lent(&self, job: JobHandle) -> bool {
        !self.admission.borrow().is_stopping() && self.has_room(job)
    }

    /// `party` sleeps no longer for its ticket, or for a slot if its thread is lent.
    pub(super) fn woken(&self, world: &mut World, party: usize) {
        let mut lending = self.lending.borrow_mut();
        let ended = |job| self.oracle.borrow().end_of(job).is_some();
        let for_more = lending.job_of(party).is_some_and(|job| !ended(job));
        if lending.woken(party) && for_more {
            world.marks.hit(Mark::LentThreadWoken);
        }
    }

    /// `party` has gone on to something else than the job in which it was.
    pub(super) fn left_job(&self, world: &mut World, party: usize) {
        let verdict = self.lending.borrow_mut().left(party, |job| self.awaits_lent(job));
        world.judge(verdict);
    }

    fn claimed(&self, world: &mut World, party: usize, job: JobHandle, (worker, role): (usize, Role)) {
        if role == Role::Spare {
            return self.spare_claimed(world, party, job, worker);
        }
        let PipelineConfig { main, reserve, .. } = *self.shared.config();
        let verdict = (self.lending.borrow_mut()).claimed(party, job, (worker, role), main + reserve);
        world.judge(verdict);
        if role == Role::Lent {
            return world.marks.hit(Mark::LentThreadRan);
        }
        self.spares.oracle.borrow_mut().goes_on(party);
        let waits = |boundary, looked| self.awaited_young(boundary, looked);
        let verdict = self.stays.borrow_mut().claimed(worker, waits);
        world.judge(verdict);
        let claim = Claim {
            role,
            young: !self.share.borrow().was_old(worker, job),
            old_first: self.is_allowance_used_up(worker),
        };
        let came = match self.turns.borrow_mut().claimed(worker, claim) {
            Ok(came) => came,
            Err(violation) => {
                world.judge(Err(violation));
                // Others see every claim, whatever this one says: nobody may listen to it.
                return self.went_into(world, worker, job);
            }
        };
        let config = self.shared.config();
        if came != Came::Stays && role == Role::Reserve && config.reserve == 0 {
            world.marks.hit(Mark::ReserveTurn);
        }
        if came == Came::YoungFirst {
            world.marks.hit(Mark::ReserveTookYoung);
            let verdict = self.judge_young_first(worker, job);
            world.judge(verdict);
        }
        if came != Came::Stays {
            self.went_into(world, worker, job);
        }
        match (came, role) {
            (Came::FellThrough, _) => world.marks.hit(Mark::ReserveFellThrough),
            (Came::Single, _) => world.marks.hit(Mark::SingleTaken),
            (Came::Own, Role::Main) => {
                let jobs = self.oracle.borrow();
                let received = |other: JobHandle, since: u64| {
                    // A job that gets another key meanwhile is in no definite place.
                    let stood = jobs.has_stood_since(other, since) && jobs.has_stood_since(job, since);
                    let open = jobs.is_open_to_all_since(other, since) && self.is_claimable(other);
                    if stood && open { self.tag(other) } else { None }
                };
                let verdict = self.service.borrow_mut().claimed(worker, job, received);
                world.judge(verdict);
            }
            (Came::Own, Role::Reserve | Role::Lent | Role::Spare) | (Came::Stays | Came::YoungFirst, _) => {}
        }
    }

    /// A reserve worker that goes to a young job has found that the heaviest of all is old.
    fn judge_young_first(&self, worker: usize, job: JobHandle) -> Result<(), Violation> {
        let jobs = self.oracle.borrow();
        let searched = self.turns.borrow().searched(worker);
        let is_young_all_the_while = |heaviest: &JobHandle| {
            let open = jobs.is_open_to_all_since(*heaviest, searched) && self.is_claimable(*heaviest);
            heaviest.seq != job.seq && open && self.is_young(*heaviest)
        };
        match jobs.heaviest_since(searched).filter(is_young_all_the_while) {
            None => Ok(()),
            Some(heaviest) => Err(Violation::new(
                Oracle::PickOrder,
                format!(
                    "worker {worker}, in the reserve role, took {job:?}, but the heaviest is young, too: {heaviest:?}"
                ),
            )),
        }
    }
}

impl OrderedSet<JobHandle> for Glass {
    type Set = super::SimSet<JobHandle>;

    fn insert(&self, _set: &Self::Set, key: JobHandle) -> bool {
        unreachable!("an oracle does not put {key:?} on the board");
    }

    fn remove(&self, _set: &Self::Set, key: &JobHandle) -> bool {
        unreachable!("an oracle does not take {key:?} off the board");
    }

    fn last(&self, set: &Self::Set, below: Option<&JobHandle>) -> Option<JobHandle> {
        set.peek_last(below)
    }
}
