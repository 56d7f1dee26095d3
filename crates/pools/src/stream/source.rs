//! Where batches come from: a reader that blocks, or one that is awaited; and what they weigh.

use std::future::Future;
use std::pin::Pin;

/// What something takes of the memory that a stream may read ahead.
///
/// ```
/// use pools::stream::{Weigh, Weighed};
///
/// assert_eq!(vec![0_u8; 100].bytes(), 100);
/// // For a type that is somebody else's, as are the batches of most libraries:
/// let rows = Weighed { value: [1_u64, 2, 3], bytes: 24 };
/// assert_eq!(rows.bytes(), 24);
/// ```
pub trait Weigh {
    /// Its bytes. Nothing counts as one byte, so that the number of batches is bounded as well.
    fn bytes(&self) -> usize;
}

/// A value and what it weighs, for types that cannot weigh themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed<T> {
    /// The value.
    pub value: T,
    /// What it weighs.
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

/// A reader that may block, and that one thread at a time uses: a file, a cursor of a database.
///
/// Each call comes from a thread of the mixed pool that may block, not always from the same one. A closure that gives batches is a source.
pub trait BatchSource: Send + 'static {
    /// What it reads.
    type Batch: Weigh + Send + 'static;
    /// How it fails.
    type Error: Send + 'static;

    /// Reads the next batch; `None` at the end. It is not called again after the end, an error or a panic.
    ///
    /// While it blocks it cannot be interrupted: a stream that is closed meanwhile closes its source when this returns.
    ///
    /// # Errors
    ///
    /// Why there is none. It becomes the last item of the stream.
    fn next(&mut self) -> Result<Option<Self::Batch>, Self::Error>;

    /// What the next batch will weigh, if that is known before it is read, as from a file's footer. Without it the largest so far is expected.
    fn expected_bytes(&self) -> Option<usize> {
        None
    }

    /// Lets go of what it holds. It is called once, when nothing more will be read, and then the source is dropped.
    fn close(&mut self) {}
}

/// A reader that is awaited: an object store, a socket. A closure that gives futures of batches is one.
///
/// Its futures are polled on the mixed pool. When the stream is closed, the future that is awaited is dropped.
pub trait AsyncBatchSource: Send + 'static {
    /// What it reads.
    type Batch: Weigh + Send + 'static;
    /// How it fails.
    type Error: Send + 'static;

    /// Reads the next batch: as [`BatchSource::next`].
    fn next(&mut self) -> impl Future<Output = Result<Option<Self::Batch>, Self::Error>> + Send;

    /// As [`BatchSource::expected_bytes`].
    fn expected_bytes(&self) -> Option<usize> {
        None
    }

    /// As [`BatchSource::close`]. It may be called where futures are polled, so it must not block.
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

/// A source of either kind, whose type is forgotten.
pub(super) enum Source<B, E> {
    Blocking(Box<dyn Blocking<B, E>>),
    Async(Box<dyn Awaited<B, E>>),
}

/// A batch and what it counts as.
pub(super) type Counted<B> = (B, usize);

/// A [`BatchSource`] that weighs what it gives.
pub(super) trait Blocking<B, E>: Send {
    fn next(&mut self) -> Result<Option<Counted<B>>, E>;
    fn expected_bytes(&self) -> Option<usize>;
    fn close(&mut self);
}

/// A read that is under way.
pub(super) type Reading<'a, B, E> = Pin<Box<dyn Future<Output = Result<Option<Counted<B>>, E>> + Send + 'a>>;

/// An [`AsyncBatchSource`] that weighs what it gives.
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
