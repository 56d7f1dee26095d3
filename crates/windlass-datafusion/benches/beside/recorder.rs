//! Records polls: the thread and time of each, and the query that spawned it.

use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};
use std::time::Instant;

use datafusion::common::runtime::JoinSetTracer;
use pools::Pools;
use windlass_datafusion::Windlass;

thread_local! {
    static QUERY: Cell<Option<usize>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) thread: ThreadId,
    pub(crate) query: usize,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Record>>);

#[derive(Default)]
struct Record {
    pieces: Vec<Piece>,
    last_drop: Option<Instant>,
}

pub(crate) struct Recorded<F> {
    future: F,
    query: usize,
    to: Recorder,
}

impl Recorder {
    pub(crate) fn install() -> anyhow::Result<Self> {
        let recorder = Self::default();
        // The engines' own pools use the hook too.
        Windlass::install_around(Pools::builder().cpu_threads(1).build()?, recorder.clone())?;
        Ok(recorder)
    }

    pub(crate) fn pieces(&self) -> Vec<Piece> {
        self.lock().pieces.clone()
    }

    pub(crate) fn last_drop(&self) -> Option<Instant> {
        self.lock().last_drop
    }

    pub(crate) fn forget(&self) {
        *self.lock() = Record::default();
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `query` is 0 for a short one, else the heavy client's number from 1.
    pub(crate) fn query<F: Future>(&self, query: usize, future: F) -> Recorded<Pin<Box<F>>> {
        Recorded {
            future: Box::pin(future),
            query,
            to: self.clone(),
        }
    }
}

impl<F: Future + Unpin> Future for Recorded<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let before = QUERY.replace(Some(self.query));
        let began = Instant::now();
        let polled = Pin::new(&mut self.future).poll(cx);
        let piece = Piece {
            thread: thread::current().id(),
            query: self.query,
            began,
            ended: Instant::now(),
        };
        QUERY.set(before);
        self.to.lock().pieces.push(piece);
        polled
    }
}

impl<F> Drop for Recorded<F> {
    fn drop(&mut self) {
        self.to.lock().last_drop = Some(Instant::now());
    }
}

type Spawned = Pin<Box<dyn Future<Output = Box<dyn Any + Send>> + Send>>;

impl JoinSetTracer for Recorder {
    fn trace_future(&self, future: Spawned) -> Spawned {
        match QUERY.get() {
            Some(query) => Box::pin(Recorded {
                future,
                query,
                to: self.clone(),
            }),
            None => future,
        }
    }

    fn trace_block(
        &self,
        block: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>,
    ) -> Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> {
        block
    }
}
