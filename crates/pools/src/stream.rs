//! Streams whose source may block: a reader that is single-threaded by nature, whose batches are computed in parallel.
//!
//! ```text
//!   BatchSource ──► read on the mixed pool ──► ready, within a bound ──► next().await, next_blocking(), for
//!                                                                   └──► for_each_slice: slices on the CPU pool
//! ```
//!
//! One reader reads ahead of the consumer until the bound is reached. Then the source rests with the stream, and neither a thread nor a task is
//! held; the consumer who makes room has it read on.
//!
//! ```
//! use std::convert::Infallible;
//! use pools::Pools;
//! use pools::stream::{BatchStream, Weighed};
//!
//! let pools = Pools::builder().cpu_threads(2).build()?;
//! let mut numbers = 0..10_u64;
//! // May block: a file, a cursor. Here it counts.
//! let source = move || {
//!     Ok::<_, Infallible>(numbers.next().map(|n| Weighed { value: vec![n; 1_000], bytes: 8_000 }))
//! };
//! let stream = BatchStream::read(&pools.mixed(), source, 32_000);
//! let sum = stream.fold_slices_blocking(
//!     &pools.cpu(),
//!     // Each batch is cut,
//!     |batch| batch.value.chunks(250).map(<[u64]>::to_vec).collect(),
//!     // each slice computed beside the others, while the next batches are read,
//!     |slice, _cx| Ok(slice.iter().sum::<u64>()),
//!     // and the values come in order.
//!     0,
//!     |sum, part| sum + part,
//! )?;
//! assert_eq!(sum, 45_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What the bound bounds
//!
//! The bytes, as [`Weigh`] says them, of batches that were read and not taken, and of those whose slices are not done. A batch that
//! [`next`](BatchStream::next) has given is the consumer's own affair; one of [`poll_next_held`](BatchStream::poll_next_held) counts as long as he says. The batch that is being read is counted once its weight is known, and room is looked for beforehand: for
//! what [`BatchSource::expected_bytes`] says, or else for the largest batch so far. With nothing held a batch is read however large it is.
//! So as long as batches weigh no more than expected, what is held is at most the bound, or one batch that is larger than it, alone. One that
//! weighs more than expected exceeds the bound by at most what it weighs more.
//!
//! # How it ends
//!
//! By its end; by an error, which is the last item; by [`close`](BatchStream::close) or a drop. Each time the source is closed, once, on the mixed pool, and
//! then whoever asked for it by [`on_close`](BatchStream::on_close) is told, once. Who has been given the end or the source's error knows that
//! this has been done. After a close, or a shutdown of the pools, it is done when the source returns from what it is doing: it may block.
//!
//! `crates/pools/src/stream/README.md` has the protocol between the reader and the consumer, and why neither misses the other.

mod error;
mod host;
mod passage;
mod reader;
mod slices;
mod snapshot;
mod source;
mod sync;

use std::fmt;
use std::future::poll_fn;
use std::iter::FusedIterator;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub use error::StreamError;
pub use snapshot::StreamSnapshot;
pub use source::{AsyncBatchSource, BatchSource, Weigh, Weighed};

use crate::error::PoolKind;
use crate::mixed::MixedPool;
use crate::mutant;
use crate::thread::{refuse_async, refuse_cpu};
use host::Host;
use passage::{OnClose, Passage, Stop};
use reader::Shared;
use source::Source;

/// Batches of a source that is read ahead of whoever takes them. See the [module](self).
///
/// It can be awaited and iterated; `stream.next()` is the future, a `for` loop blocks. The first error is the last item. Dropping it closes it.
#[must_use = "dropping it closes it"]
pub struct BatchStream<B: Send + 'static, E: Send + 'static> {
    shared: Arc<Shared<B, E>>,
}

/// Closes a stream from elsewhere, and looks into it. A clone is of the same stream.
pub struct StreamHandle<B: Send + 'static, E: Send + 'static> {
    shared: Arc<Shared<B, E>>,
}

impl<B: Send + 'static, E: Send + 'static> BatchStream<B, E> {
    /// Starts reading `source` on threads of `mixed` that may block, so many bytes ahead.
    ///
    /// In a CPU task, and after the end of the pool, the stream's only item is an error that says so.
    ///
    /// ```
    /// use pools::Pools;
    /// use pools::stream::BatchStream;
    ///
    /// let pools = Pools::builder().build()?;
    /// let mut lines = std::io::Cursor::new("one\ntwo\n");
    /// let source = move || {
    ///     let mut line = String::new();
    ///     std::io::BufRead::read_line(&mut lines, &mut line).map(|bytes| (bytes > 0).then_some(line))
    /// };
    /// let stream = BatchStream::read(&pools.mixed(), source, 1 << 20);
    /// stream.on_close(|| println!("the file is closed"));
    /// let lines: Vec<String> = stream.collect::<Result<_, _>>()?;
    /// assert_eq!(lines, ["one\n", "two\n"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read<S>(mixed: &MixedPool, source: S, read_ahead_bytes: usize) -> Self
    where
        S: BatchSource<Batch = B, Error = E>,
    {
        let source = Source::Blocking(Box::new(source));
        Self::start(Box::new(mixed.clone()), source, read_ahead_bytes)
    }

    /// The same for a source that is awaited, on an async task of `mixed`.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use pools::Pools;
    /// use pools::stream::BatchStream;
    ///
    /// let pools = Pools::builder().build()?;
    /// let mut left = 3;
    /// // As an object store does it: each call gives a future.
    /// let source = move || {
    ///     left -= 1;
    ///     async move { Ok::<_, Infallible>((left > 0).then(|| vec![0_u8; left])) }
    /// };
    /// let mut stream = BatchStream::from_async(&pools.mixed(), source, 1 << 20);
    /// let bytes = pools.mixed().block_on(async move {
    ///     let mut bytes = 0;
    ///     while let Some(batch) = stream.next().await {
    ///         bytes += batch?.len();
    ///     }
    ///     Ok::<_, pools::stream::StreamError<Infallible>>(bytes)
    /// })??;
    /// assert_eq!(bytes, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_async<S>(mixed: &MixedPool, source: S, read_ahead_bytes: usize) -> Self
    where
        S: AsyncBatchSource<Batch = B, Error = E>,
    {
        let source = Source::Async(Box::new(source));
        Self::start(Box::new(mixed.clone()), source, read_ahead_bytes)
    }

    fn start(host: Box<dyn Host>, source: Source<B, E>, read_ahead_bytes: usize) -> Self {
        let shared = Arc::new(Shared {
            passage: Passage::new(read_ahead_bytes),
            host,
        });
        if let Err(wrong) = refuse_cpu(PoolKind::Mixed) {
            shared.stop(Stop::Failed(wrong.into()));
        }
        // One that was stopped closes its source.
        shared.read(source);
        Self { shared }
    }

    /// The next batch, as soon as it is there; an error, which is the last item; `None` after it and at the end.
    ///
    /// Dropping the future loses nothing.
    ///
    /// In a CPU task it gives [`StreamError::WrongPool`], and the stream is closed.
    pub async fn next(&mut self) -> Option<Result<B, StreamError<E>>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same to poll, as `futures::Stream` has it.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<B, StreamError<E>>>> {
        // Taken, a batch counts no more.
        self.poll_next_held(cx)
            .map(|item| item.map(|batch| batch.map(|(batch, _held)| batch)))
    }

    /// The same for a thread that may block, and waits.
    ///
    /// In a CPU task it gives [`StreamError::WrongPool`], in async code [`StreamError::InAsync`], and the stream is closed: an error is the
    /// last item.
    pub fn next_blocking(&mut self) -> Option<Result<B, StreamError<E>>> {
        if let Err(refused) = may_block("BatchStream::next_blocking") {
            return self.refuse(refused);
        }
        pollster::block_on(self.next())
    }

    /// Has `call` called once, when the source has been closed, whatever happens; here and now, if it has been.
    ///
    /// It is called by whoever closed the source: on the mixed pool. If it panics, that is the stream's error, unless it has another.
    pub fn on_close(&self, call: impl FnOnce() + Send + 'static) {
        let call: OnClose = Box::new(call);
        self.shared.passage.on_close(call);
    }

    /// Wants nothing more: there are no more items, what was read ahead is dropped, and the source will be closed. It does not wait for that.
    /// A second close changes nothing.
    pub fn close(&mut self) {
        self.shared.stop(Stop::Consumer);
    }

    /// To close it from elsewhere.
    #[must_use]
    pub fn handle(&self) -> StreamHandle<B, E> {
        StreamHandle {
            shared: Arc::clone(&self.shared),
        }
    }

    /// What is in it now, and what it has counted.
    #[must_use]
    pub fn snapshot(&self) -> StreamSnapshot {
        self.shared.passage.snapshot()
    }

    /// The same for a consumer who is not done with the batch yet: it counts, as if nobody had taken it, until what comes with it is dropped.
    /// Who waits for the next one meanwhile may wait for himself to make room.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use std::task::{Context, Poll, Waker};
    /// use pools::Pools;
    /// use pools::stream::BatchStream;
    ///
    /// let pools = Pools::builder().build()?;
    /// let mut left = 2;
    /// let source = move || {
    ///     left -= 1;
    ///     Ok::<_, Infallible>((left >= 0).then(|| vec![0_u8; 100]))
    /// };
    /// let mut stream = BatchStream::read(&pools.mixed(), source, 100);
    /// let (batch, held) = loop {
    ///     if let Poll::Ready(item) = stream.poll_next_held(&mut Context::from_waker(Waker::noop())) {
    ///         break item.expect("two batches")?;
    ///     }
    /// };
    /// assert_eq!((batch.len(), stream.snapshot().bytes), (100, 100));
    /// // Now there is room for the second one.
    /// drop(held);
    /// assert_eq!(stream.next_blocking().expect("the second")?.len(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn poll_next_held(&mut self, cx: &mut Context<'_>) -> Poll<Item<Counting<B, E>, E>> {
        if let Err(wrong) = refuse_cpu(PoolKind::Mixed) {
            return Poll::Ready(self.refuse(wrong.into()));
        }
        let item = self.shared.passage.poll_next(cx);
        item.map(|item| item.map(|batch| batch.map(|(batch, bytes)| (batch, self.hold(bytes)))))
    }

    fn hold(&self, bytes: usize) -> Held<B, E> {
        Held {
            shared: Arc::clone(&self.shared),
            bytes,
        }
    }

    /// What a call gives that must not come from here: an error, if there was no last item before, and it is the last.
    fn refuse<T>(&mut self, error: StreamError<E>) -> Item<T, E> {
        self.shared.stop(Stop::Refused(error));
        let last = self
            .shared
            .passage
            .poll_next(&mut Context::from_waker(Waker::noop()));
        match last {
            Poll::Ready(Some(Err(error))) => Some(Err(error)),
            // Nothing is ready any more.
            Poll::Ready(Some(Ok(_)) | None) | Poll::Pending => None,
        }
    }
}

/// What the models of `tests/loom` need: a stream on their own threads.
#[cfg(windlass_loom)]
pub mod model {
    pub use super::host::{Call, Host, Task};
    use super::{AsyncBatchSource, BatchSource, BatchStream, Source};

    /// [`BatchStream::read`] on `host`.
    pub fn read<S: BatchSource>(
        host: Box<dyn Host>,
        source: S,
        bytes: usize,
    ) -> BatchStream<S::Batch, S::Error> {
        BatchStream::start(host, Source::Blocking(Box::new(source)), bytes)
    }

    /// [`BatchStream::from_async`] on `host`.
    pub fn from_async<S: AsyncBatchSource>(
        host: Box<dyn Host>,
        source: S,
        bytes: usize,
    ) -> BatchStream<S::Batch, S::Error> {
        BatchStream::start(host, Source::Async(Box::new(source)), bytes)
    }
}

impl<B: Send + 'static, E: Send + 'static> StreamHandle<B, E> {
    /// Closes the stream: what was read ahead is dropped, and the source will be closed. If the consumer has not been given everything by
    /// then, he gets [`StreamError::Closed`], so that he does not take it for the end.
    pub fn close(&self) {
        self.shared.stop(Stop::Refused(StreamError::Closed));
    }

    /// What is in it now, and what it has counted.
    #[must_use]
    pub fn snapshot(&self) -> StreamSnapshot {
        self.shared.passage.snapshot()
    }
}

/// Blocks for each batch: [`next_blocking`](BatchStream::next_blocking).
impl<B: Send + 'static, E: Send + 'static> Iterator for BatchStream<B, E> {
    type Item = Result<B, StreamError<E>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_blocking()
    }
}

impl<B: Send + 'static, E: Send + 'static> FusedIterator for BatchStream<B, E> {}

impl<B: Send + 'static, E: Send + 'static> Drop for BatchStream<B, E> {
    fn drop(&mut self) {
        if !mutant::m92_drop_closes_nothing() {
            self.close();
        }
    }
}

impl<B: Send + 'static, E: Send + 'static> Clone for StreamHandle<B, E> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<B: Send + 'static, E: Send + 'static> fmt::Debug for BatchStream<B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchStream")
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}

impl<B: Send + 'static, E: Send + 'static> fmt::Debug for StreamHandle<B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamHandle")
            .field("snapshot", &self.snapshot())
            .finish_non_exhaustive()
    }
}

/// What a stream gives next; nothing at the end.
type Item<T, E> = Option<Result<T, StreamError<E>>>;

/// A batch that counts until what comes with it is dropped.
type Counting<B, E> = (B, Held<B, E>);

/// Bytes that a consumer holds: see [`BatchStream::poll_next_held`]. Dropped, they make room.
pub struct Held<B: Send + 'static, E: Send + 'static> {
    shared: Arc<Shared<B, E>>,
    bytes: usize,
}

impl<B: Send + 'static, E: Send + 'static> Drop for Held<B, E> {
    fn drop(&mut self) {
        self.shared.release(self.bytes);
    }
}

impl<B: Send + 'static, E: Send + 'static> fmt::Debug for Held<B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// Refuses a call that blocks where it must not.
fn may_block<E>(call: &'static str) -> Result<(), StreamError<E>> {
    refuse_cpu(PoolKind::Mixed)?;
    Ok(refuse_async(call)?)
}
