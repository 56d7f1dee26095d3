//! A worker's stay in a job: claim, run, account, until its time is over or nothing is left.
//!
//! A worker claims as many slots at once as take about a millisecond ([`CLAIM_NS`]), so that the
//! claim costs next to nothing even where a slot takes a microsecond; but never more than its share
//! of what is left, so that all workers end at the same time, nor more than fits into the rest of
//! its time. What it knows of a slot's time is an estimate, so it reads the clock after each slot:
//! when the visit is over, the rest of the claim goes back. Before each slot it asks whether the
//! job is closed; then the rest is given up. A visit is over when its time is, or when a young job
//! waits and this one is old: [`role`](super::role).
//!
//! A visit that closes its job reads the clock once more: the look that goes on decides by the last
//! reading whether its quantum is over.
//!
//! The party that accounts for the last slot of a stage is its last finisher: it finishes the
//! stage, starts those that have waited for it, and ends the job if no stage is open. The party
//! that changes what can be claimed settles the job afterwards: see [`standing`](super::standing).

use std::cell::Cell;
use std::sync::Arc;

use super::allowance::Pays;
use super::board::JobHandle;
use super::claim::{Claim, Piece};
use super::close::{Closing, close, end, fail};
use super::grow::{self, STAGE};
use super::job_spec::JobSpec;
use super::job_state::JobEnd;
use super::ledger::{CloseReason, Failure};
use super::lend;
use super::ports::{BodyOf, PipelineEvent, PipelinePorts, StateOf};
use super::role::{stops, young_waits};
use super::standing::settle;
use super::submit::publish;
use super::tasks::Taken;
use super::{finish, guard, need, nest, stand_in};
use crate::mutant;
use crate::step_cx::{Nest, Role, StepCx, Watch};
use crate::task::Turn;

/// A claim is as many slots as take about this long, in nanoseconds.
pub const CLAIM_NS: u64 = 1_000_000;

/// Who visits, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// Number of the worker.
    pub worker: usize,
    /// In which role it took the job.
    pub role: Role,
    /// When it looked for one: the visit begins then.
    pub now_ns: u64,
    /// When its time in the job is over.
    pub until_ns: u64,
    /// It leaves earlier once a young job waits that has arrived since this many arrivals were
    /// counted; `None`: it stays until its time is over.
    pub gives_way: Option<usize>,
    /// What the visit does to its allowance for young jobs.
    pub pays: Pays,
    /// The job was taken from the queue of singles: it has no keys on the board.
    pub single: bool,
}

/// Runs slots of `job`. Gives when it was done; `None` if there was none to claim, or no room.
pub(crate) fn visit<E: PipelinePorts>(
    env: &E,
    job: JobHandle,
    body: &Arc<BodyOf<E>>,
    visitor: Visitor,
) -> Option<u64> {
    let state = &body.state;
    // A single has no key on the board whose place that could change, and one slot.
    let counted = !visitor.single || state.is_limited();
    if counted && !state.enter(env) {
        return None;
    }
    let visit = Visit {
        env,
        job,
        body,
        state,
        visitor,
        arrivals: Cell::new(visitor.gives_way),
        gives_way: Cell::new(false),
        told_ns: Cell::new(None),
        uncharged_ns: Cell::new(None),
    };
    let Visitor {
        worker,
        role,
        now_ns: began_ns,
        ..
    } = visitor;
    env.observe(PipelineEvent::Entered {
        job,
        worker,
        role,
        at_ns: began_ns,
    });
    let stand_ins = &env.shared().stand_ins;
    stand_ins.begins(env, worker, began_ns);
    let mut now_ns = began_ns;
    let mut claims = 0;
    // At least one claim, whatever the time: a visit always gets somewhere.
    while claims == 0 || !visit.is_over(now_ns) && !stops(env) {
        let is_late = state.is_past_deadline(now_ns);
        if is_late {
            close(env, state, job, CloseReason::DeadlineExceeded);
        }
        if visit.close_if_orphaned(now_ns) || is_late {
            // Closing takes time, and ending the job takes more: the look goes on from here.
            now_ns = env.now_ns();
            break;
        }
        let Some((piece, task)) = visit.claim(now_ns, claims == 0) else {
            break;
        };
        let stages = &body.stages;
        let _inside = body.spans.enter(
            piece.stage,
            stages.stage(piece.stage),
            piece.slots.clone(),
            visitor,
        );
        // Later stages start in a job that has, unless it was begun by hand.
        if claims == 0
            && (piece.stage == 0 || state.begun)
            && env.change(&state.ledger, |ledger| ledger.start(now_ns))
        {
            env.observe(PipelineEvent::Started {
                job,
                class: state.class(),
                worker,
                wait_ns: now_ns.saturating_sub(state.submitted_ns),
            });
        }
        claims += 1;
        now_ns = match task {
            Some(task) => visit.run_turn(task, now_ns),
            None => visit.run(piece, now_ns),
        };
    }
    // A thread that is lent to the job takes nothing from others.
    if claims > 0 && role != Role::Lent {
        let (shared, ns) = (env.shared(), now_ns - began_ns);
        shared.allowances.pay(env, worker, visitor.pays, ns);
        if !(state.grows && mutant::m119_turns_are_not_charged()) {
            let charged_ns = visit.charged_ns(ns);
            state.charge(env, charged_ns, shared.young_tag(), shared.service_floor(env));
        }
    }
    env.observe(PipelineEvent::Left {
        job,
        worker,
        role,
        since_ns: began_ns,
        at_ns: now_ns,
        claims,
    });
    if counted {
        state.leave(env);
        if state.claims.is_claimable(env) {
            // It has another place among the served now.
            settle(env, state, job, None);
        }
    }
    if state.is_limited() && !mutant::m76_room_is_not_told() {
        lend::tell(env, state);
    }
    (claims > 0).then_some(now_ns)
}

struct Visit<'a, E: PipelinePorts> {
    env: &'a E,
    job: JobHandle,
    body: &'a Arc<BodyOf<E>>,
    state: &'a Arc<StateOf<E>>,
    visitor: Visitor,
    /// Arrivals of young jobs that the worker has looked at; `None` if it gives way to none.
    arrivals: Cell<Option<usize>>,
    /// A young job waits, so that the visit is over.
    gives_way: Cell<bool>,
    /// Nanoseconds that the slot or turn that runs is to be charged for, as it has told.
    told_ns: Cell<Option<u64>>,
    /// Nanoseconds that those that have told are not charged for; `None` if none has told.
    uncharged_ns: Cell<Option<u64>>,
}

impl<E: PipelinePorts> Visit<'_, E> {
    /// Claims slots, at `now_ns`, for the first time in this visit or not; in a job that grows, a
    /// turn of a task.
    fn claim(&self, now_ns: u64, is_first: bool) -> Option<(Piece, Option<Taken>)> {
        let Self { env, job, state, .. } = *self;
        let wanted = |stage, left| self.width(stage, left, now_ns);
        let mut task = None;
        let claimed = state.claims.claim(env, wanted);
        if claimed == Claim::Returned {
            env.observe(PipelineEvent::Takes { job });
        }
        let (piece, may_be_last) = match claimed {
            Claim::Slots { piece, last } => (piece, last),
            Claim::Returned if state.grows => {
                let worker = self.visitor.worker;
                let taken = grow::change(env, state, |tasks| tasks.take(worker))?;
                let slots = taken.number..taken.number + 1;
                task = Some(taken);
                (Piece { stage: STAGE, slots }, true)
            }
            // Another worker may have claimed the last of the others meanwhile, and neither of the
            // two knows.
            Claim::Returned => (env.change(&state.ledger, |ledger| ledger.take_returned())?, true),
            Claim::Exhausted | Claim::Closed => return None,
        };
        env.observe(PipelineEvent::Claimed {
            job,
            stage: piece.stage,
            first: piece.slots.start,
            slots: piece.slots.len(),
            worker: self.visitor.worker,
            role: self.visitor.role,
        });
        // Others who look are to go to another job first, now that this worker is in.
        let moves = is_first && env.shared().workers() > 1;
        if (may_be_last || moves) && !self.visitor.single || mutant::m15_off_the_board_too_early() {
            // Before the slots run, so that no worker looks at the job meanwhile.
            settle(env, state, job, None);
        }
        if is_first {
            stand_in::goes_in(env, self.visitor.role);
        }
        Some((piece, task))
    }

    /// Whether the worker leaves the job at this boundary: its time is over, or a young job waits
    /// and this one is old.
    fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.visitor.until_ns || self.gives_way()
    }

    /// Whether a young job has come since the worker looked last, and waits. From then on the visit
    /// is over: a slot that was told to yield has not done so in vain, and what was given back is
    /// not claimed again.
    fn gives_way(&self) -> bool {
        if self.gives_way.get() {
            return true;
        }
        let Some(seen) = self.arrivals.get() else {
            return false;
        };
        let arrivals = self.env.shared().young_arrivals(self.env);
        if arrivals == seen || mutant::m114_old_stay_does_not_look() {
            return false;
        }
        self.arrivals.set(Some(arrivals));
        self.gives_way.set(young_waits(self.env));
        self.gives_way.get()
    }

    /// How many of the `left` slots of `stage` to claim.
    fn width(&self, stage: usize, left: usize, now_ns: u64) -> usize {
        let Some(slot_ns) = self.state.claims.slot_ns(self.env, stage) else {
            // How long they take is not known; the first one tells.
            return 1;
        };
        let time_ns = CLAIM_NS.min(self.visitor.until_ns.saturating_sub(now_ns));
        let fits = usize::try_from(time_ns / slot_ns).unwrap_or(usize::MAX);
        if mutant::m70_claims_leave_nothing() {
            return fits;
        }
        // Half of an equal share: the closer the end, the smaller the claims.
        let workers = self.state.usable(self.env.shared().workers());
        fits.min(left / (2 * workers))
    }

    /// Runs a piece that was claimed at `began_ns`, or gives back what the visit is too short for,
    /// or gives up what is left when the job is closed. Gives the time.
    fn run(&self, piece: Piece, began_ns: u64) -> u64 {
        let Self { env, job, state, .. } = *self;
        let Piece { stage, slots } = piece;
        let mut accounted = slots.len();
        if mutant::m19_accounted_at_claim() && state.claims.account(env, stage, accounted) {
            self.stage_over(stage, began_ns);
        }
        let (mut rest, mut now_ns) = (slots.clone(), began_ns);
        while !rest.is_empty() {
            self.close_if_orphaned(now_ns);
            if state.claims.is_closed(env) && !mutant::m46_closed_claims_are_run() {
                break;
            }
            let is_first = rest.start == slots.start;
            if !is_first && !mutant::m69_claims_run_to_their_end() && self.is_over(now_ns) {
                if self.give_back(Piece {
                    stage,
                    slots: rest.clone(),
                }) {
                    accounted -= rest.len();
                    rest.start = rest.end;
                }
                break;
            }
            if !is_first && rest.len() == 1 && mutant::m127_last_slot_of_a_claim_is_skipped() {
                rest.start = rest.end;
                break;
            }
            let slot = rest.start;
            self.run_slot(stage, slot);
            rest.start += 1;
            let slot_ns = now_ns;
            now_ns = env.now_ns();
            self.boundary(slot_ns, now_ns);
        }
        if !rest.is_empty() {
            env.observe(PipelineEvent::GivenUp {
                job,
                stage,
                first: rest.start,
                slots: rest.len(),
            });
        }
        let ran = accounted - rest.len();
        if ran > 0 {
            self.note(stage, ran, now_ns - began_ns);
        }
        // Before it is accounted for: a slot that was told to stop may have left its work undone.
        if state.is_past_deadline(now_ns) {
            close(env, state, job, CloseReason::DeadlineExceeded);
        }
        if self.owes_account() && state.claims.account(env, stage, accounted) {
            now_ns = self.stage_over(stage, now_ns);
        }
        now_ns
    }

    /// Runs a turn of a task that was claimed at `began_ns`, or drops the task if it is cancelled.
    /// Gives the time.
    fn run_turn(&self, task: Taken, began_ns: u64) -> u64 {
        let Self { env, job, state, .. } = *self;
        let Visitor { worker, role, .. } = self.visitor;
        let Taken {
            number,
            mut paused,
            cancelled,
        } = task;
        let mut turn = Turn::Done;
        let mut now_ns = began_ns;
        if !cancelled && !state.claims.is_closed(env) {
            let ran = guard::turn(&mut *paused.task, number, &self.cx(), &paused.waker);
            env.observe(PipelineEvent::SlotRan {
                job,
                stage: STAGE,
                slot: number,
                worker,
                role,
            });
            state.count_slots(env, worker, 1);
            match ran {
                Ok(came_to) => turn = came_to,
                Err(failure) => self.fail(failure),
            }
            now_ns = env.now_ns();
            self.boundary(began_ns, now_ns);
        }
        if state.is_past_deadline(now_ns) {
            close(env, state, job, CloseReason::DeadlineExceeded);
        }
        grow::turn_over(env, state, job, number, paused, turn, now_ns)
    }

    /// A slot or a turn is over that began at `began_ns`; what comes next begins now.
    #[inline]
    fn boundary(&self, began_ns: u64, now_ns: u64) {
        let stand_ins = &self.env.shared().stand_ins;
        stand_ins.begins(self.env, self.visitor.worker, now_ns);
        if let Some(told_ns) = self.told_ns.take() {
            let uncharged_ns = (now_ns - began_ns).saturating_sub(told_ns);
            let before_ns = self.uncharged_ns.get().unwrap_or(0);
            self.uncharged_ns.set(Some(before_ns + uncharged_ns));
        }
    }

    /// What the job is charged for a visit of `ns` nanoseconds.
    fn charged_ns(&self, ns: u64) -> u64 {
        match self.uncharged_ns.get() {
            Some(uncharged_ns) => ns.saturating_sub(uncharged_ns),
            // A spare thread shares its core with the turn for which it stands in.
            None if self.visitor.role == Role::Spare => ns / 2,
            None => ns,
        }
    }

    fn run_slot(&self, stage: usize, slot: usize) {
        let Visitor { worker, role, .. } = self.visitor;
        let ran = guard::run(self.body.stages.stage(stage), stage, slot, &self.cx());
        self.env.observe(PipelineEvent::SlotRan {
            job: self.job,
            stage,
            slot,
            worker,
            role,
        });
        if let Err(failure) = ran {
            self.fail(failure);
        }
    }

    /// So many slots of `stage` took `ns` together.
    fn note(&self, stage: usize, ran: usize, ns: u64) {
        let Self { env, state, .. } = *self;
        state.count_slots(env, self.visitor.worker, ran);
        let slot_ns = ns / ran as u64;
        state.claims.learn(env, stage, slot_ns);
        if mutant::m71_one_worker_invited() {
            return;
        }
        // What is left of other stages may take another time; they have an estimate of their own,
        // and another worker learns it.
        let left = state.claims.unclaimed_slots(env);
        let worth = need::workers(slot_ns.saturating_mul(left as u64));
        let lookers = if left == 0 {
            0
        } else {
            state.invites(env, state.usable(worth.min(left)))
        };
        if lookers > 0 {
            publish(env, state, self.job, lookers);
        }
    }

    /// Gives back slots that were claimed and have not run. `false` if the job is closed, so that
    /// they are given up instead.
    fn give_back(&self, piece: Piece) -> bool {
        let Self { env, job, state, .. } = *self;
        let Piece { stage, slots } = piece;
        // In as many pieces as a claim of all of them would be cut into: they take longer than was
        // thought.
        let pieces = slots.len().min(2 * state.usable(env.shared().workers()));
        let cut = |nth| slots.start + slots.len() * nth / pieces;
        let cut: Vec<Piece> = (0..pieces)
            .map(|nth| Piece {
                stage,
                slots: cut(nth)..cut(nth + 1),
            })
            .collect();
        if env.change(&state.ledger, |ledger| ledger.give_back(cut)).is_err() {
            return false;
        }
        env.observe(PipelineEvent::GivenBack {
            job,
            stage,
            first: slots.start,
            slots: slots.len(),
        });
        if !mutant::m66_given_back_in_silence() {
            state.claims.give_back(env, pieces);
        }
        lend::tell(env, state);
        // This worker looks at the board again; others are for the rest.
        settle(env, state, job, Some(state.usable(pieces)));
        true
    }

    /// Whether slots that have run are still to be accounted for. They always are, but for a
    /// planted bug.
    fn owes_account(&self) -> bool {
        let forgotten = mutant::m29_cancelled_claims_not_accounted() && self.state.claims.is_closed(self.env);
        !forgotten && !mutant::m19_accounted_at_claim()
    }

    /// The last slot of `stage` is accounted for at `now_ns`, and this is the last finisher. Gives
    /// the time.
    fn stage_over(&self, stage: usize, now_ns: u64) -> u64 {
        let Self {
            env,
            job,
            body,
            state,
            ..
        } = *self;
        env.observe(PipelineEvent::StageOver { job, stage });
        let mut lookers = None;
        let finished = finish::finish(
            env,
            &state.claims,
            &body.stages,
            stage,
            &self.cx(),
            || self.close_if_late(),
            |stage, slots| {
                env.observe(PipelineEvent::StageStarted { job, stage, slots });
                *lookers.get_or_insert(0) += slots.max(1);
            },
        );
        if let Err(failure) = finished {
            self.fail(failure);
        }
        if let Some(slots) = lookers {
            if !mutant::m74_stage_start_wakes_no_lent_thread() {
                lend::tell(env, state);
            }
            // This worker stays, or looks at the board again; others are for the rest.
            let wanted = state.invites_anew(env, need::of_stages(env, state, slots)) - 1;
            settle(env, state, job, Some(wanted));
        }
        let over = state.claims.finished(env);
        if over && let Err(failure) = self.make_output() {
            self.fail(failure);
        }
        let took_no_time = body.stages.is_step() && body.output.is_none();
        let now_ns = if took_no_time { now_ns } else { env.now_ns() };
        if over {
            end(env, state, job, Closing::Touched, now_ns);
        }
        now_ns
    }

    /// Every stage is over: makes what the job gives, unless it was closed meanwhile and gives
    /// nothing.
    fn make_output(&self) -> Result<(), Failure> {
        match &self.body.output {
            Some(output) if !self.state.claims.is_closed(self.env) => {
                guard::output(output, self.body.stages.len(), &self.cx())
            }
            _ => Ok(()),
        }
    }

    fn fail(&self, failure: Failure) {
        // It may have failed because it was told to stop.
        self.close_if_late();
        fail(self.env, self.state, self.job, failure);
    }

    #[inline]
    fn close_if_late(&self) {
        let Self { env, job, state, .. } = *self;
        if state.deadline_ns.is_some() && state.is_past_deadline(env.now_ns()) {
            close(env, state, job, CloseReason::DeadlineExceeded);
        }
    }

    /// Step orphan of [`nest`](mod@super::nest). `true` if the job was one, and so is closed now.
    #[inline]
    fn close_if_orphaned(&self, now_ns: u64) -> bool {
        let Self { env, job, state, .. } = *self;
        let is_orphaned = state.is_orphaned(env, || now_ns);
        if is_orphaned {
            close(env, state, job, CloseReason::Cancelled);
        }
        is_orphaned
    }

    fn cx(&self) -> StepCx<'_> {
        StepCx::new(
            self.visitor.worker,
            self.visitor.role,
            Some(self.state.id()),
            self,
        )
    }
}

impl<E: PipelinePorts> Watch for Visit<'_, E> {
    fn is_cancelled(&self) -> bool {
        self.state.claims.is_closed(self.env)
            || (self.state.deadline_ns.is_some() && self.state.is_past_deadline(self.env.now_ns()))
            || self.state.is_orphaned(self.env, || self.env.now_ns())
    }

    fn should_yield(&self) -> bool {
        self.is_over(self.env.now_ns())
    }

    fn charge_for(&self, ns: u64) {
        self.told_ns.set(Some(ns));
    }
}

impl<E: PipelinePorts> Nest for Visit<'_, E> {
    fn nest(&self, cx: &StepCx<'_>, spec: JobSpec) -> JobEnd {
        nest::nest_in(self.env, (self.state, self.job), cx, spec)
    }
}
