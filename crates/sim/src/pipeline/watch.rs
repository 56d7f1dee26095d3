//! Reports the policy's events and actions on the board to the oracles and coverage points.

use executor_core::ports::OrderedSet;
use pipeline_exec::policy::{InnerEvent, LookEnd, NestAnswer, PipelineConfig, PipelineEvent};
use pipeline_exec::{JobErrorKind, Role, policy::JobHandle, trace::JobEntry};

use super::Hub;
use crate::coverage::CoveragePoint;
use crate::oracle::{
    Answer, CameByShare, CameToJob as Came, Claim, Moment, Oracle, Order, Stayed, Violation,
};
use crate::word::Glass;
use crate::world::World;

impl Hub {
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
            // A submission begins after the actor's earlier work.
            let spec = body.map(|body| body.spec());
            JobEntry::of(&event, spec.as_ref().map(|spec| (spec, clock_ns)))
        });
        match event {
            PipelineEvent::Inner(InnerEvent::Stops) => self.admission.borrow_mut().stops(),
            PipelineEvent::Submitted { .. } => self.submitted(world, me),
            PipelineEvent::StageStarted { slots: 0, .. } => {
                world.coverage.hit(CoveragePoint::StageWithoutSlots)
            }
            PipelineEvent::Claimed {
                job,
                slots,
                worker,
                role,
                ..
            } => {
                if slots > 1 {
                    world.coverage.hit(CoveragePoint::SeveralClaimed);
                }
                if self.oracle.borrow().is_side_by_side(job) {
                    world.coverage.hit(CoveragePoint::StagesSideBySide);
                }
                self.claimed(world, me, job, (worker, role));
                let verdict = self.admission.borrow().claimed(me);
                world.judge(verdict);
            }
            PipelineEvent::Inner(InnerEvent::GivenBack { .. }) => {
                world.coverage.hit(CoveragePoint::SlotsGivenBack)
            }
            PipelineEvent::Inner(InnerEvent::GivenUp { .. }) => {
                world.coverage.hit(CoveragePoint::SlotsGivenUp)
            }
            PipelineEvent::SlotRan { job, stage, role, .. } => {
                if role != Role::Lent {
                    self.spares.oracle.borrow_mut().ran(me);
                }
                if self.oracle.borrow().is_another_finishing(self, job, stage, me) {
                    world.coverage.hit(CoveragePoint::TwoFinishers);
                }
            }
            PipelineEvent::Ended { .. } => {
                self.admission.borrow_mut().ended();
                if self.lending.borrow().is_lent(me) {
                    world.coverage.hit(CoveragePoint::EndedByLentThread);
                }
                if world.is_canceller(me) {
                    world.coverage.hit(CoveragePoint::EndedByCanceller);
                }
            }
            PipelineEvent::Inner(InnerEvent::Nests { .. }) => self.nest_began(world, me),
            PipelineEvent::Inner(InnerEvent::NestAnswered { answer, .. }) => {
                self.nest_answered(world, me, answer)
            }
            PipelineEvent::Inner(InnerEvent::NestOver { end, .. }) => {
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
            | PipelineEvent::Inner(InnerEvent::Reconciles { .. })
            | PipelineEvent::Inner(InnerEvent::Takes { .. })
            | PipelineEvent::Inner(InnerEvent::TaskSpawned { .. })
            | PipelineEvent::Inner(InnerEvent::TaskWoken { .. })
            | PipelineEvent::Inner(InnerEvent::TaskCancelled { .. })
            | PipelineEvent::Inner(InnerEvent::TurnOver { .. })
            | PipelineEvent::Inner(InnerEvent::TaskOver { .. })
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

    fn service_of(&self, job: JobHandle) -> Option<usize> {
        Some(self.peek(job)?.state().service(&Glass))
    }

    pub(crate) fn look_began(&self, worker: usize) {
        self.turns.borrow_mut().look_began(worker);
        self.stays.borrow_mut().look_began(worker);
    }

    pub(crate) fn look_ended(&self, world: &mut World, worker: usize, end: LookEnd) {
        self.left_job(world, worker);
        self.spares.oracle.borrow_mut().searches(worker);
        if end == LookEnd::Again {
            world.coverage.hit(CoveragePoint::QuantumOver);
        }
    }

    pub(super) fn scan_began(&self, world: &mut World, actor: usize, order: Order) {
        if self.looked(world, actor) {
            return;
        }
        self.left_job(world, actor);
        let step = world.steps();
        let mut jobs = self.oracle.borrow_mut();
        jobs.scan_began(actor, order == Order::Heaviest, step);
        self.turns.borrow_mut().scan_began(actor, order, step);
        self.admission.borrow_mut().scan_began(actor);
        let young_tag = self.shared.young_tag();
        let old = jobs
            .open_to_all()
            .filter(|job| self.tag(*job).is_some_and(|tag| tag >= young_tag));
        self.share.borrow_mut().scan_began(actor, step, old);
        if let Order::Served { from_tag } = order {
            let open = (jobs.open_to_all())
                .filter_map(|job| Some((job, self.tag(job)?)))
                .filter(|(_, tag)| *tag >= from_tag);
            self.service.borrow_mut().scan_began(actor, step, open);
        }
    }

    pub(super) fn scan_ended(&self, actor: usize, order: Order) {
        let in_a_job =
            self.stays.borrow().is_visiting(actor) || self.spares.oracle.borrow().is_visiting(actor);
        if !in_a_job {
            self.turns.borrow_mut().scan_ended(actor, order);
        }
    }

    pub(super) fn counted_singles(&self, world: &mut World, actor: usize, len: usize) {
        if !self.looked(world, actor) {
            self.share.borrow_mut().left(actor);
        }
        if len == 0 {
            self.scan_ended(actor, Order::Singles);
        }
    }

    fn looked(&self, world: &World, actor: usize) -> bool {
        let mut stays = self.stays.borrow_mut();
        let config = self.shared.config();
        if actor < config.main + config.reserve {
            stays.looked(
                actor,
                self.moment(world.steps()),
                self.is_allowance_used_up(actor),
            );
        }
        let mut stand_ins = self.spares.oracle.borrow_mut();
        let is_glance = stays.is_visiting(actor) || stand_ins.is_visiting(actor);
        if !is_glance && !self.nests.borrow().iter().any(|nest| nest.0 == actor) {
            stand_ins.searches(actor);
        }
        is_glance
    }

    pub(super) fn fetched(&self, actor: usize, job: JobHandle) {
        let (mut stays, mut stand_ins) = (self.stays.borrow_mut(), self.spares.oracle.borrow_mut());
        if !stays.is_visiting(actor) && !stand_ins.is_visiting(actor) {
            let is_young = self.is_young(job);
            stays.fetched(actor, job, !is_young);
            if is_young {
                stand_ins.found_young(actor, job);
            }
            self.lending.borrow_mut().fetched(actor, job);
        }
    }

    pub(super) fn read_clock(&self, actor: usize, now_ns: u64, step: u64) {
        self.turns.borrow_mut().read_clock(actor, now_ns);
        self.share.borrow_mut().read_clock(actor, now_ns);
        self.spares.oracle.borrow_mut().read_clock(actor, now_ns);
        self.stays
            .borrow_mut()
            .read_clock(actor, now_ns, self.moment(step));
    }

    pub(super) fn slot_began(&self, world: &mut World, actor: usize, role: Role) {
        if role != Role::Lent {
            self.spares.oracle.borrow_mut().goes_on(actor);
        }
        let waits = |boundary, looked| self.awaited_young(boundary, looked);
        let verdict = self.stays.borrow_mut().slot_began(actor, waits);
        world.judge(verdict);
    }

    fn awaited_young(&self, boundary: Moment, looked: Moment) -> Option<JobHandle> {
        let jobs = self.oracle.borrow();
        let may_be_gone_into = |job| self.is_young(job) && jobs.could_claim_since(self, job, boundary.step);
        jobs.awaited_young(boundary, looked, may_be_gone_into)
    }

    fn stayed(&self, world: &mut World, worker: usize) {
        let could_claim = |job, since: Moment| {
            let jobs = self.oracle.borrow();
            jobs.could_claim_since(self, job, since.step) && !self.admission.borrow().is_stopping()
        };
        let arrivals = self.shared.young_arrivals(&Glass);
        match self.stays.borrow_mut().left(worker, arrivals, could_claim) {
            Ok(Stayed::Longer) => world.coverage.hit(CoveragePoint::OldStay),
            Ok(Stayed::GaveWay) => world.coverage.hit(CoveragePoint::GaveWay),
            Ok(Stayed::Otherwise) => {}
            Err(violation) => world.judge(Err(violation)),
        }
    }

    pub(crate) fn call_began(&self, actor: usize) {
        self.admission.borrow_mut().call_began(actor);
    }

    pub(crate) fn call_ended(&self, world: &mut World, actor: usize, answer: Answer) {
        let verdict = self.admission.borrow_mut().call_ended(actor, answer);
        world.judge(verdict);
    }

    pub(crate) fn closes(&self, stopping: bool) {
        self.admission.borrow_mut().closes(stopping);
    }

    pub(crate) fn closed(&self) {
        self.admission.borrow_mut().closed();
    }

    fn went_into(&self, world: &mut World, worker: usize, job: JobHandle) {
        let jobs = self.oracle.borrow();
        let waits = |job: JobHandle, since: u64| {
            // A search may miss a job whose key changes meanwhile.
            let stood = jobs.has_stood_since(job, since);
            stood && jobs.is_open_to_all_since(job, since) && self.is_claimable(job)
        };
        let came = self
            .share
            .borrow_mut()
            .went_into(worker, !self.is_young(job), waits);
        match came {
            Ok(CameByShare::YoungBeforeOld) => world.coverage.hit(CoveragePoint::YoungBeforeOld),
            Ok(CameByShare::OldInTurn) => world.coverage.hit(CoveragePoint::OldInTurn),
            Ok(CameByShare::Another) => {}
            Err(violation) => world.judge(Err(violation)),
        }
    }

    fn submitted(&self, world: &mut World, me: usize) {
        let in_table = self.shared.jobs().taken();
        if in_table == self.shared.config().capacity {
            world.coverage.hit(CoveragePoint::AdmittedAtLimit);
        }
        let verdict = self.admission.borrow_mut().submitted(me, in_table);
        world.judge(verdict);
    }

    fn nest_began(&self, world: &mut World, actor: usize) {
        if self.spares.oracle.borrow().spare_of(actor).is_some() {
            world.coverage.hit(CoveragePoint::SpareNested);
        }
        self.nests.borrow_mut().push((actor, None));
        self.oracle.borrow_mut().nest_began(actor);
        self.turns.borrow_mut().nest_began(actor);
        self.stays.borrow_mut().nest_began(actor);
        self.share.borrow_mut().nest_began(actor);
        self.lending.borrow_mut().nest_began(actor);
        self.call_began(actor);
    }

    fn nest_answered(&self, world: &mut World, actor: usize, answer: NestAnswer) {
        let (said, point) = match answer {
            NestAnswer::Admitted(_) => (Answer::Admitted, CoveragePoint::NestAdmitted),
            NestAnswer::Full => (Answer::Full, CoveragePoint::NestByHand),
            NestAnswer::Closed => (Answer::Closed, CoveragePoint::NestByHandInDrain),
        };
        self.call_ended(world, actor, said);
        world.coverage.hit(point);
        if let NestAnswer::Admitted(job) = answer {
            let mut nests = self.nests.borrow_mut();
            if let Some((_, inner)) = nests.iter_mut().rfind(|nest| nest.0 == actor) {
                *inner = Some(job);
            }
            self.lending_began(world, actor, job);
        }
    }

    fn nest_over(&self, world: &mut World, actor: usize, told: Option<JobErrorKind>) {
        let place = self.nests.borrow().iter().rposition(|nest| nest.0 == actor);
        let nest = place.map(|place| self.nests.borrow_mut().remove(place));
        if let Some((_, Some(job))) = nest {
            self.lending_ended(world, actor);
            let seen = self.oracle.borrow().end_of(job);
            if seen != Some(told) && !self.oracle.borrow().off {
                let message = format!("a slot is told {told:?} of {job:?}, but its end was {seen:?}");
                world.fail(Oracle::Ticket, message);
            }
        }
        self.lending.borrow_mut().nest_over(actor);
        self.share.borrow_mut().nest_over(actor);
        self.stays.borrow_mut().nest_over(actor);
        self.turns.borrow_mut().nest_over(actor);
        self.oracle.borrow_mut().nest_over(actor);
    }

    pub(crate) fn lending_began(&self, world: &mut World, actor: usize, job: JobHandle) {
        if self.lending.borrow_mut().began(actor, job) > 0 {
            world.coverage.hit(CoveragePoint::TwoThreadsLent);
        }
    }

    pub(crate) fn lending_ended(&self, world: &mut World, actor: usize) {
        let verdict = self
            .lending
            .borrow_mut()
            .ended(actor, |job| self.awaits_lent(job));
        world.judge(verdict);
    }

    pub(crate) fn lent_sleeps(&self, world: &mut World, actor: usize) {
        world.coverage.hit(CoveragePoint::LentThreadSlept);
        let jobs = self.oracle.borrow();
        let verdict = self.lending.borrow_mut().sleeps(
            actor,
            |job| self.awaits_lent(job),
            |job, since| jobs.is_open_to_all_since(job, since) && self.awaits_lent(job),
        );
        world.judge(verdict);
    }

    /// A shutdown takes over jobs that await lent threads.
    fn awaits_lent(&self, job: JobHandle) -> bool {
        !self.admission.borrow().is_stopping() && self.has_room(job)
    }

    pub(super) fn woken(&self, world: &mut World, actor: usize) {
        let mut lending = self.lending.borrow_mut();
        let ended = |job| self.oracle.borrow().end_of(job).is_some();
        let for_more = lending.job_of(actor).is_some_and(|job| !ended(job));
        if lending.woken(actor) && for_more {
            world.coverage.hit(CoveragePoint::LentThreadWoken);
        }
    }

    pub(super) fn left_job(&self, world: &mut World, actor: usize) {
        let verdict = self.lending.borrow_mut().left(actor, |job| self.awaits_lent(job));
        world.judge(verdict);
    }

    fn claimed(&self, world: &mut World, actor: usize, job: JobHandle, (worker, role): (usize, Role)) {
        if role == Role::Spare {
            return self.spare_claimed(world, actor, job, worker);
        }
        let PipelineConfig { main, reserve, .. } = *self.shared.config();
        let verdict = (self.lending.borrow_mut()).claimed(actor, job, (worker, role), main + reserve);
        world.judge(verdict);
        if role == Role::Lent {
            return world.coverage.hit(CoveragePoint::LentThreadRan);
        }
        self.spares.oracle.borrow_mut().goes_on(actor);
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
                // This oracle may be silenced; the others must see every claim.
                return self.went_into(world, worker, job);
            }
        };
        let config = self.shared.config();
        if came != Came::Stays && role == Role::Reserve && config.reserve == 0 {
            world.coverage.hit(CoveragePoint::ReserveTurn);
        }
        if came == Came::YoungFirst {
            world.coverage.hit(CoveragePoint::ReserveTookYoung);
            let verdict = self.judge_young_first(worker, job);
            world.judge(verdict);
        }
        if came != Came::Stays {
            self.went_into(world, worker, job);
        }
        match (came, role) {
            (Came::FellThrough, _) => world.coverage.hit(CoveragePoint::ReserveFellThrough),
            (Came::Single, _) => world.coverage.hit(CoveragePoint::SingleTaken),
            (Came::Own, Role::Main) => {
                let jobs = self.oracle.borrow();
                let received = |other: JobHandle, since: u64| {
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
