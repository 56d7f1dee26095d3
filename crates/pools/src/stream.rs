//! Streams whose source may block: one reader reads, the CPU pool computes the batches in parallel.
//!
//! ```text
//!   BatchSource ──► read on the mixed pool ──► ready, within a bound ──► next().await, next_blocking(), for
//!                                                                   └──► for_each_slice: slices on the CPU pool
//! ```
//!
//! The reader reads ahead up to a bound. Then it parks the source, which holds neither a thread nor
//! a task until there is room.
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
//! The bound counts bytes, by [`Weigh`]: of batches that were read and not taken, and of batches
//! whose slices the consumer has not awaited. A read needs room for
//! [`BatchSource::expected_bytes`], or else for the largest batch so far; an empty stream reads a
//! batch of any size. So the bytes are at most the bound, or one larger batch, plus what a batch
//! weighs more than expected.
//!
//! # How it ends
//!
//! A stream ends by its source's end, by an error (the last item), or by
//! [`close`](BatchStream::close) or a drop. Then the source is closed, and each
//! [`on_close`](BatchStream::on_close) call is made once, on the mixed pool: before a consumer gets
//! the end or the source's error, or when the source returns from a blocking call.
//! `crates/pools/src/stream/README.md` has the protocol and its proof.

mod channel;
mod error;
mod host;
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
use crate::thread::{refuse_async, refuse_cpu};
use channel::{Channel, OnClose, Stop};
use host::Host;
use reader::Shared;
use source::Source;

/// Batches of a source, read ahead of their consumer. The first error is the last item. A drop
/// closes the stream.
#[must_use = "dropping it closes it"]
pub struct BatchStream<B: Send + 'static, E: Send + 'static> {
    shared: Arc<Shared<B, E>>,
}

/// Closes and observes a stream from elsewhere.
pub struct StreamHandle<B: Send + 'static, E: Send + 'static> {
    shared: Arc<Shared<B, E>>,
}

impl<B: Send + 'static, E: Send + 'static> BatchStream<B, E> {
    /// Reads `source` up to `read_ahead_bytes` ahead, on blocking threads of `mixed`. In a CPU
    /// task, and after the pool's end, the only item is that error.
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

    /// As [`read`](Self::read), for a source that is awaited.
    ///
    /// ```
    /// use std::convert::Infallible;
    /// use pools::Pools;
    /// use pools::stream::BatchStream;
    ///
    /// let pools = Pools::builder().build()?;
    /// let mut left = 3;
    /// // Each call gives a future, as an object store's do.
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
            channel: Channel::new(read_ahead_bytes),
            host,
        });
        if let Err(wrong) = refuse_cpu(PoolKind::Mixed) {
            shared.stop(Stop::Failed(wrong.into()));
        }
        shared.read(source);
        Self { shared }
    }

    /// Returns the next batch; an error, which is the last item; or `None` at the end. A dropped
    /// future loses no batch. In a CPU task it closes the stream.
    pub async fn next(&mut self) -> Option<Result<B, StreamError<E>>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Polls for the [`next`](Self::next) batch, like `futures::Stream`.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<B, StreamError<E>>>> {
        self.poll_next_held(cx)
            .map(|item| item.map(|batch| batch.map(|(batch, _held)| batch)))
    }

    /// Blocks for the [`next`](Self::next) batch. In a CPU task and in async code it closes the
    /// stream.
    pub fn next_blocking(&mut self) -> Option<Result<B, StreamError<E>>> {
        if let Err(refused) = may_block("BatchStream::next_blocking") {
            return self.refuse(refused);
        }
        pollster::block_on(self.next())
    }

    /// Calls `call` once, on the mixed pool, when the source is closed. Its panic becomes the
    /// stream's error if there is no other.
    pub fn on_close(&self, call: impl FnOnce() + Send + 'static) {
        let call: OnClose = Box::new(call);
        self.shared.channel.on_close(call);
    }

    /// Drops ready batches, and closes the stream without waiting.
    pub fn close(&mut self) {
        self.shared.stop(Stop::Consumer);
    }

    /// Returns a handle that closes the stream.
    #[must_use]
    pub fn handle(&self) -> StreamHandle<B, E> {
        StreamHandle {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Returns the stream's state and counters.
    #[must_use]
    pub fn snapshot(&self) -> StreamSnapshot {
        self.shared.channel.snapshot()
    }

    /// As [`poll_next`](Self::poll_next); the batch counts until its [`Held`] is dropped. A
    /// consumer that holds one while it awaits the next may wait for ever.
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
        let item = self.shared.channel.poll_next(cx);
        item.map(|item| item.map(|batch| batch.map(|(batch, bytes)| (batch, self.hold(bytes)))))
    }

    fn hold(&self, bytes: usize) -> Held<B, E> {
        Held {
            shared: Arc::clone(&self.shared),
            bytes,
        }
    }

    fn refuse<T>(&mut self, error: StreamError<E>) -> Item<T, E> {
        self.shared.stop(Stop::Refused(error));
        let last = self
            .shared
            .channel
            .poll_next(&mut Context::from_waker(Waker::noop()));
        match last {
            Poll::Ready(Some(Err(error))) => Some(Err(error)),
            Poll::Ready(Some(Ok(_)) | None) | Poll::Pending => None,
        }
    }
}

/// Streams on a loom model's own threads, for `tests/loom`.
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
    /// Closes the stream: a consumer that has not had everything gets [`StreamError::Closed`].
    pub fn close(&self) {
        self.shared.stop(Stop::Refused(StreamError::Closed));
    }

    /// Returns the stream's state and counters.
    #[must_use]
    pub fn snapshot(&self) -> StreamSnapshot {
        self.shared.channel.snapshot()
    }
}

impl<B: Send + 'static, E: Send + 'static> Iterator for BatchStream<B, E> {
    type Item = Result<B, StreamError<E>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_blocking()
    }
}

impl<B: Send + 'static, E: Send + 'static> FusedIterator for BatchStream<B, E> {}

impl<B: Send + 'static, E: Send + 'static> Drop for BatchStream<B, E> {
    fn drop(&mut self) {
        self.close();
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

type Item<T, E> = Option<Result<T, StreamError<E>>>;

type Counting<B, E> = (B, Held<B, E>);

/// While this lives, the bytes of a [`BatchStream::poll_next_held`] count.
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

fn may_block<E>(call: &'static str) -> Result<(), StreamError<E>> {
    refuse_cpu(PoolKind::Mixed)?;
    Ok(refuse_async(call)?)
}
