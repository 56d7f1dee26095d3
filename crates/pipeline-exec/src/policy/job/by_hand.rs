//! Inline execution: the slots of a job run one after another on the caller's thread.
//!
//! For [`Job::get_next`](crate::Job::get_next), for [nested
//! jobs](mod@crate::policy::executor::nest) that the executor does not admit, and for jobs of a
//! [detached](crate::StepCx::detached) slot.

use std::time::Duration;

use executor_core::ports::Memory;

use super::claim::{Claim, Claims, Piece};
use super::ledger::Failure;
use super::numbers::{lent_number, place_of};
use super::spec::JobSpec;
use super::{calls, finish};
use crate::error::{JobError, JobErrorKind};
use crate::output::JobOutput;
use crate::report::{JobEnd, JobReport};
use crate::stage_graph::StageGraph;
use crate::step_cx::{StepCx, Watch};

#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    pub(crate) stages: &'a StageGraph,
    pub(crate) output: Option<&'a JobOutput>,
}

/// Runs the next free slot, and what follows it. A failure closes the job.
pub(crate) fn next<M: Memory>(
    mem: &M,
    claims: &Claims<M::Word>,
    work: Work<'_>,
    cx: &StepCx<'_>,
) -> Option<Result<usize, Failure>> {
    loop {
        let Claim::Slots { piece, .. } = claims.claim(mem, |_stage, _left| 1) else {
            return None;
        };
        let Piece { stage, slots } = piece;
        let ran = slots
            .clone()
            .try_for_each(|slot| calls::run(work.stages.stage(stage), stage, slot, cx));
        let mut ran = ran.inspect_err(|_| abandon_rest(mem, claims));
        if claims.account(mem, stage, slots.len()) {
            let finished = finish::finish(mem, claims, work.stages, stage, cx, || {}, |_, _| {});
            // A failure closed the job, so `finish` did nothing.
            ran = ran.and(finished.inspect_err(|_| abandon_rest(mem, claims)));
            if claims.finished(mem) && ran.is_ok() && !claims.is_closed(mem) {
                let made = work
                    .output
                    .map_or(Ok(()), |output| calls::output(output, work.stages.len(), cx));
                ran = made.inspect_err(|_| abandon_rest(mem, claims));
            }
        }
        match (ran, slots.is_empty()) {
            (Err(failure), _) => return Some(Err(failure)),
            (Ok(()), false) => return Some(Ok(slots.start)),
            // A stage without slots was finished; another stage may follow.
            (Ok(()), true) => {}
        }
    }
}

/// Closes the claims, so no further slot is claimed.
pub(crate) fn abandon_rest<M: Memory>(mem: &M, claims: &Claims<M::Word>) {
    if let Some(left) = claims.close(mem) {
        claims.give_up(mem, &left.stages);
    }
}

/// Runs a whole job, until it or the outer job ends, or its deadline passes. It has no ledger and no
/// ticket: the end is returned.
pub(crate) fn run<M: Memory>(
    mem: &M,
    word: impl FnMut(usize) -> M::Word,
    now_ns: impl Fn() -> u64,
    workers: usize,
    spec: &JobSpec,
    outer: &StepCx<'_>,
) -> JobEnd {
    let claims = Claims::new(spec.stages.counts(), word);
    let began_ns = now_ns();
    let deadline = spec.terms.as_ref().and_then(|terms| terms.deadline);
    let is_past_deadline = || {
        let ns = now_ns().saturating_sub(began_ns);
        deadline.is_some_and(|deadline| Duration::from_nanos(ns) >= deadline)
    };
    let watch = Inside {
        outer,
        is_closed: &|| claims.is_closed(mem) || is_past_deadline(),
    };
    let cx = outer.inside(&spec.id, &watch);
    let work = Work {
        stages: &spec.stages,
        output: spec.output.as_deref(),
    };
    finish::begin(mem, &claims, &spec.stages).map_err(Failure::into_error)?;
    let mut slots = 0;
    loop {
        if outer.is_cancelled() {
            return Err(JobError::plain(JobErrorKind::Cancelled));
        }
        if is_past_deadline() {
            return Err(JobError::plain(JobErrorKind::DeadlineExceeded));
        }
        match next(mem, &claims, work, &cx) {
            Some(ran) => ran.map_err(Failure::into_error)?,
            None => break,
        };
        slots += 1;
    }
    let mut slots_per_worker = vec![0; lent_number(workers) + 1];
    slots_per_worker[place_of(outer.worker_id(), workers)] = slots;
    Ok(JobReport {
        output: (),
        id: spec.id,
        slots,
        wait: Duration::ZERO,
        run: Duration::from_nanos(now_ns().saturating_sub(began_ns)),
        slots_per_worker,
    })
}

struct Inside<'a> {
    outer: &'a StepCx<'a>,
    is_closed: &'a dyn Fn() -> bool,
}

impl Watch for Inside<'_> {
    fn is_cancelled(&self) -> bool {
        (self.is_closed)() || self.outer.is_cancelled()
    }

    fn should_yield(&self) -> bool {
        self.outer.should_yield()
    }
}
