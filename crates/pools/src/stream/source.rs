//! Sources of batches, and the weight of a batch.

use std::future::Future;
use std::pin::Pin;

/// The bytes that a batch takes of a stream's bound.
///
/// ```
/// use pools::stream::{Weigh, Weighed};
///
/// assert_eq!(vec![0_u8; 100].bytes(), 100);
/// // For foreign types, as most libraries' batches:
/// let rows = Weighed { value: [1_u64, 2, 3], bytes: 24 };
/// assert_eq!(rows.bytes(), 24);
/// ```
pub trait Weigh {
    /// Returns the bytes; 0 counts as 1, so that the number of batches is bounded.
    fn bytes(&self) -> usize;
}

/// Gives a foreign type a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed<T> {
    /// The value.
    pub value: T,
    /// Its weight, in bytes.
    pub bytes: usize,
}

impl<T> Weigh for Weighed<T> {
    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Weigh for Vec<u8> {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Weigh for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// A source that may block: a file, a cursor. A closure that returns batches is one.
pub trait BatchSource: Send + 'static {
    /// A batch.
    type Batch: Weigh + Send + 'static;
    /// An error.
    type Error: Send + 'static;

    /// Reads the next batch; `None` at the end. After the end, an error or a panic it is not called
    /// again. A close of the stream waits until this returns.
    ///
    /// # Errors
    ///
    /// It becomes the stream's last item.
    fn next(&mut self) -> Result<Option<Self::Batch>, Self::Error>;

    /// Returns the next batch's bytes, if known. Default: the largest batch so far.
    fn expected_bytes(&self) -> Option<usize> {
        None
    }

    /// Closes the source, once, after the last read and before the drop.
    fn close(&mut self) {}
}

/// An awaited source: an object store, a socket. A closure that returns futures of batches is one.
/// A close of the stream drops the future.
pub trait AsyncBatchSource: Send + 'static {
    /// A batch.
    type Batch: Weigh + Send + 'static;
    /// An error.
    type Error: Send + 'static;

    /// As [`BatchSource::next`].
    fn next(&mut self) -> impl Future<Output = Result<Option<Self::Batch>, Self::Error>> + Send;

    /// As [`BatchSource::expected_bytes`].
    fn expected_bytes(&self) -> Option<usize> {
        None
    }

    /// As [`BatchSource::close`]; it must not block, as it may run where futures are polled.
    fn close(&mut self) {}
}

impl<F, B, E> BatchSource for F
where
    F: FnMut() -> Result<Option<B>, E> + Send + 'static,
    B: Weigh + Send + 'static,
    E: Send + 'static,
{
    type Batch = B;
    type Error = E;

    fn next(&mut self) -> Result<Option<B>, E> {
        self()
    }
}

impl<F, R, B, E> AsyncBatchSource for F
where
    F: FnMut() -> R + Send + 'static,
    R: Future<Output = Result<Option<B>, E>> + Send,
    B: Weigh + Send + 'static,
    E: Send + 'static,
{
    type Batch = B;
    type Error = E;

    fn next(&mut self) -> impl Future<Output = Result<Option<B>, E>> + Send {
        self()
    }
}

pub(super) enum Source<B, E> {
    Blocking(Box<dyn Blocking<B, E>>),
    Async(Box<dyn Awaited<B, E>>),
}

pub(super) type Counted<B> = (B, usize);

pub(super) trait Blocking<B, E>: Send {
    fn next(&mut self) -> Result<Option<Counted<B>>, E>;
    fn expected_bytes(&self) -> Option<usize>;
    fn close(&mut self);
}

pub(super) type Reading<'a, B, E> = Pin<Box<dyn Future<Output = Result<Option<Counted<B>>, E>> + Send + 'a>>;

pub(super) trait Awaited<B, E>: Send {
    fn next(&mut self) -> Reading<'_, B, E>;
    fn expected_bytes(&self) -> Option<usize>;
    fn close(&mut self);
}

impl<S: BatchSource> Blocking<S::Batch, S::Error> for S {
    fn next(&mut self) -> Result<Option<Counted<S::Batch>>, S::Error> {
        Ok(BatchSource::next(self)?.map(counted))
    }

    fn expected_bytes(&self) -> Option<usize> {
        BatchSource::expected_bytes(self)
    }

    fn close(&mut self) {
        BatchSource::close(self);
    }
}

impl<S: AsyncBatchSource> Awaited<S::Batch, S::Error> for S {
    fn next(&mut self) -> Reading<'_, S::Batch, S::Error> {
        let next = AsyncBatchSource::next(self);
        Box::pin(async { Ok(next.await?.map(counted)) })
    }

    fn expected_bytes(&self) -> Option<usize> {
        AsyncBatchSource::expected_bytes(self)
    }

    fn close(&mut self) {
        AsyncBatchSource::close(self);
    }
}

impl<B, E> Source<B, E> {
    pub(super) fn expected_bytes(&self) -> Option<usize> {
        match self {
            Self::Blocking(source) => source.expected_bytes(),
            Self::Async(source) => source.expected_bytes(),
        }
    }

    pub(super) fn close(&mut self) {
        match self {
            Self::Blocking(source) => source.close(),
            Self::Async(source) => source.close(),
        }
    }
}

fn counted<B: Weigh>(batch: B) -> Counted<B> {
    let bytes = batch.bytes().max(1);
    (batch, bytes)
}
