//! What follows the last slot of a stage: its `finish`, and the stages that have waited for it.

use executor_core::ports::Memory;

use super::claim::Claims;
use super::guard;
use super::ledger::Failure;
use crate::stage_graph::StageGraph;
use crate::step_cx::StepCx;

/// Finishes `stage`, and starts each stage that has waited for it last; for the last finisher, who says that it is
/// [`finished`](Claims::finished) afterwards. `started` hears of each stage that has started, and of its slots, before anybody can have
/// done anything else; `before_start` is called when what a stage does is done, and nothing has started because of it.
///
/// # Errors
///
/// How `finish` failed, or the `slots` of a stage behind it.
pub(crate) fn finish<M: Memory>(
    mem: &M,
    claims: &Claims<M::Word>,
    stages: &StageGraph,
    stage: usize,
    cx: &StepCx<'_>,
    before_start: impl Fn(),
    mut started: impl FnMut(usize, usize),
) -> Result<(), Failure> {
    if claims.is_closed(mem) {
        return Ok(());
    }
    let finished = guard::finish(stages.stage(stage), stage, cx);
    before_start();
    finished?;
    for &next in stages.followers(stage) {
        if !claims.arrive(mem, next) {
            continue;
        }
        let slots = guard::slots(stages.stage(next), next);
        before_start();
        let slots = slots?;
        if claims.start(mem, next, slots) {
            started(next, slots);
        }
    }
    Ok(())
}

/// Asks the stages that come after none for their slots, and starts them, before anybody else knows the job. Gives their slots in all.
///
/// # Errors
///
/// How `slots` failed.
pub(crate) fn begin<M: Memory>(
    mem: &M,
    claims: &Claims<M::Word>,
    stages: &StageGraph,
) -> Result<usize, Failure> {
    let mut total = 0;
    for (run, stage) in stages.first().enumerate() {
        let slots = guard::slots(stages.stage(stage), stage)?;
        claims.begin(mem, run, stage, slots);
        total += slots;
    }
    Ok(total)
}
