//! A worker's visit of a job: it claims, runs and accounts until its time is over or nothing is
//! left.
//!
//! A claim aims at a millisecond of slots ([`CLAIM_NS`](super::stay::CLAIM_NS)). It takes at most
//! the worker's share of what is left, so that all workers end together, and at most what fits into
//! the worker's time.

use std::sync::Arc;

use super::piece::{self, Halt, Ran};
use super::stay::{Stay, Visitor};
use crate::policy::board::ending::{Closing, changed, end, enforce_deadline};
use crate::policy::board::growing::{self, AfterTurn};
use crate::policy::board::need;
use crate::policy::board::publish::goes_in;
use crate::policy::board::reconcile::Change;
use crate::policy::board::select::stops;
use crate::policy::job::claim::{Claim, Piece};
use crate::policy::job::handle::JobHandle;
use crate::policy::job::ledger::Failure;
use crate::policy::job::tasks::{STAGE, Taken};
use crate::policy::job::{calls, finish};
use crate::policy::ports::{BodyOf, InnerEvent, PipelineEvent, PipelinePorts};
use crate::step_cx::Role;

/// Returns when the visit ended, or `None` if there was nothing to claim or no room.
pub(crate) fn visit<E: PipelinePorts>(
    env: &E,
    job: JobHandle,
    body: &Arc<BodyOf<E>>,
    visitor: Visitor,
) -> Option<u64> {
    let state = &body.state;
    // A single has one slot, and no key on the board whose place could change.
    let counted = !visitor.single || state.is_limited();
    if counted && !state.enter(env) {
        return None;
    }
    let stay = Stay::new(env, job, body, visitor);
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
    // At least one claim, whatever the time, so each visit makes progress.
    while claims == 0 || !stay.is_over(now_ns) && !stops(env) {
        let is_past_deadline = enforce_deadline(env, state, job, now_ns);
        if stay.close_if_orphaned(now_ns) || is_past_deadline {
            now_ns = env.now_ns();
            break;
        }
        let Some((piece, task)) = claim(&stay, now_ns, claims == 0) else {
            break;
        };
        let stages = &body.stages;
        let _inside = body.spans.enter(
            piece.stage,
            stages.stage(piece.stage),
            piece.slots.clone(),
            (worker, role),
        );
        // A later stage starts in a job that has started, unless the job was begun by hand.
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
            Some(task) => run_task(&stay, task, now_ns),
            None => run_claim(&stay, &piece, now_ns),
        };
    }
    // A helper takes no time from other jobs.
    if claims > 0 && role != Role::Lent {
        let (shared, ns) = (env.shared(), now_ns - began_ns);
        shared.allowances.pay(env, worker, visitor.pays, ns);
        let charged_ns = stay.charged_ns(ns);
        state.charge(env, charged_ns, shared.young_tag(), shared.service_floor(env));
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
        changed(env, state, job, Change::Left);
    }
    (claims > 0).then_some(now_ns)
}

fn claim<E: PipelinePorts>(
    stay: &Stay<'_, E>,
    now_ns: u64,
    is_first: bool,
) -> Option<(Piece, Option<Taken>)> {
    let Stay { env, job, state, .. } = *stay;
    let wanted = |stage, left| stay.width(stage, left, now_ns);
    let mut task = None;
    let claimed = state.claims.claim(env, wanted);
    if claimed == Claim::Returned {
        env.observe(PipelineEvent::Inner(InnerEvent::Takes { job }));
    }
    let (piece, may_be_last) = match claimed {
        Claim::Slots { piece, last } => (piece, last),
        Claim::Returned if state.grows => {
            let worker = stay.visitor.worker;
            let taken = growing::change(env, state, |tasks| tasks.take(worker))?;
            let slots = taken.number..taken.number + 1;
            task = Some(taken);
            (Piece { stage: STAGE, slots }, true)
        }
        // Another worker may have claimed the last slots meanwhile, unknown to this one.
        Claim::Returned => (env.change(&state.ledger, |ledger| ledger.take_returned())?, true),
        Claim::Exhausted | Claim::Closed => return None,
    };
    env.observe(PipelineEvent::Claimed {
        job,
        stage: piece.stage,
        first: piece.slots.start,
        slots: piece.slots.len(),
        worker: stay.visitor.worker,
        role: stay.visitor.role,
    });
    let moves = is_first && env.shared().workers() > 1;
    if (may_be_last || moves) && !stay.visitor.single {
        // Reconciled before the slots run, so that no worker looks at the job meanwhile.
        changed(env, state, job, Change::Claimed);
    }
    if is_first {
        goes_in(env, stay.visitor.role);
    }
    Some((piece, task))
}

fn run_claim<E: PipelinePorts>(stay: &Stay<'_, E>, piece: &Piece, began_ns: u64) -> u64 {
    let Stay { env, job, state, .. } = *stay;
    let (stage, claimed) = (piece.stage, piece.slots.len());
    let Ran {
        rest,
        halt,
        mut now_ns,
    } = piece::run_slots(stay, piece, began_ns);
    let ran = claimed - rest.len();
    let is_returned = halt == Halt::Over
        && give_back(
            stay,
            Piece {
                stage,
                slots: rest.clone(),
            },
        );
    if !rest.is_empty() && !is_returned {
        env.observe(PipelineEvent::Inner(InnerEvent::GivenUp {
            job,
            stage,
            first: rest.start,
            slots: rest.len(),
        }));
    }
    if ran > 0 {
        note(stay, stage, ran, now_ns - began_ns);
    }
    let accounted = if is_returned { ran } else { claimed };
    if state.claims.account(env, stage, accounted) {
        now_ns = stage_over(stay, stage, now_ns);
    }
    now_ns
}

fn run_task<E: PipelinePorts>(stay: &Stay<'_, E>, mut task: Taken, began_ns: u64) -> u64 {
    let Stay { env, job, state, .. } = *stay;
    let (turn, now_ns) = piece::run_turn(stay, &mut task, began_ns);
    match growing::turn_over(env, state, job, task.number, task.paused, turn) {
        AfterTurn::Parked => now_ns,
        AfterTurn::Ready => {
            state.claims.give_back(env, 1);
            // This worker stays, or looks at the board again.
            changed(env, state, job, Change::Ready { workers: 0 });
            now_ns
        }
        AfterTurn::Dropped(dropped_ns) => dropped_ns,
        AfterTurn::LastDropped(dropped_ns) => {
            end(env, state, job, Closing::Touched, dropped_ns);
            dropped_ns
        }
    }
}

fn note<E: PipelinePorts>(stay: &Stay<'_, E>, stage: usize, ran: usize, ns: u64) {
    let Stay { env, state, .. } = *stay;
    state.count_slots(env, stay.visitor.worker, ran);
    let slot_ns = ns / ran as u64;
    state.claims.learn(env, stage, slot_ns);
    let left = state.claims.unclaimed_slots(env);
    let worth = need::workers(slot_ns.saturating_mul(left as u64));
    let workers = if left == 0 {
        0
    } else {
        state.invites(env, state.usable(worth.min(left)))
    };
    if workers > 0 {
        changed(env, state, stay.job, Change::WorthMore { workers });
    }
}

/// Returns `false` if the job is closed: the slots are then abandoned.
fn give_back<E: PipelinePorts>(stay: &Stay<'_, E>, piece: Piece) -> bool {
    let Stay { env, job, state, .. } = *stay;
    let Piece { stage, slots } = piece;
    // The slots take longer than estimated, so they are cut as finely as claims of all of them.
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
    env.observe(PipelineEvent::Inner(InnerEvent::GivenBack {
        job,
        stage,
        first: slots.start,
        slots: slots.len(),
    }));
    state.claims.give_back(env, pieces);
    changed(env, state, job, Change::Returned { pieces });
    true
}

fn stage_over<E: PipelinePorts>(stay: &Stay<'_, E>, stage: usize, now_ns: u64) -> u64 {
    let Stay {
        env,
        job,
        body,
        state,
        ..
    } = *stay;
    env.observe(PipelineEvent::StageOver { job, stage });
    let mut lookers = None;
    let finished = finish::finish(
        env,
        &state.claims,
        &body.stages,
        stage,
        &stay.cx(),
        || stay.enforce_deadline(),
        |stage, slots| {
            env.observe(PipelineEvent::StageStarted { job, stage, slots });
            *lookers.get_or_insert(0) += slots.max(1);
        },
    );
    if let Err(failure) = finished {
        stay.fail(failure);
    }
    if let Some(slots) = lookers {
        changed(env, state, job, Change::Started { slots });
    }
    let over = state.claims.finished(env);
    if over && let Err(failure) = make_output(stay) {
        stay.fail(failure);
    }
    let took_no_time = body.stages.is_step() && body.output.is_none();
    let now_ns = if took_no_time { now_ns } else { env.now_ns() };
    if over {
        end(env, state, job, Closing::Touched, now_ns);
    }
    now_ns
}

fn make_output<E: PipelinePorts>(stay: &Stay<'_, E>) -> Result<(), Failure> {
    match &stay.body.output {
        Some(output) if !stay.state.claims.is_closed(stay.env) => {
            calls::output(output, stay.body.stages.len(), &stay.cx())
        }
        _ => Ok(()),
    }
}
