//! The party outside: tasks wait for it, and it wakes them late.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use super::lock;
use crate::pipeline::{Ask, Asks};

/// A party outside that wakes tasks late, on behalf of all jobs of a run.
#[derive(Clone, Default)]
pub(in super::super) struct Outside(Arc<Mutex<Requests>>);

#[derive(Default)]
struct Requests {
    waiting: VecDeque<Waker>,
    /// Every task that has ever waited.
    known: Vec<Waker>,
    /// Submitters that may open a job, or wait for one.
    submitters: usize,
    /// Of the party itself, while it waits.
    party: Option<Waker>,
}

/// What the outside does next.
pub(in super::super) enum Next {
    Wakes(Waker),
    /// Nobody will ask any more.
    Ends,
}

impl Outside {
    /// Of a run with so many submitters.
    pub(in super::super) fn new(submitters: usize) -> Self {
        Self(Arc::new(Mutex::new(Requests {
            submitters,
            ..Requests::default()
        })))
    }

    /// A task waits.
    pub(super) fn ask(&self, waker: Waker, asks: &Asks) {
        let mut requests = lock(&self.0);
        requests.known.push(waker.clone());
        requests.waiting.push_back(waker);
        requests.rouse(asks);
    }

    /// A submitter is through.
    pub(in super::super) fn submitter_ends(&self, asks: &Asks) {
        let mut requests = lock(&self.0);
        requests.submitters -= 1;
        if requests.submitters == 0 {
            requests.rouse(asks);
        }
    }

    /// What the party does next, which `waker` wakes when there is something.
    pub(in super::super) fn next(&self, waker: &Waker) -> Option<Next> {
        let mut requests = lock(&self.0);
        match requests.waiting.pop_front() {
            Some(task) => Some(Next::Wakes(task)),
            None if requests.submitters == 0 => Some(Next::Ends),
            None => {
                requests.party = Some(waker.clone());
                None
            }
        }
    }

    /// Any task that has ever waited.
    pub(in super::super) fn any(&self, below: impl FnOnce(usize) -> usize) -> Option<Waker> {
        let requests = lock(&self.0);
        let known = &requests.known;
        (!known.is_empty()).then(|| known[below(known.len())].clone())
    }
}

impl Requests {
    fn rouse(&mut self, asks: &Asks) {
        if let Some(party) = self.party.take() {
            asks.ask(Ask::Rouse(party));
        }
    }
}
