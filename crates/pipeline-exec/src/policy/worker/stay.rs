//! A worker's stay in a job: until when it lasts, and what its slots may ask.

use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

use crate::policy::board::allowance::Pays;
use crate::policy::board::ending::{close, enforce_deadline, fail};
use crate::policy::board::select::young_waits;
use crate::policy::job::handle::JobHandle;
use crate::policy::job::ledger::{CloseReason, Failure};
use crate::policy::job::nested;
use crate::policy::ports::{BodyOf, PipelinePorts, StateOf};
use crate::report::JobEnd;
use crate::step_cx::{Nest, Role, StepCx, Watch};

/// Nanoseconds of work that a claim aims at.
pub const CLAIM_NS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor {
    pub(crate) worker: usize,
    pub(crate) role: Role,
    pub(crate) now_ns: u64,
    pub(crate) until_ns: u64,
    /// A later count of arrivals makes it leave early; `None` if it stays.
    pub(crate) gives_way: Option<usize>,
    pub(crate) pays: Pays,
    pub(crate) single: bool,
}

pub(crate) struct Stay<'a, E: PipelinePorts> {
    pub(crate) env: &'a E,
    pub(crate) job: JobHandle,
    pub(crate) body: &'a Arc<BodyOf<E>>,
    pub(crate) state: &'a Arc<StateOf<E>>,
    pub(crate) visitor: Visitor,
    arrivals: Cell<Option<usize>>,
    gives_way: Cell<bool>,
    /// What the running slot or turn asks to be charged for.
    told_ns: Cell<Option<u64>>,
    /// Nanoseconds not to be charged; `None` if no slot or turn has set its charge.
    uncharged_ns: Cell<Option<u64>>,
}

impl<'a, E: PipelinePorts> Stay<'a, E> {
    pub(crate) fn new(env: &'a E, job: JobHandle, body: &'a Arc<BodyOf<E>>, visitor: Visitor) -> Self {
        Self {
            env,
            job,
            body,
            state: &body.state,
            visitor,
            arrivals: Cell::new(visitor.gives_way),
            gives_way: Cell::new(false),
            told_ns: Cell::new(None),
            uncharged_ns: Cell::new(None),
        }
    }

    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.visitor.until_ns || self.gives_way()
    }

    /// Stays `true`, so a slot that was told to yield does so to some effect.
    fn gives_way(&self) -> bool {
        if self.gives_way.get() {
            return true;
        }
        let Some(seen) = self.arrivals.get() else {
            return false;
        };
        let arrivals = self.env.shared().young_arrivals(self.env);
        if arrivals == seen {
            return false;
        }
        self.arrivals.set(Some(arrivals));
        self.gives_way.set(young_waits(self.env));
        self.gives_way.get()
    }

    pub(crate) fn width(&self, stage: usize, left: usize, now_ns: u64) -> usize {
        let Some(slot_ns) = self.state.claims.slot_ns(self.env, stage) else {
            return 1;
        };
        let time_ns = CLAIM_NS.min(self.visitor.until_ns.saturating_sub(now_ns));
        let fits = usize::try_from(time_ns / slot_ns).unwrap_or(usize::MAX);
        // Half of an equal share: claims get smaller towards the end.
        let workers = self.state.usable(self.env.shared().workers());
        fits.min(left / (2 * workers))
    }

    /// Closes a late job before the slot is accounted for: a slot that was told to stop may have
    /// left its work undone.
    #[inline]
    pub(crate) fn boundary(&self, began_ns: u64, now_ns: u64) {
        let stand_ins = &self.env.shared().stand_ins;
        stand_ins.begins(self.env, self.visitor.worker, now_ns);
        if let Some(told_ns) = self.told_ns.take() {
            let uncharged_ns = (now_ns - began_ns).saturating_sub(told_ns);
            let before_ns = self.uncharged_ns.get().unwrap_or(0);
            self.uncharged_ns.set(Some(before_ns + uncharged_ns));
        }
        enforce_deadline(self.env, self.state, self.job, now_ns);
    }

    pub(crate) fn charged_ns(&self, ns: u64) -> u64 {
        match self.uncharged_ns.get() {
            Some(uncharged_ns) => ns.saturating_sub(uncharged_ns),
            // A spare thread shares its core with the turn that it stands in for.
            None if self.visitor.role == Role::Spare => ns / 2,
            None => ns,
        }
    }

    pub(crate) fn fail(&self, failure: Failure) {
        // The slot may have failed because it was told to stop.
        self.enforce_deadline();
        fail(self.env, self.state, self.job, failure);
    }

    /// Reads the clock, if the job has a deadline at all.
    #[inline]
    pub(crate) fn enforce_deadline(&self) {
        let Self { env, job, state, .. } = *self;
        if state.deadline_ns.is_some() {
            enforce_deadline(env, state, job, env.now_ns());
        }
    }

    /// Step orphan of [`nest`](mod@crate::policy::executor::nest).
    #[inline]
    pub(crate) fn close_if_orphaned(&self, now_ns: u64) -> bool {
        let Self { env, job, state, .. } = *self;
        let is_orphaned = state.is_orphaned(env, || now_ns);
        if is_orphaned {
            close(env, state, job, CloseReason::Cancelled);
        }
        is_orphaned
    }

    pub(crate) fn cx(&self) -> StepCx<'_> {
        StepCx::new(
            self.visitor.worker,
            self.visitor.role,
            Some(self.state.id()),
            self,
        )
    }
}

impl<E: PipelinePorts> Watch for Stay<'_, E> {
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

impl<E: PipelinePorts> Nest for Stay<'_, E> {
    fn nest(&self, cx: &StepCx<'_>, job: &mut dyn Any) -> JobEnd {
        self.env.nest((self.state, self.job), cx, nested::taken(job))
    }
}
