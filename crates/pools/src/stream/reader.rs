//! Whoever has the source: reads it while there is room, and closes it when nothing more is to be read.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use tokio::task::coop::consume_budget;

use super::error::StreamError;
use super::host::Host;
use super::passage::{Admitted, Passage, Stop, Stopped, catch};
use super::source::{Awaited, Counted, Source};
use crate::mutant;

/// What a stream, its handles and its reader share.
pub(super) struct Shared<B, E> {
    pub(super) passage: Passage<B, E>,
    pub(super) host: Box<dyn Host>,
}

impl<B: Send + 'static, E: Send + 'static> Shared<B, E> {
    /// Has the source read until there is no room.
    pub(super) fn read(self: &Arc<Self>, source: Source<B, E>) {
        let blocking = matches!(source, Source::Blocking(_));
        let reader = Reader::new(self, source);
        if let Err(error) = self.host.check() {
            self.end_outside(reader, Some(error.into()));
        } else if blocking {
            let shared = Arc::clone(self);
            let tell = move || shared.stop(Stop::Failed(StreamError::PoolsEnded));
            self.host.call(Box::new(move || reader.read()), Box::new(tell));
        } else {
            self.host.task(Box::pin(reader.read_async()));
        }
    }

    /// Nothing more is to be read. A source that nobody has is closed.
    pub(super) fn stop(self: &Arc<Self>, why: Stop<E>) {
        let Stopped { source, _dropped } = self.passage.stop(why);
        if let Some(source) = source {
            let reader = Reader::new(self, source);
            self.host
                .call(Box::new(move || reader.close(None)), Box::new(|| ()));
        }
    }

    /// The consumer holds so many bytes less.
    pub(super) fn release(self: &Arc<Self>, bytes: usize) {
        if let Some(source) = self.passage.release(bytes) {
            self.read(source);
        }
    }

    fn end_outside(&self, reader: Reader<B, E>, end: Option<StreamError<E>>) {
        self.host.outside(Box::new(move || reader.close(end)));
    }
}

/// It has the source: rests it with the passage, or closes it, whatever happens.
pub(super) struct Reader<B: Send + 'static, E: Send + 'static> {
    shared: Arc<Shared<B, E>>,
    source: Option<Source<B, E>>,
}

/// How a read went: a batch, or how the stream ends.
type Read<B, E> = Result<Counted<B>, Option<StreamError<E>>>;

impl<B: Send + 'static, E: Send + 'static> Reader<B, E> {
    fn new(shared: &Arc<Shared<B, E>>, source: Source<B, E>) -> Self {
        Self {
            shared: Arc::clone(shared),
            source: Some(source),
        }
    }

    /// Reads a source that blocks.
    fn read(mut self) {
        let end = loop {
            match self.admit() {
                Ok(true) => {}
                Ok(false) => return,
                Err(end) => break end,
            }
            let Some(Source::Blocking(source)) = &mut self.source else {
                unreachable!("a source of this kind was admitted");
            };
            match catch(|| source.next()).map_or_else(|panicked| Err(Some(panicked)), read) {
                Ok((batch, bytes)) => self.shared.passage.deliver(batch, bytes),
                Err(end) => break end,
            }
        };
        self.close(end);
    }

    /// Reads a source that is awaited.
    async fn read_async(mut self) {
        let end = loop {
            match self.admit() {
                Ok(true) => {}
                Ok(false) => return,
                Err(end) => break end,
            }
            let Some(Source::Async(source)) = &mut self.source else {
                unreachable!("a source of this kind was admitted");
            };
            match read_or_stop(&self.shared, &mut **source).await {
                Ok((batch, bytes)) => self.shared.passage.deliver(batch, bytes),
                Err(end) => break end,
            }
        };
        self.close(end);
    }

    /// Whether to read, or else to go, since the source rests; or how the stream ends.
    fn admit(&mut self) -> Result<bool, Option<StreamError<E>>> {
        self.shared.host.check().map_err(|error| Some(error.into()))?;
        let Some(source) = &self.source else {
            return Ok(false);
        };
        let expected = catch(|| source.expected_bytes()).map_err(Some)?;
        let Some(source) = self.source.take() else {
            return Ok(false);
        };
        let (source, admitted) = match self.shared.passage.admit(source, expected) {
            Admitted::Read(source) => (source, Ok(true)),
            Admitted::Rest => return Ok(false),
            Admitted::Stop(source) => (source, Err(None)),
        };
        self.source = Some(source);
        admitted
    }

    /// Closes the source, and tells everybody.
    fn close(mut self, end: Option<StreamError<E>>) {
        let source = self.source.take();
        let passage = &self.shared.passage;
        if mutant::m101_end_before_the_close() {
            passage.finish(end);
            return close(source);
        }
        let closed = catch(move || close(source));
        passage.finish(end.or(closed.err()));
    }
}

impl<B: Send + 'static, E: Send + 'static> Drop for Reader<B, E> {
    /// With its source it is dropped by a pool that took its call and did not run it, or could not take it any more.
    fn drop(&mut self) {
        if let Some(source) = self.source.take()
            && !mutant::m93_dropped_reader_closes_nothing()
        {
            let reader = Self::new(&self.shared, source);
            self.shared.end_outside(reader, Some(StreamError::PoolsEnded));
        }
    }
}

/// Awaits the next batch until the stream is stopped.
async fn read_or_stop<B: Send + 'static, E: Send + 'static>(
    shared: &Shared<B, E>,
    source: &mut dyn Awaited<B, E>,
) -> Read<B, E> {
    // Who always has a batch ready lets the neighbours run as well.
    consume_budget().await;
    let mut reading = catch(|| source.next()).map_err(Some)?;
    let last = poll_fn(|cx| {
        if shared.passage.poll_stop(cx).is_ready() {
            return Poll::Ready(Err(None));
        }
        match catch(|| reading.as_mut().poll(cx)) {
            Ok(given) => given.map(read),
            Err(panicked) => Poll::Ready(Err(Some(panicked))),
        }
    })
    .await;
    catch(|| drop(reading)).map_err(Some)?;
    last
}

fn close<B, E>(source: Option<Source<B, E>>) {
    if let Some(mut source) = source {
        source.close();
    }
}

/// What a source gave.
fn read<B, E>(given: Result<Option<Counted<B>>, E>) -> Read<B, E> {
    match given {
        Ok(Some(batch)) => Ok(batch),
        Ok(None) => Err(None),
        Err(error) => Err(Some(StreamError::Source(error))),
    }
}
