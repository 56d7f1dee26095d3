//! The `tracing` spans of a job.
//!
//! ```text
//!    job     id, table, class, cost, seq   from submission until the last worker has left     INFO
//!    └─ stage   stage, name, slots         from its first claim until its last worker left   INFO
//!       └─ claim   worker, role, first, slots   while a worker runs what it claimed at once  DEBUG
//! ```
//!
//! Events of a slot or of a stage's `finish` are inside all three. The job's parent is the
//! submitter's span. Without a subscriber no span is made.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use executor_threaded::lock;
use tracing::span::EnteredSpan;
use tracing::{Level, Span, debug_span, field, info_span};

use crate::job_id::JobId;
use crate::policy::guard::{self, quietly_drop};
use crate::stage::Stage;
use crate::step_cx::Role;

/// The spans of one job; clones are the same spans.
#[derive(Clone, Default)]
pub struct JobSpans(Option<Arc<Open>>);

struct Open {
    job: Span,
    stages: Box<[Mutex<StageSpan>]>,
}

#[derive(Clone, Default)]
enum StageSpan {
    #[default]
    NotYet,
    Open(Span),
    Over,
}

#[must_use = "dropped at once, nothing is inside"]
pub(crate) struct Inside(Option<Box<(EnteredSpan, EnteredSpan)>>);

impl JobSpans {
    pub(crate) fn open(table: &str, stages: usize, id: &JobId, class: &str, cost: u64, seq: usize) -> Self {
        let mut spans = Self(None);
        if are_possible() {
            guard::quietly(|| spans = Self::opened(table, stages, id, class, cost, seq));
        }
        spans
    }

    fn opened(table: &str, stages: usize, id: &JobId, class: &str, cost: u64, seq: usize) -> Self {
        let job = info_span!("job", id = &**id, table, class, cost, seq);
        if job.is_disabled() {
            return Self(None);
        }
        let stages = (0..stages).map(|_| Mutex::default()).collect();
        Self(Some(Arc::new(Open { job, stages })))
    }

    #[inline]
    pub(crate) fn enter(
        &self,
        number: usize,
        stage: &dyn Stage,
        slots: Range<usize>,
        (worker, role): (usize, Role),
    ) -> Inside {
        let mut inside = None;
        if let Some(open) = &self.0 {
            guard::quietly(|| inside = Some(open.enter(number, stage, slots, worker, role)));
        }
        Inside(inside)
    }

    pub(crate) fn stage_started(&self, number: usize, stage: &dyn Stage, slots: usize) {
        if let Some(open) = &self.0 {
            open.stage(number, stage).record("slots", slots);
        }
    }

    pub(crate) fn stage_over(&self, number: usize) {
        if let Some(open) = &self.0 {
            let over = open.change(number, |stage| std::mem::replace(stage, StageSpan::Over));
            // A subscriber may run any code when a span closes, so the drop is outside the lock.
            drop(over);
        }
    }

    pub(crate) fn in_job(&self, emit: impl FnOnce()) {
        match &self.0 {
            Some(open) => open.job.in_scope(emit),
            None => emit(),
        }
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        if let Some(inside) = self.0.take() {
            let (claim, stage) = *inside;
            quietly_drop(claim);
            quietly_drop(stage);
        }
    }
}

impl Open {
    #[cold]
    fn enter(
        &self,
        number: usize,
        stage: &dyn Stage,
        slots: Range<usize>,
        worker: usize,
        role: Role,
    ) -> Box<(EnteredSpan, EnteredSpan)> {
        let stage = self.stage(number, stage);
        let claim = debug_span!(
            parent: &stage,
            "claim",
            worker,
            role = role.name(),
            first = slots.start,
            slots = slots.len()
        );
        let stage = stage.entered();
        Box::new((claim.entered(), stage))
    }

    fn stage(&self, number: usize, stage: &dyn Stage) -> Span {
        if let StageSpan::Open(span) = self.change(number, |stage| stage.clone()) {
            return span;
        }
        let name = guard::name(stage, number);
        let new = info_span!(parent: &self.job, "stage", stage = number, name, slots = field::Empty);
        self.change(number, |stage| match stage {
            StageSpan::Open(span) => span.clone(),
            StageSpan::NotYet => {
                *stage = StageSpan::Open(new.clone());
                new
            }
            StageSpan::Over => new,
        })
    }

    fn change<R>(&self, number: usize, change: impl FnOnce(&mut StageSpan) -> R) -> R {
        change(&mut lock(&self.stages[number]))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        quietly_drop(std::mem::take(&mut self.stages));
        quietly_drop(std::mem::replace(&mut self.job, Span::none()));
    }
}

pub(crate) fn are_possible() -> bool {
    tracing::level_enabled!(Level::INFO)
}

impl fmt::Debug for JobSpans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobSpans")
            .field(&self.0.as_ref().map(|open| &open.job))
            .finish()
    }
}
