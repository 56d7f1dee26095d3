//! A worker's stay in a job: claim, run, account, until the quantum is over or nothing is left.
//!
//! Whoever accounts for the last slot of a stage is its last finisher: it finishes the stage, and starts the next one or ends the
//! job. The next stage's job is put on the board *before* its slots can be claimed; the other way round, workers that
//! are still in the job could claim the last slot and take the job off the board before it was put on.

use std::sync::Arc;

use super::board::JobHandle;
use super::claim::Claim;
use super::close::{Closing, close, end, fail};
use super::guard;
use super::ledger::{CloseReason, Failure};
use super::ports::{BodyOf, PipelineEvent, PipelinePorts, StateOf};
use super::submit::publish;
use crate::mutant;
use crate::step_cx::{Role, StepCx, Watch};

/// How many slots are claimed at once. More pays when slots are far shorter than a quantum.
const CLAIM_WIDTH: usize = 1;

/// Who visits, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Visitor {
    /// Number of the worker.
    pub worker: usize,
    /// In which role it took the job.
    pub role: Role,
    /// When its quantum is over.
    pub until_ns: u64,
}

/// Runs slots of `job`. `false` if there was none to claim, or no room.
pub(crate) fn visit<E: PipelinePorts>(
    env: &E,
    job: JobHandle,
    body: &Arc<BodyOf<E>>,
    visitor: Visitor,
) -> bool {
    let state = &body.state;
    if !state.enter(env) {
        return false;
    }
    let began_ns = env.now_ns();
    let Visitor { worker, role, .. } = visitor;
    env.observe(PipelineEvent::Entered {
        job,
        worker,
        role,
        at_ns: began_ns,
    });
    let mut now_ns = began_ns;
    let mut claims = 0;
    // At least one claim, whatever the time: a visit always gets somewhere.
    while claims == 0 || now_ns < visitor.until_ns {
        if state.is_past_deadline(now_ns) {
            close(env, state, job, CloseReason::DeadlineExceeded);
        }
        let Claim::Slots { stage, slots, last } = state.claims.claim(env, CLAIM_WIDTH) else {
            break;
        };
        env.observe(PipelineEvent::Claimed {
            job,
            stage,
            first: slots.start,
            slots: slots.len(),
            worker,
            role,
        });
        let _inside = body
            .spans
            .enter(stage, &*body.spec.stages[stage], slots.clone(), visitor);
        let stays = mutant::m45_never_off_the_board() && stage + 1 == body.spec.stages.len();
        if last && !stays || mutant::m15_off_the_board_too_early() && slots.start == 0 {
            // Before the slots run: once they have, the next stage may put the job on the board again.
            env.shared().board.remove(env, job);
        }
        // Later stages start in a job that has, unless it was begun by hand.
        if claims == 0
            && (stage == 0 || state.begun)
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
        let visit = Visit {
            env,
            job,
            body,
            state,
            visitor,
        };
        let width = slots.len();
        if mutant::m19_accounted_at_claim() && state.claims.account(env, stage, width) {
            visit.stage_over(stage);
        }
        for slot in slots {
            if mutant::m46_closed_claims_not_run() && state.claims.is_closed(env) {
                continue;
            }
            visit.run_slot(stage, slot);
        }
        // Before it is accounted for: a slot that was told to stop may have left its work undone.
        visit.close_if_late();
        if visit.owes_account() && state.claims.account(env, stage, width) {
            visit.stage_over(stage);
        }
        now_ns = env.now_ns();
    }
    if claims > 0 {
        state.charge(env, now_ns - began_ns);
        if mutant::m18_rekeyed_by_remove_and_insert() && env.shared().board.remove(env, job) {
            env.shared().board.insert(env, job);
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
    state.leave(env);
    claims > 0
}

struct Visit<'a, E: PipelinePorts> {
    env: &'a E,
    job: JobHandle,
    body: &'a Arc<BodyOf<E>>,
    state: &'a Arc<StateOf<E>>,
    visitor: Visitor,
}

impl<E: PipelinePorts> Visit<'_, E> {
    fn run_slot(&self, stage: usize, slot: usize) {
        let Visitor { worker, role, .. } = self.visitor;
        let ran = guard::run(&*self.body.spec.stages[stage], stage, slot, &self.cx());
        self.state.count_slots(self.env, worker, 1);
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

    /// Whether slots that have run are still to be accounted for. They always are, but for a planted bug.
    fn owes_account(&self) -> bool {
        let forgotten = mutant::m29_cancelled_claims_not_accounted() && self.state.claims.is_closed(self.env);
        !forgotten && !mutant::m19_accounted_at_claim()
    }

    /// The last slot of `stage` is accounted for, and this is the last finisher.
    fn stage_over(&self, stage: usize) {
        let Self { env, job, state, .. } = *self;
        env.observe(PipelineEvent::StageOver { job, stage });
        if !state.claims.is_closed(env) {
            let next = self.next_stage(stage);
            self.close_if_late();
            match next {
                Ok(Some(slots)) => {
                    env.shared().board.insert(env, job);
                    if state.claims.start(env, stage + 1, slots) {
                        env.observe(PipelineEvent::StageStarted {
                            job,
                            stage: stage + 1,
                            slots,
                        });
                        // This worker stays, or looks at the board again; others are for the rest.
                        publish(env, state, job, state.usable(slots) - 1);
                        return;
                    }
                    env.shared().board.remove(env, job);
                }
                Ok(None) => {}
                Err(failure) => self.fail(failure),
            }
        }
        end(env, state, job, Closing::Touched);
    }

    /// Finishes `stage` and asks the next one, if there is one, for its slots.
    fn next_stage(&self, stage: usize) -> Result<Option<usize>, Failure> {
        let stages = &self.body.spec.stages;
        guard::finish(&*stages[stage], stage, &self.cx())?;
        let next = stages.get(stage + 1);
        next.map(|next| guard::slots(&**next, stage + 1)).transpose()
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

    fn cx(&self) -> StepCx<'_> {
        StepCx::new(self.visitor.worker, self.visitor.role, &self.body.spec.id, self)
    }
}

impl<E: PipelinePorts> Watch for Visit<'_, E> {
    fn is_cancelled(&self) -> bool {
        self.state.claims.is_closed(self.env)
            || (self.state.deadline_ns.is_some() && self.state.is_past_deadline(self.env.now_ns()))
    }

    fn should_yield(&self) -> bool {
        self.env.now_ns() >= self.visitor.until_ns
    }
}
