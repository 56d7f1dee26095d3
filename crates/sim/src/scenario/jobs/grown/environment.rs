//! The environment of growing jobs: tasks wait for it, and it wakes them late.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use super::lock;
use crate::pipeline::{Ask, Asks};

#[derive(Clone, Default)]
pub(in super::super) struct Environment(Arc<Mutex<Requests>>);

#[derive(Default)]
struct Requests {
    waiting: VecDeque<Waker>,
    known: Vec<Waker>,
    submitters: usize,
    actor: Option<Waker>,
}

pub(in super::super) enum Next {
    Wakes(Waker),
    Ends,
}

impl Environment {
    pub(in super::super) fn new(submitters: usize) -> Self {
        Self(Arc::new(Mutex::new(Requests {
            submitters,
            ..Requests::default()
        })))
    }

    pub(super) fn ask(&self, waker: Waker, asks: &Asks) {
        let mut requests = lock(&self.0);
        requests.known.push(waker.clone());
        requests.waiting.push_back(waker);
        requests.rouse(asks);
    }

    pub(in super::super) fn submitter_ends(&self, asks: &Asks) {
        let mut requests = lock(&self.0);
        requests.submitters -= 1;
        if requests.submitters == 0 {
            requests.rouse(asks);
        }
    }

    /// `waker` is woken when there is a next act.
    pub(in super::super) fn next(&self, waker: &Waker) -> Option<Next> {
        let mut requests = lock(&self.0);
        match requests.waiting.pop_front() {
            Some(task) => Some(Next::Wakes(task)),
            None if requests.submitters == 0 => Some(Next::Ends),
            None => {
                requests.actor = Some(waker.clone());
                None
            }
        }
    }

    pub(in super::super) fn any(&self, below: impl FnOnce(usize) -> usize) -> Option<Waker> {
        let requests = lock(&self.0);
        let known = &requests.known;
        (!known.is_empty()).then(|| known[below(known.len())].clone())
    }
}

impl Requests {
    fn rouse(&mut self, asks: &Asks) {
        if let Some(actor) = self.actor.take() {
            asks.ask(Ask::Rouse(actor));
        }
    }
}
