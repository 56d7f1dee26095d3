//! The steps of a stage's last finisher.

use executor_core::ports::Memory;

use super::calls;
use super::claim::Claims;
use super::ledger::Failure;
use crate::stage_graph::StageGraph;
use crate::step_cx::StepCx;

/// The caller is the last finisher, and calls [`Claims::finished`] afterwards. `after_call` runs
/// after each call of `finish` or `slots`, failed or not; `started` for each stage that starts.
pub(crate) fn finish<M: Memory>(
    mem: &M,
    claims: &Claims<M::Word>,
    stages: &StageGraph,
    stage: usize,
    cx: &StepCx<'_>,
    after_call: impl Fn(),
    mut started: impl FnMut(usize, usize),
) -> Result<(), Failure> {
    if claims.is_closed(mem) {
        return Ok(());
    }
    let finished = calls::finish(stages.stage(stage), stage, cx);
    after_call();
    finished?;
    for &next in stages.followers(stage) {
        if !claims.arrive(mem, next) {
            continue;
        }
        let slots = calls::slots(stages.stage(next), next);
        after_call();
        let slots = slots?;
        if claims.start(mem, next, slots) {
            started(next, slots);
        }
    }
    Ok(())
}

pub(crate) fn begin<M: Memory>(
    mem: &M,
    claims: &Claims<M::Word>,
    stages: &StageGraph,
) -> Result<usize, Failure> {
    let mut total = 0;
    for (run, stage) in stages.first().enumerate() {
        let slots = calls::slots(stages.stage(stage), stage)?;
        claims.begin(mem, run, stage, slots);
        total += slots;
    }
    Ok(total)
}
