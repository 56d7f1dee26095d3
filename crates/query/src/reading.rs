//! Reads a query's morsels ahead, with several requests under way, in the order of the slots.
//!
//! ```text
//!   slots ──► begun: reserved, requested ──► BatchStream, in bytes ──► arrived ──► windows
//!               │ a permit for each request                               │
//!               └──► tasks and blocking calls of the mixed pool ──────────┘ awaited in order
//! ```
//!
//! The stream weighs what begun reading will bring, so its bound in bytes covers requests under way
//! as well. Permits return in any order, so requests stay under way behind a late answer.
//!
//! A slot that cannot be read is the last one. Closing aborts requests under way; the answer of a
//! call that blocks a thread is ignored.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use columnar::{FetchFailed, ScanStage, SlotFetch};
use pipeline_exec::Stage;
use pools::stream::{AsyncBatchSource, BatchStream, Held, Weigh};
use pools::{MixedError, MixedPool, MixedTask};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::QueryError;
use crate::windows::{Batches, Item};

/// Keeps hand-overs fewer than morsels.
const BATCH_BYTES: usize = 256 << 10;
/// Batches that fit into the bytes that may be read ahead.
const BATCHES_AHEAD: usize = 4;
/// Slots of a batch: one that need not be read weighs nothing, so bytes alone do not bound it.
const BATCH_SLOTS: usize = 64;
/// Slots of the first batch: workers compute them while the reader looks whether more are at hand.
const FIRST_SLOTS: usize = 16;

/// Every request holds this until it has returned. The mutex only makes calls `Sync`.
type UntilOver = Arc<Mutex<OnClose>>;

pub(crate) struct Reading {
    stream: BatchStream<Begun, QueryError>,
    permits: Arc<Permits>,
    /// Taken from the stream, still under way.
    arriving: Option<(Begun, Held<Begun, QueryError>)>,
    over: bool,
}

impl Reading {
    /// `until_over` is dropped when the last request has returned.
    pub(crate) fn of(
        stage: Arc<ScanStage>,
        mixed: &MixedPool,
        bytes: usize,
        requests: usize,
        until_over: OnClose,
    ) -> Self {
        let permits = Arc::new(Permits::new(requests));
        let until_over = Arc::new(Mutex::new(until_over));
        let source = SlotSource {
            stage,
            next: 0,
            batch_bytes: BATCH_BYTES.min(bytes / BATCHES_AHEAD),
            batch_slots: FIRST_SLOTS,
            permits: Arc::clone(&permits),
            mixed: mixed.clone(),
            until_over,
        };
        Self {
            stream: BatchStream::from_async(mixed, source, bytes),
            permits,
            arriving: None,
            over: false,
        }
    }

    fn end<T>(&mut self, last: Option<T>) -> Poll<Option<T>> {
        self.close();
        Poll::Ready(last)
    }
}

impl Batches for Reading {
    type Batch = SlotRun;
    type Error = QueryError;

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Item<SlotRun, QueryError>> {
        if self.over {
            return Poll::Ready(None);
        }
        loop {
            if let Some((begun, _held)) = &mut self.arriving {
                return match begun.poll_arrived(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(Ok(Arrived::Whole)) => {
                        let run = begun.run();
                        self.arriving = None;
                        Poll::Ready(Some(Ok(run)))
                    }
                    Poll::Ready(Ok(Arrived::Failed)) => {
                        let run = begun.run();
                        self.end(Some(Ok(run)))
                    }
                    Poll::Ready(Err(error)) => self.end(Some(Err(error.into()))),
                };
            }
            match self.stream.poll_next_held(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(arriving))) => self.arriving = Some(arriving),
                Poll::Ready(Some(Err(error))) => return self.end(Some(Err(error))),
                Poll::Ready(None) => return self.end(None),
            }
        }
    }

    fn close(&mut self) {
        self.over = true;
        self.permits.close();
        self.stream.close();
        self.arriving = None;
    }
}

pub(crate) struct SlotRun {
    pub(crate) slots: Range<usize>,
    bytes: usize,
}

impl Weigh for SlotRun {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Dropping it aborts the requests.
struct Begun {
    slots: Range<usize>,
    bytes: usize,
    /// In the order of the slots. An error is the slot that failed.
    parts: VecDeque<MixedTask<Result<(), usize>>>,
    failed: bool,
}

enum Arrived {
    Whole,
    Failed,
}

impl Begun {
    fn poll_arrived(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arrived, MixedError>> {
        while let Some(part) = self.parts.front_mut() {
            match Pin::new(part).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(Ok(()))) => drop(self.parts.pop_front()),
                Poll::Ready(Ok(Err(slot))) => {
                    self.slots.end = slot + 1;
                    return Poll::Ready(Ok(Arrived::Failed));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(match self.failed {
            true => Arrived::Failed,
            false => Arrived::Whole,
        }))
    }

    fn run(&self) -> SlotRun {
        SlotRun {
            slots: self.slots.clone(),
            bytes: self.bytes,
        }
    }
}

impl Weigh for Begun {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.parts.iter().for_each(MixedTask::abort);
    }
}

struct SlotSource {
    stage: Arc<ScanStage>,
    next: usize,
    batch_bytes: usize,
    batch_slots: usize,
    permits: Arc<Permits>,
    mixed: MixedPool,
    until_over: UntilOver,
}

impl AsyncBatchSource for SlotSource {
    type Batch = Begun;
    type Error = QueryError;

    async fn next(&mut self) -> Result<Option<Begun>, QueryError> {
        let slots = self.stage.slots();
        let mut begun = Begun {
            slots: self.next..self.next,
            bytes: 0,
            parts: VecDeque::new(),
            failed: false,
        };
        let mut blocking = Vec::new();
        while self.next < slots && begun.slots.len() < self.batch_slots && !begun.failed {
            if self.stage.is_enough_before(self.next) {
                break;
            }
            if !self.stage.needs_no_fetch(self.next) {
                let is_first = begun.slots.is_empty();
                if !is_first && begun.bytes + self.stage.bytes_to_fetch(self.next) > self.batch_bytes {
                    break;
                }
                if !self.begin(&mut begun, &mut blocking).await? {
                    self.next = slots;
                    break;
                }
            }
            self.next += 1;
            begun.slots.end = self.next;
        }
        self.batch_slots = BATCH_SLOTS;
        self.begin_blocking(&mut begun, &mut blocking).await?;
        if begun.failed {
            self.next = slots;
        }
        Ok((!begun.slots.is_empty()).then_some(begun))
    }

    /// No batch weighs more, so the stream's bound holds.
    fn expected_bytes(&self) -> Option<usize> {
        let next = (self.next < self.stage.slots()).then(|| self.stage.bytes_to_fetch(self.next));
        next.map(|bytes| bytes.max(self.batch_bytes))
    }
}

impl SlotSource {
    /// Begins the fetch of the next slot. Returns whether there was a permit for it.
    async fn begin(&mut self, begun: &mut Begun, blocking: &mut Vec<SlotFetch>) -> Result<bool, QueryError> {
        let fetch = match self.stage.begin_fetch(self.next) {
            Ok(Some(fetch)) => fetch,
            Ok(None) => return Ok(true),
            Err(FetchFailed) => {
                begun.failed = true;
                return Ok(true);
            }
        };
        let bytes = fetch.bytes();
        if fetch.is_awaited() {
            self.begin_blocking(begun, blocking).await?;
            let Some(permit) = self.permits.get(fetch.requests()).await else {
                return Ok(false);
            };
            let until_over = Arc::clone(&self.until_over);
            begun
                .parts
                .push_back(self.mixed.spawn(read_async(fetch, permit, until_over))?);
        } else {
            blocking.push(fetch);
        }
        begun.bytes += bytes;
        Ok(true)
    }

    /// The slots of `fetches` are the last of `begun`.
    async fn begin_blocking(
        &mut self,
        begun: &mut Begun,
        fetches: &mut Vec<SlotFetch>,
    ) -> Result<(), QueryError> {
        let Some(first) = fetches.first().map(SlotFetch::slot) else {
            return Ok(());
        };
        let fetches = std::mem::take(fetches);
        match self.permits.get(1).await {
            Some(permit) => {
                let until_over = Arc::clone(&self.until_over);
                let part = self.mixed.run_blocking(move || read(fetches, permit, until_over));
                begun.parts.push_back(part?);
            }
            None => {
                begun.slots.end = first;
                self.next = self.stage.slots();
            }
        }
        Ok(())
    }
}

/// The error is the slot that cannot be read.
fn read(fetches: Vec<SlotFetch>, permit: Permit, _until_over: UntilOver) -> Result<(), usize> {
    for fetch in fetches {
        let slot = fetch.slot();
        fetch.run().map_err(|FetchFailed| slot)?;
    }
    permit.succeeded();
    Ok(())
}

async fn read_async(fetch: SlotFetch, permit: Permit, _until_over: UntilOver) -> Result<(), usize> {
    let slot = fetch.slot();
    fetch.run_async().await.map_err(|FetchFailed| slot)?;
    permit.succeeded();
    Ok(())
}

/// Calls for when the last request of a query has returned.
#[derive(Default)]
pub(crate) struct OnClose(Vec<Box<dyn FnOnce() + Send>>);

impl OnClose {
    pub(crate) fn push(&mut self, call: impl FnOnce() + Send + 'static) {
        self.0.push(Box::new(call));
    }
}

impl Drop for OnClose {
    fn drop(&mut self) {
        for call in self.0.drain(..) {
            call();
        }
    }
}

impl fmt::Debug for OnClose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnClose").field(&self.0.len()).finish()
    }
}

/// A failed request or the end of reading closes them.
struct Permits {
    max: usize,
    free: Arc<Semaphore>,
}

impl Permits {
    fn new(max: usize) -> Self {
        let max = max.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            max,
            free: Arc::new(Semaphore::new(max)),
        }
    }

    /// Waits for `requests` permits, at most all; `None` once they are closed.
    async fn get(&self, requests: usize) -> Option<Permit> {
        let requests = u32::try_from(requests.clamp(1, self.max)).unwrap_or(u32::MAX);
        let held = Arc::clone(&self.free).acquire_many_owned(requests).await.ok()?;
        Some(Permit {
            free: Arc::clone(&self.free),
            _held: held,
            succeeded: false,
        })
    }

    fn close(&self) {
        self.free.close();
    }
}

/// A drop before [`succeeded`](Self::succeeded) counts as a failed request.
struct Permit {
    free: Arc<Semaphore>,
    _held: OwnedSemaphorePermit,
    succeeded: bool,
}

impl Permit {
    fn succeeded(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        // Earlier requests have begun, and no later one is needed.
        if !self.succeeded {
            self.free.close();
        }
    }
}
