//! Reads while there is room, parks the source when there is none, and closes it at the end.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use tokio::task::coop::consume_budget;

use super::channel::{Admitted, Channel, Stop, Stopped, catch};
use super::error::StreamError;
use super::host::Host;
use super::source::{Awaited, Counted, Source};

pub(super) struct Shared<B, E> {
    pub(super) channel: Channel<B, E>,
    pub(super) host: Box<dyn Host>,
}

impl<B: Send + 'static, E: Send + 'static> Shared<B, E> {
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

    pub(super) fn stop(self: &Arc<Self>, why: Stop<E>) {
        let Stopped { source, _dropped } = self.channel.stop(why);
        if let Some(source) = source {
            let reader = Reader::new(self, source);
            self.host
                .call(Box::new(move || reader.close(None)), Box::new(|| ()));
        }
    }

    pub(super) fn release(self: &Arc<Self>, bytes: usize) {
        if let Some(source) = self.channel.release(bytes) {
            self.read(source);
        }
    }

    fn end_outside(&self, reader: Reader<B, E>, end: Option<StreamError<E>>) {
        self.host.outside(Box::new(move || reader.close(end)));
    }
}

pub(super) struct Reader<B: Send + 'static, E: Send + 'static> {
    shared: Arc<Shared<B, E>>,
    source: Option<Source<B, E>>,
}

type Read<B, E> = Result<Counted<B>, Option<StreamError<E>>>;

impl<B: Send + 'static, E: Send + 'static> Reader<B, E> {
    fn new(shared: &Arc<Shared<B, E>>, source: Source<B, E>) -> Self {
        Self {
            shared: Arc::clone(shared),
            source: Some(source),
        }
    }

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
                Ok((batch, bytes)) => self.shared.channel.deliver(batch, bytes),
                Err(end) => break end,
            }
        };
        self.close(end);
    }

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
                Ok((batch, bytes)) => self.shared.channel.deliver(batch, bytes),
                Err(end) => break end,
            }
        };
        self.close(end);
    }

    /// The error is the stream's end.
    fn admit(&mut self) -> Result<bool, Option<StreamError<E>>> {
        self.shared.host.check().map_err(|error| Some(error.into()))?;
        let Some(source) = &self.source else {
            return Ok(false);
        };
        let expected = catch(|| source.expected_bytes()).map_err(Some)?;
        let Some(source) = self.source.take() else {
            return Ok(false);
        };
        let (source, admitted) = match self.shared.channel.admit(source, expected) {
            Admitted::Read(source) => (source, Ok(true)),
            Admitted::Park => return Ok(false),
            Admitted::Stop(source) => (source, Err(None)),
        };
        self.source = Some(source);
        admitted
    }

    fn close(mut self, end: Option<StreamError<E>>) {
        let source = self.source.take();
        let channel = &self.shared.channel;
        let closed = catch(move || close(source));
        channel.finish(end.or(closed.err()));
    }
}

impl<B: Send + 'static, E: Send + 'static> Drop for Reader<B, E> {
    /// Runs when a pool drops the reader's call instead of running it.
    fn drop(&mut self) {
        if let Some(source) = self.source.take() {
            let reader = Self::new(&self.shared, source);
            self.shared.end_outside(reader, Some(StreamError::PoolsEnded));
        }
    }
}

async fn read_or_stop<B: Send + 'static, E: Send + 'static>(
    shared: &Shared<B, E>,
    source: &mut dyn Awaited<B, E>,
) -> Read<B, E> {
    // An always ready source must let other tasks run.
    consume_budget().await;
    let mut reading = catch(|| source.next()).map_err(Some)?;
    let last = poll_fn(|cx| {
        if shared.channel.poll_stop(cx).is_ready() {
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

fn read<B, E>(given: Result<Option<Counted<B>>, E>) -> Read<B, E> {
    match given {
        Ok(Some(batch)) => Ok(batch),
        Ok(None) => Err(None),
        Err(error) => Err(Some(StreamError::Source(error))),
    }
}
