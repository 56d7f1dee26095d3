//! A job as the executor's table holds it: the user's data, and the state that outlives it.
//!
//! ```text
//!    table ──► JobBody ── the stages, the user's own data
//!    workers ──┘   │
//!                  └────► JobState: claims, ledger, service
//!    ticket, control ───────┘
//! ```
//!
//! The body is dropped when the job has ended, so a ticket does not keep the user's data alive.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::claim::Claims;
use super::handle::JobHandle;
use super::spec::{JobSpec, Terms};
use super::state::JobState;
use crate::output::JobOutput;
use crate::spans::JobSpans;
use crate::stage_graph::StageGraph;

pub struct JobBody<W, P> {
    pub(crate) table_name: Cow<'static, str>,
    terms: Option<Box<Terms>>,
    pub(crate) stages: StageGraph,
    pub(crate) output: Option<Arc<JobOutput>>,
    pub(crate) state: Arc<JobState<W, P>>,
    pub(crate) spans: JobSpans,
}

impl<W, P> JobBody<W, P> {
    /// `ledger` is an empty [`Ledger`](super::ledger::Ledger) in its place.
    pub fn new(spec: JobSpec, workers: usize, ledger: P, mut word: impl FnMut(usize) -> W) -> Self {
        let claims = Claims::new(spec.stages.counts(), &mut word);
        Self::resume(spec, claims, false, workers, ledger, word)
    }

    /// `begun` says that the first stages were started by hand.
    pub(crate) fn resume(
        spec: JobSpec,
        claims: Claims<W>,
        begun: bool,
        workers: usize,
        ledger: P,
        word: impl FnMut(usize) -> W,
    ) -> Self {
        let state = JobState::new(&spec, claims, begun, workers, ledger, word);
        Self {
            table_name: spec.table_name,
            terms: spec.terms,
            stages: spec.stages,
            output: spec.output,
            state: Arc::new(state),
            spans: JobSpans::default(),
        }
    }

    pub(crate) fn into_parts(self) -> (JobSpec, Claims<W>, bool) {
        let state = Arc::into_inner(self.state).expect("a job that is not submitted has one owner");
        let spec = JobSpec {
            table_name: self.table_name,
            id: *state.id(),
            cost: state.stated_cost(),
            terms: self.terms,
            stages: self.stages,
            output: self.output,
        };
        (spec, state.claims, state.begun)
    }

    pub fn spec(&self) -> JobSpec {
        let state = &self.state;
        JobSpec {
            table_name: self.table_name.clone(),
            id: *state.id(),
            cost: state.stated_cost(),
            terms: self.terms.clone(),
            stages: self.stages.clone(),
            output: self.output.clone(),
        }
    }

    pub fn stages(&self) -> &StageGraph {
        &self.stages
    }

    pub fn state(&self) -> &Arc<JobState<W, P>> {
        &self.state
    }

    pub(crate) fn put_inside(&mut self, outer: &Arc<JobState<W, P>>) {
        self.state_mut().put_inside(Arc::clone(outer));
    }

    /// Returns `false` if the place holds a later job.
    pub(crate) fn is(&self, job: JobHandle) -> bool {
        self.state.seq() == job.seq
    }

    pub(crate) fn handle(&self, index: usize) -> JobHandle {
        JobHandle {
            rank: self.state.cost(),
            seq: self.state.seq(),
            index,
        }
    }

    pub(crate) fn enrol(
        &mut self,
        seq: usize,
        slots: usize,
        spares: usize,
        now_ns: u64,
        word: impl Fn(usize) -> W,
    ) {
        let is_solo = slots <= 1 && self.stages.len() == 1 && !self.state.begun && !self.state.grows;
        let deadline = self.terms.as_ref().and_then(|terms| terms.deadline);
        let state = self.state_mut();
        state.enrol(seq, slots, now_ns, deadline);
        if !is_solo {
            state.count_slots_apart(spares, word);
        }
        self.spans = JobSpans::open(
            &self.table_name,
            self.stages.len(),
            self.state.id(),
            self.state.class().name(),
            self.state.cost(),
            seq,
        );
    }

    fn state_mut(&mut self) -> &mut JobState<W, P> {
        Arc::get_mut(&mut self.state).expect("a job that is not submitted has one owner")
    }
}

impl<W, P> fmt::Debug for JobBody<W, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBody")
            .field("spec", &self.spec())
            .finish_non_exhaustive()
    }
}
