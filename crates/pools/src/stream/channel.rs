//! The bounded channel between a reader and a consumer: ready batches, room, and the end.
//!
//! Each method is one critical section, and returns its caller's next action.

use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use pipeline_exec::panic_message;

use super::error::StreamError;
use super::snapshot::StreamSnapshot;
use super::source::{Counted, Source};
use super::sync::{Mutex, MutexGuard};

pub(super) struct Channel<B, E> {
    bytes_max: usize,
    state: Mutex<State<B, E>>,
}

pub(super) type OnClose = Box<dyn FnOnce() + Send>;

struct State<B, E> {
    phase: Phase<B, E>,
    ready: VecDeque<Counted<B>>,
    bytes: usize,
    bytes_peak: usize,
    batches: u64,
    largest: usize,
    stop: bool,
    end: End<E>,
    consumer: Option<Waker>,
    reader: Option<Waker>,
    on_close: Vec<OnClose>,
}

enum Phase<B, E> {
    Away,
    Parked { source: Source<B, E>, expected: usize },
    Closed,
}

enum End<E> {
    NotYet,
    Failed(StreamError<E>),
    Nothing,
}

pub(super) enum Admitted<B, E> {
    Read(Source<B, E>),
    /// The release that makes room starts a reader.
    Park,
    Stop(Source<B, E>),
}

pub(super) enum Stop<E> {
    /// The consumer needs no more.
    Consumer,
    /// Instead of the end, if it has not had everything.
    Refused(StreamError<E>),
    /// After the ready batches.
    Failed(StreamError<E>),
}

#[must_use = "a source in it has to be closed"]
pub(super) struct Stopped<B, E> {
    pub(super) source: Option<Source<B, E>>,
    pub(super) _dropped: (VecDeque<Counted<B>>, Option<StreamError<E>>),
}

impl<B, E> Channel<B, E> {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            state: Mutex::new(State {
                phase: Phase::Away,
                ready: VecDeque::new(),
                bytes: 0,
                bytes_peak: 0,
                batches: 0,
                largest: 0,
                stop: false,
                end: End::NotYet,
                consumer: None,
                reader: None,
                on_close: Vec::new(),
            }),
        }
    }

    pub(super) fn admit(&self, source: Source<B, E>, expected: Option<usize>) -> Admitted<B, E> {
        let mut state = self.lock();
        if state.stop {
            return Admitted::Stop(source);
        }
        // Empty batches take room as well.
        let expected = expected.unwrap_or(state.largest).max(1);
        if self.has_room(&state, expected) {
            return Admitted::Read(source);
        }
        state.phase = Phase::Parked { source, expected };
        Admitted::Park
    }

    pub(super) fn deliver(&self, batch: B, bytes: usize) {
        let mut state = self.lock();
        state.batches += 1;
        state.largest = state.largest.max(bytes);
        if state.stop {
            drop(state);
            drop(batch);
            return;
        }
        state.bytes += bytes;
        state.bytes_peak = state.bytes_peak.max(state.bytes);
        state.ready.push_back((batch, bytes));
        let consumer = state.consumer.take();
        drop(state);
        wake(consumer);
    }

    pub(super) fn poll_stop(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.stop {
            return Poll::Ready(());
        }
        register(&mut state.reader, cx.waker());
        Poll::Pending
    }

    /// Makes the `on_close` calls of a closed source. `error` is why it was closed.
    pub(super) fn finish(&self, mut error: Option<StreamError<E>>) {
        loop {
            let mut state = self.lock();
            let tell = mem::take(&mut state.on_close);
            if tell.is_empty() {
                state.phase = Phase::Closed;
                let unheard = match state.end {
                    End::NotYet => {
                        state.end = error.take().map_or(End::Nothing, End::Failed);
                        None
                    }
                    End::Failed(_) | End::Nothing => error.take(),
                };
                let consumer = state.consumer.take();
                drop(state);
                wake(consumer);
                drop(unheard);
                return;
            }
            drop(state);
            for on_close in tell {
                if let Err(panicked) = catch(on_close) {
                    error.get_or_insert(panicked);
                }
            }
        }
    }

    pub(super) fn on_close(&self, call: OnClose) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Closed) {
            drop(state);
            call();
        } else {
            state.on_close.push(call);
        }
    }

    /// The batch counts until its [release](Self::release).
    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Counted<B>, StreamError<E>>>> {
        let mut state = self.lock();
        if let Some(batch) = state.ready.pop_front() {
            return Poll::Ready(Some(Ok(batch)));
        }
        match mem::replace(&mut state.end, End::Nothing) {
            End::NotYet => {
                state.end = End::NotYet;
                register(&mut state.consumer, cx.waker());
                Poll::Pending
            }
            End::Failed(error) => Poll::Ready(Some(Err(error))),
            End::Nothing => Poll::Ready(None),
        }
    }

    /// Returns the parked source, for a new reader, if there is room.
    #[must_use = "a source that is returned has to be read"]
    pub(super) fn release(&self, bytes: usize) -> Option<Source<B, E>> {
        let mut state = self.lock();
        state.bytes -= bytes;
        match &state.phase {
            Phase::Parked { expected, .. } if self.has_room(&state, *expected) => state.take_source(),
            _ => None,
        }
    }

    pub(super) fn stop(&self, why: Stop<E>) -> Stopped<B, E> {
        let mut state = self.lock();
        if let (Phase::Closed, Stop::Failed(_)) = (&state.phase, &why) {
            return Stopped::nothing();
        }
        state.stop = true;
        let source = state.take_source();
        let mut ready = VecDeque::new();
        let end = match why {
            Stop::Consumer => {
                ready = mem::take(&mut state.ready);
                mem::replace(&mut state.end, End::Nothing)
            }
            Stop::Refused(error) => {
                ready = mem::take(&mut state.ready);
                match state.end {
                    // Must not see the end before it has had everything.
                    End::NotYet => mem::replace(&mut state.end, End::Failed(error)),
                    End::Nothing if !ready.is_empty() => mem::replace(&mut state.end, End::Failed(error)),
                    End::Nothing | End::Failed(_) => End::Failed(error),
                }
            }
            Stop::Failed(error) if matches!(state.end, End::NotYet) => {
                mem::replace(&mut state.end, End::Failed(error))
            }
            Stop::Failed(error) => End::Failed(error),
        };
        state.bytes -= ready.iter().map(|(_batch, bytes)| bytes).sum::<usize>();
        let (consumer, reader) = (state.consumer.take(), state.reader.take());
        drop(state);
        wake(consumer);
        wake(reader);
        let error = match end {
            End::Failed(error) => Some(error),
            End::NotYet | End::Nothing => None,
        };
        Stopped {
            source,
            _dropped: (ready, error),
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    pub(super) fn snapshot(&self) -> StreamSnapshot {
        let state = self.lock();
        StreamSnapshot {
            bytes: state.bytes,
            bytes_peak: state.bytes_peak,
            read_ahead_bytes: self.bytes_max,
            ready: state.ready.len(),
            batches: state.batches,
            largest: state.largest,
            over: matches!(state.phase, Phase::Closed),
        }
    }

    fn has_room(&self, state: &State<B, E>, expected: usize) -> bool {
        // A batch may be larger than expected, so `bytes` may exceed the bound.
        state.bytes == 0 || state.bytes.saturating_add(expected) <= self.bytes_max
    }

    fn lock(&self) -> MutexGuard<'_, State<B, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B, E> Stopped<B, E> {
    fn nothing() -> Self {
        Self {
            source: None,
            _dropped: (VecDeque::new(), None),
        }
    }
}

impl<B, E> State<B, E> {
    fn take_source(&mut self) -> Option<Source<B, E>> {
        match mem::replace(&mut self.phase, Phase::Away) {
            Phase::Parked { source, .. } => Some(source),
            phase => {
                self.phase = phase;
                None
            }
        }
    }
}

pub(super) fn catch<T, E>(call: impl FnOnce() -> T) -> Result<T, StreamError<E>> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| StreamError::Panicked {
        message: panic_message(&*payload),
    })
}

fn register(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(registered) => registered.clone_from(waker),
        None => *place = Some(waker.clone()),
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
