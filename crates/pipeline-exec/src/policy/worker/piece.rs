//! How the slots of one claim run, and why they stop.

use std::ops::Range;

use super::stay::{Stay, Visitor};
use crate::policy::job::calls;
use crate::policy::job::claim::Piece;
use crate::policy::job::tasks::{STAGE, Taken};
use crate::policy::ports::{PipelineEvent, PipelinePorts};
use crate::task::Turn;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    Done,
    Closed,
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) rest: Range<usize>,
    pub(crate) halt: Halt,
    pub(crate) now_ns: u64,
}

/// A slot that fails closes the job at once, so no worker claims another.
pub(crate) fn run_slots<E: PipelinePorts>(stay: &Stay<'_, E>, piece: &Piece, began_ns: u64) -> Ran {
    let (env, first) = (stay.env, piece.slots.start);
    let (mut rest, mut now_ns) = (piece.slots.clone(), began_ns);
    let halt = loop {
        if rest.is_empty() {
            break Halt::Done;
        }
        stay.close_if_orphaned(now_ns);
        if stay.state.claims.is_closed(env) {
            break Halt::Closed;
        }
        let is_first = rest.start == first;
        if !is_first && stay.is_over(now_ns) {
            break Halt::Over;
        }
        run_slot(stay, piece.stage, rest.start);
        rest.start += 1;
        let slot_ns = now_ns;
        now_ns = env.now_ns();
        stay.boundary(slot_ns, now_ns);
    };
    Ran { rest, halt, now_ns }
}

fn run_slot<E: PipelinePorts>(stay: &Stay<'_, E>, stage: usize, slot: usize) {
    let Visitor { worker, role, .. } = stay.visitor;
    let ran = calls::run(stay.body.stages.stage(stage), stage, slot, &stay.cx());
    stay.env.observe(PipelineEvent::SlotRan {
        job: stay.job,
        stage,
        slot,
        worker,
        role,
    });
    if let Err(failure) = ran {
        stay.fail(failure);
    }
}

pub(crate) fn run_turn<E: PipelinePorts>(stay: &Stay<'_, E>, task: &mut Taken, began_ns: u64) -> (Turn, u64) {
    let (env, state) = (stay.env, stay.state);
    if task.cancelled || state.claims.is_closed(env) {
        return (Turn::Done, began_ns);
    }
    let Visitor { worker, role, .. } = stay.visitor;
    let paused = &mut task.paused;
    let ran = calls::turn(&mut *paused.task, task.number, &stay.cx(), &paused.waker);
    env.observe(PipelineEvent::SlotRan {
        job: stay.job,
        stage: STAGE,
        slot: task.number,
        worker,
        role,
    });
    state.count_slots(env, worker, 1);
    let turn = ran.unwrap_or_else(|failure| {
        stay.fail(failure);
        Turn::Done
    });
    let now_ns = env.now_ns();
    stay.boundary(began_ns, now_ns);
    (turn, now_ns)
}
