//! What the oracles and the marks hear of jobs: from the policy's events, and from what the parties do on the board.

use executor_core::ports::OrderedSet;
use pipeline_exec::policy::{LookEnd, PipelineEvent};
use pipeline_exec::{JobEntry, JobHandle, Role};

use super::Hub;
use crate::mark::Mark;
use crate::oracle::{Answer, CameToJob as Came};
use crate::word::Glass;
use crate::world::World;

impl Hub {
    /// The policy says on party `me` that something happened.
    pub(super) fn heard(&self, world: &mut World, me: usize, event: PipelineEvent<'_>) {
        let verdict = self.oracle.borrow_mut().observe(self, event, world.steps(), me);
        world.judge(verdict);
        let clock_ns = world.clock_ns(me);
        world.trace.job(me, clock_ns, || {
            let body = match event {
                PipelineEvent::Submitted { job } | PipelineEvent::StageStarted { job, .. } => self.peek(job),
                _ => None,
            };
            // On a party's own clock a submission begins where it is told: what it did before stands before it.
            JobEntry::of(&event, body.as_ref().map(|body| (body.spec(), clock_ns)))
        });
        match event {
            PipelineEvent::Submitted { .. } => self.submitted(world, me),
            PipelineEvent::StageStarted { slots: 0, .. } => world.marks.hit(Mark::StageWithoutSlots),
            PipelineEvent::Claimed {
                job, worker, role, ..
            } => self.claimed(world, job, worker, role),
            PipelineEvent::SlotRan { job, stage, .. } => {
                if self.oracle.borrow().is_anybody_else_finishing(self, job, stage) {
                    world.marks.hit(Mark::TwoFinishers);
                }
            }
            PipelineEvent::Ended { .. } => {
                self.admission.borrow_mut().ended();
                if world.is_canceller(me) {
                    world.marks.hit(Mark::EndedByCanceller);
                }
            }
            PipelineEvent::Entered { .. }
            | PipelineEvent::Started { .. }
            | PipelineEvent::StageStarted { .. }
            | PipelineEvent::StageOver { .. }
            | PipelineEvent::Failed { .. }
            | PipelineEvent::Left { .. } => {}
        }
    }

    /// `worker` begins a look.
    pub(crate) fn look_began(&self, worker: usize) {
        self.turns.borrow_mut().look_began(worker);
    }

    /// A look has ended.
    pub(crate) fn look_ended(&self, world: &mut World, end: LookEnd) {
        if end == LookEnd::Again {
            world.marks.hit(Mark::QuantumOver);
        }
    }

    /// `party` begins to go down one of the board's orders.
    pub(super) fn scan_began(&self, world: &mut World, party: usize, heaviest: bool) {
        let step = world.steps();
        let mut jobs = self.oracle.borrow_mut();
        jobs.scan_began(party, heaviest, step);
        self.turns.borrow_mut().scan_began(party, heaviest);
        if !heaviest {
            let mut service = self.service.borrow_mut();
            service.floor_is(self.shared.service_floor(&Glass));
            let open = jobs
                .open_to_all()
                .filter_map(|job| Some((job, self.service_of(job)?)));
            service.scan_began(party, step, open);
        }
    }

    /// `party` has come to the end of one of the board's orders.
    pub(super) fn scan_ended(&self, party: usize, heaviest: bool) {
        self.turns.borrow_mut().scan_ended(party, heaviest);
    }

    /// `party` has read its clock.
    pub(super) fn read_clock(&self, party: usize, now_ns: u64) {
        self.turns.borrow_mut().read_clock(party, now_ns);
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

    fn submitted(&self, world: &mut World, me: usize) {
        let in_table = self.shared.jobs().taken();
        if in_table == self.shared.config().capacity {
            world.marks.hit(Mark::AdmittedAtLimit);
        }
        let verdict = self.admission.borrow_mut().submitted(me, in_table);
        world.judge(verdict);
    }

    fn claimed(&self, world: &mut World, job: JobHandle, worker: usize, role: Role) {
        let came = match self.turns.borrow_mut().claimed(worker, role) {
            Ok(came) => came,
            Err(violation) => return world.judge(Err(violation)),
        };
        let config = self.shared.config();
        if came != Came::Stays && role == Role::Reserve && config.reserve == 0 {
            world.marks.hit(Mark::ReserveTurn);
        }
        match (came, role) {
            (Came::FellThrough, Role::Main) => world.marks.hit(Mark::MainFellThrough),
            (Came::FellThrough, Role::Reserve) => world.marks.hit(Mark::ReserveFellThrough),
            (Came::Own, Role::Main) => {
                let jobs = self.oracle.borrow();
                let received = |other: JobHandle, since: u64| {
                    let open = jobs.is_open_to_all_since(other, since) && self.is_claimable(other);
                    if open { self.service_of(other) } else { None }
                };
                let verdict = self.service.borrow_mut().claimed(worker, job, received);
                world.judge(verdict);
            }
            (Came::Own, Role::Reserve) | (Came::Stays, _) => {}
        }
    }

    /// Service that `job` has received, unless it has ended.
    fn service_of(&self, job: JobHandle) -> Option<usize> {
        self.peek(job).map(|body| body.state().service(&Glass))
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
