//! What `tracing` knows of a job: a span for the job, one for each stage, one for each claim.
//!
//! ```text
//!   job     id, table, class, cost, seq      from the submission until the last worker has left      INFO
//!   └─ stage   stage, name, slots            from its first claim until its last worker has left     INFO
//!      └─ claim   worker, role, first, slots     while a worker runs what it claimed at once         DEBUG
//! ```
//!
//! Whatever a slot emits is inside all three, on whichever thread it runs; so is what a stage's `finish` emits. The job's parent
//! is what the submitter was in. If nobody listens to the job's span, nothing of all this is made, and a claim asks one
//! pointer. A subscriber that panics loses what it was told, and disturbs no job.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::span::EnteredSpan;
use tracing::{Level, Span, debug_span, field, info_span};

use crate::policy::close::quietly_drop;
use crate::policy::visit::Visitor;
use crate::policy::{JobState, guard};
use crate::stage::Stage;

/// The spans of one job, if anybody listens. Its clones are the same spans.
#[derive(Clone, Default)]
pub struct JobSpans(Option<Arc<Open>>);

struct Open {
    job: Span,
    /// By stage, from its first claim, or from its start, until it is over.
    stages: Box<[Mutex<StageSpan>]>,
}

#[derive(Clone, Default)]
enum StageSpan {
    #[default]
    NotYet,
    Open(Span),
    Over,
}

/// A thread that is in a claim; until it is dropped.
#[must_use = "dropped at once, nothing is inside"]
pub(crate) struct Inside(Option<Box<(EnteredSpan, EnteredSpan)>>);

impl JobSpans {
    /// A job is let in, on this thread.
    pub(crate) fn open<W, P>(table_name: &str, stages: usize, state: &JobState<W, P>) -> Self {
        let mut spans = Self(None);
        if are_possible() {
            guard::quietly(|| spans = Self::opened(table_name, stages, state));
        }
        spans
    }

    fn opened<W, P>(table_name: &str, stages: usize, state: &JobState<W, P>) -> Self {
        let job = info_span!(
            "job",
            id = &**state.id(),
            table = table_name,
            class = state.class().name(),
            cost = state.cost(),
            seq = state.seq()
        );
        if job.is_disabled() {
            return Self(None);
        }
        let stages = (0..stages).map(|_| Mutex::default()).collect();
        Self(Some(Arc::new(Open { job, stages })))
    }

    /// The current thread is about to run `slots` of stage number `number`.
    #[inline]
    pub(crate) fn enter(
        &self,
        number: usize,
        stage: &dyn Stage,
        slots: Range<usize>,
        visitor: Visitor,
    ) -> Inside {
        let mut inside = None;
        if let Some(open) = &self.0 {
            guard::quietly(|| inside = Some(open.enter(number, stage, slots, visitor)));
        }
        Inside(inside)
    }

    /// Stage number `number` has started.
    pub(crate) fn stage_started(&self, number: usize, stage: &dyn Stage, slots: usize) {
        if let Some(open) = &self.0 {
            open.stage(number, stage).record("slots", slots);
        }
    }

    /// Stage number `number` is over, but for those who are in it.
    pub(crate) fn stage_over(&self, number: usize) {
        if let Some(open) = &self.0 {
            let over = open.change(number, |stage| std::mem::replace(stage, StageSpan::Over));
            // A subscriber may do anything when a span closes; not under the lock.
            drop(over);
        }
    }

    /// Emits something in the job's span.
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
        visitor: Visitor,
    ) -> Box<(EnteredSpan, EnteredSpan)> {
        let stage = self.stage(number, stage);
        let claim = debug_span!(
            parent: &stage,
            "claim",
            worker = visitor.worker,
            role = visitor.role.name(),
            first = slots.start,
            slots = slots.len()
        );
        let stage = stage.entered();
        Box::new((claim.entered(), stage))
    }

    /// The stage's span, new if it has none.
    fn stage(&self, number: usize, stage: &dyn Stage) -> Span {
        if let StageSpan::Open(span) = self.change(number, |stage| stage.clone()) {
            return span;
        }
        let name = guard::name(stage, number);
        let new = info_span!(parent: &self.job, "stage", stage = number, name, slots = field::Empty);
        self.change(number, |stage| match stage {
            // Somebody was first.
            StageSpan::Open(span) => span.clone(),
            StageSpan::NotYet => {
                *stage = StageSpan::Open(new.clone());
                new
            }
            StageSpan::Over => new,
        })
    }

    fn change<R>(&self, number: usize, change: impl FnOnce(&mut StageSpan) -> R) -> R {
        change(&mut self.stages[number].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        quietly_drop(std::mem::take(&mut self.stages));
        quietly_drop(std::mem::replace(&mut self.job, Span::none()));
    }
}

/// Whether anybody could listen to the spans of any job: one load.
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
