//! A query's morsels on their way from where they lie: several requests under way, batches in the order of the slots.
//!
//! ```text
//!   slots ──► begun: charged, asked for ──► BatchStream, in bytes ──► arrived ──► windows
//!               │ as many requests at a time as there are permits        │
//!               └──► tasks and blocking calls of the mixed pool ─────────┘ waited for in order
//! ```
//!
//! What goes through the stream is reading that has begun, which weighs what it will bring. So the bound in bytes holds for what is under way and what is
//! there together, and is looked at before anything is asked for. A batch counts until it has arrived and is taken.
//!
//! Requests have permits, which come back as answers come, in whatever order. So the line to a store stays busy while the oldest answer is
//! late; how far the younger ones get ahead of it is bounded in bytes.
//!
//! A slot that cannot be read is the last one: nothing is begun behind it, and what was begun behind it is given up. Who closes gives up all that
//! is under way; a request is dropped at once, while a call that holds a thread up returns later, to nobody.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::ops::Range;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use columnar::{FetchFailed, ScanStage, SlotFetch};
use pipeline_exec::Stage;
use pools::stream::{AsyncBatchSource, BatchStream, Held, StreamError, Weigh};
use pools::{MixedError, MixedPool, MixedTask};

use crate::QueryError;
use crate::execution::OnClose;
use crate::windows::{Batches, Item};

/// Morsels are read together until they have so many bytes: what it costs to hand a batch over is spread.
const BATCH_BYTES: usize = 256 << 10;
/// Of the bytes that may be read ahead, a batch has one part in so many at most, unless a morsel has more.
const BATCHES_AHEAD: usize = 4;
/// Slots of a batch whose morsels need not be read.
const BATCH_SLOTS: usize = 64;

/// Shared by all that reads. Nobody locks it: a call need not be `Sync`, and what is shared must.
type UntilOver = Arc<Mutex<OnClose>>;

/// What is read of a scan's table ahead of its slots.
pub(crate) struct Reading {
    stream: BatchStream<Begun, QueryError>,
    permits: Arc<Permits>,
    /// Taken from the stream, and not arrived yet.
    arriving: Option<(Begun, Held<Begun, QueryError>)>,
    /// The last item was given.
    over: bool,
}

impl Reading {
    /// Reads the slots of `stage`, so many bytes ahead, with so many requests at a time. What is under way shares `until_over`: it is dropped when
    /// nobody reads any more.
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

    /// The last item.
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
        // A closed stream tells it behind what is ready; what is on the way may never come.
        if self.permits.poll_closed(cx).is_ready() {
            return self.end(Some(Err(StreamError::Closed)));
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
                    // The slot has the failure, and is the last.
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

    fn closer(&self) -> Box<dyn FnOnce() + Send> {
        let (stream, permits) = (self.stream.handle(), Arc::clone(&self.permits));
        Box::new(move || {
            permits.close();
            stream.close();
        })
    }
}

/// Slots whose morsels were read.
pub(crate) struct SlotRun {
    pub(crate) slots: Range<usize>,
    bytes: usize,
}

impl Weigh for SlotRun {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Slots whose morsels are being read. Dropped, they are given up.
struct Begun {
    slots: Range<usize>,
    bytes: usize,
    /// In the order of the slots. Each gives the slot that it failed at, if it did.
    parts: VecDeque<MixedTask<Result<(), usize>>>,
    /// The last slot has failed already.
    failed: bool,
}

/// How slots have arrived.
enum Arrived {
    Whole,
    /// Up to one that failed.
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

/// Begins to read for slot after slot.
struct SlotSource {
    stage: Arc<ScanStage>,
    next: usize,
    batch_bytes: usize,
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
        // Those that hold a thread up share one.
        let mut blocking = Vec::new();
        while self.next < slots && begun.slots.len() < BATCH_SLOTS && !begun.failed {
            if self.stage.is_enough_before(self.next) {
                break;
            }
            // What would make it too large begins the next one.
            let is_first = begun.slots.is_empty();
            if !is_first && begun.bytes + self.stage.bytes_to_fetch(self.next) > self.batch_bytes {
                break;
            }
            match self.stage.begin_fetch(self.next) {
                Ok(None) => {}
                Ok(Some(fetch)) => {
                    let bytes = fetch.bytes();
                    if fetch.is_awaited() {
                        self.begin_blocking(&mut begun, &mut blocking).await?;
                        let Some(permit) = self.permits.get(fetch.requests()).await else {
                            self.next = slots;
                            break;
                        };
                        let part = self
                            .mixed
                            .spawn(read_async(fetch, permit, Arc::clone(&self.until_over)));
                        begun.parts.push_back(part.map_err(ended)?);
                    } else {
                        blocking.push(fetch);
                    }
                    begun.bytes += bytes;
                }
                Err(FetchFailed) => begun.failed = true,
            }
            self.next += 1;
            begun.slots.end = self.next;
        }
        self.begin_blocking(&mut begun, &mut blocking).await?;
        if begun.failed {
            self.next = slots;
        }
        Ok((!begun.slots.is_empty()).then_some(begun))
    }

    /// No batch weighs more, so the bound is one.
    fn expected_bytes(&self) -> Option<usize> {
        let next = (self.next < self.stage.slots()).then(|| self.stage.bytes_to_fetch(self.next));
        next.map(|bytes| bytes.max(self.batch_bytes))
    }
}

impl SlotSource {
    /// Begins what has been gathered for a thread, which is the end of `begun` so far.
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
                begun.parts.push_back(part.map_err(ended)?);
            }
            // Nobody reads for these, so nobody may run them.
            None => {
                begun.slots.end = first;
                self.next = self.stage.slots();
            }
        }
        Ok(())
    }
}

/// Reads on this thread, which waits. Gives the slot that cannot be read.
fn read(fetches: Vec<SlotFetch>, permit: Permit, _until_over: UntilOver) -> Result<(), usize> {
    for fetch in fetches {
        let slot = fetch.slot();
        fetch.run().map_err(|FetchFailed| slot)?;
    }
    permit.succeeded();
    Ok(())
}

/// The same for one slot, awaited.
async fn read_async(fetch: SlotFetch, permit: Permit, _until_over: UntilOver) -> Result<(), usize> {
    let slot = fetch.slot();
    fetch.run_async().await.map_err(|FetchFailed| slot)?;
    permit.succeeded();
    Ok(())
}

fn ended(error: MixedError) -> QueryError {
    QueryError::Internal {
        message: error.to_string(),
    }
}

/// How many requests may be under way, and whether any should.
struct Permits {
    max: usize,
    state: Mutex<State>,
}

struct State {
    free: usize,
    /// Something failed: nothing behind it is needed, all before it has begun.
    failed: bool,
    closed: bool,
    /// Who waits for permits: one reader.
    reader: Option<Waker>,
    /// Who waits for answers.
    consumer: Option<Waker>,
}

impl Permits {
    fn new(max: usize) -> Self {
        let max = max.max(1);
        Self {
            max,
            state: Mutex::new(State {
                free: max,
                failed: false,
                closed: false,
                reader: None,
                consumer: None,
            }),
        }
    }

    /// So many, or all that there are; `None` when nothing more is to be begun.
    async fn get(self: &Arc<Self>, requests: usize) -> Option<Permit> {
        let requests = requests.clamp(1, self.max);
        poll_fn(|cx| {
            let mut state = self.lock();
            if state.failed || state.closed {
                return Poll::Ready(None);
            }
            if state.free < requests {
                state.reader = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.free -= requests;
            Poll::Ready(Some(Permit {
                permits: Arc::clone(self),
                requests,
                succeeded: false,
            }))
        })
        .await
    }

    fn poll_closed(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.closed {
            return Poll::Ready(());
        }
        state.consumer = Some(cx.waker().clone());
        Poll::Pending
    }

    fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let wakers = [state.reader.take(), state.consumer.take()];
        drop(state);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// What the lock guards is whole between any two statements.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Some requests that are under way. They have failed if nobody says otherwise.
struct Permit {
    permits: Arc<Permits>,
    requests: usize,
    succeeded: bool,
}

impl Permit {
    fn succeeded(mut self) {
        self.succeeded = true;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.permits.lock();
        state.free += self.requests;
        state.failed |= !self.succeeded;
        let reader = state.reader.take();
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}
