//! The place between a reader and a consumer: batches that are ready, room for more, and the end. One lock guards all of it.
//!
//! Each change is one critical section, and says what its caller has to do next. Wakers are woken, and what belongs to the user is run and
//! dropped, outside the lock.

use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use super::error::StreamError;
use super::snapshot::StreamSnapshot;
use super::source::{Counted, Source};
use super::sync::{Mutex, MutexGuard};
use crate::mixed::message;
use crate::mutant;

pub(super) struct Passage<B, E> {
    bytes_max: usize,
    state: Mutex<State<B, E>>,
}

/// What is called when it is over.
pub(super) type OnClose = Box<dyn FnOnce() + Send>;

struct State<B, E> {
    phase: Phase<B, E>,
    ready: VecDeque<Counted<B>>,
    bytes: usize,
    bytes_peak: usize,
    batches: u64,
    largest: usize,
    /// The reader is to read no more.
    stop: bool,
    end: End<E>,
    consumer: Option<Waker>,
    reader: Option<Waker>,
    on_close: Vec<OnClose>,
}

/// Where the source is.
enum Phase<B, E> {
    /// With a reader, on the way to one, or on the way to where it is closed.
    Out,
    /// Here: there is no room for what it is expected to give.
    Resting { source: Source<B, E>, expected: usize },
    /// Closed, and everybody who wanted to know has been told.
    Over,
}

/// What comes behind the batches that are ready.
enum End<E> {
    NotYet,
    Failed(StreamError<E>),
    /// Nothing: the end, or the error was given.
    Nothing,
}

/// What a reader does next.
pub(super) enum Admitted<B, E> {
    /// Read a batch.
    Read(Source<B, E>),
    /// Go: there is no room. Whoever makes some starts a reader.
    Rest,
    /// Close the source.
    Stop(Source<B, E>),
}

/// Why nothing more is to be read.
pub(super) enum Stop<E> {
    /// The consumer wants nothing more.
    Consumer,
    /// The consumer is to have nothing more, for this reason, if he has not had everything.
    Refused(StreamError<E>),
    /// Nobody will read any more. What is ready can still be had.
    Failed(StreamError<E>),
}

/// What is left to do when a passage was stopped.
#[must_use = "a source that is here has to be closed"]
pub(super) struct Stopped<B, E> {
    /// To be closed.
    pub(super) source: Option<Source<B, E>>,
    /// To be dropped, after that.
    pub(super) _dropped: (VecDeque<Counted<B>>, Option<StreamError<E>>),
}

impl<B, E> Passage<B, E> {
    /// One whose source is out.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            state: Mutex::new(State {
                phase: Phase::Out,
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

    /// A reader asks whether to read; `expected` is what its source says of the next batch.
    pub(super) fn admit(&self, source: Source<B, E>, expected: Option<usize>) -> Admitted<B, E> {
        let mut state = self.lock();
        if state.stop && !mutant::m95_reads_on_after_a_stop() {
            return Admitted::Stop(source);
        }
        // Nothing weighs nothing.
        let expected = expected.unwrap_or(state.largest).max(1);
        if self.has_room(&state, expected) {
            return Admitted::Read(source);
        }
        if mutant::m96_rests_after_a_second_lock() {
            drop(state);
            state = self.lock();
        }
        state.phase = Phase::Resting { source, expected };
        Admitted::Rest
    }

    /// A reader has read a batch.
    pub(super) fn deliver(&self, batch: B, bytes: usize) {
        let mut state = self.lock();
        state.batches += 1;
        state.largest = state.largest.max(bytes);
        if state.stop && !mutant::m99_delivered_after_a_stop() {
            drop(state);
            drop(batch);
            return;
        }
        state.bytes += bytes;
        state.bytes_peak = state.bytes_peak.max(state.bytes);
        state.ready.push_back((batch, bytes));
        let consumer = state.consumer.take();
        drop(state);
        if !mutant::m98_delivery_wakes_nobody() {
            wake(consumer);
        }
    }

    /// A reader that awaits its source asks whether to go on doing so.
    pub(super) fn poll_stop(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.stop {
            return Poll::Ready(());
        }
        if mutant::m112_reader_registers_after_a_second_lock() {
            drop(state);
            state = self.lock();
        }
        register(&mut state.reader, cx.waker());
        Poll::Pending
    }

    /// The source is closed, for this reason if it was not the end: tells everybody.
    pub(super) fn finish(&self, mut error: Option<StreamError<E>>) {
        if mutant::m104_error_is_told_as_the_end() {
            error = None;
        }
        let mut told = false;
        loop {
            let mut state = self.lock();
            let tell = mem::take(&mut state.on_close);
            if tell.is_empty() || told && mutant::m100_told_are_those_who_came_first() {
                state.phase = Phase::Over;
                let unheard = match state.end {
                    End::NotYet => {
                        state.end = error.take().map_or(End::Nothing, End::Failed);
                        None
                    }
                    End::Failed(_) | End::Nothing => error.take(),
                };
                let consumer = state.consumer.take();
                drop(state);
                if !mutant::m88_finish_wakes_nobody() {
                    wake(consumer);
                }
                drop(unheard);
                return;
            }
            drop(state);
            told = true;
            for on_close in tell {
                if let Err(panicked) = catch(on_close) {
                    error.get_or_insert(panicked);
                }
            }
        }
    }

    /// Has `call` called when it is over.
    pub(super) fn on_close(&self, call: OnClose) {
        let mut state = self.lock();
        if matches!(state.phase, Phase::Over) && !mutant::m113_late_askers_are_not_told() {
            drop(state);
            call();
        } else {
            state.on_close.push(call);
        }
    }

    /// The consumer asks for a batch. Its bytes stay counted until it [releases](Self::release) them.
    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Counted<B>, StreamError<E>>>> {
        let mut state = self.lock();
        let overtakes = mutant::m103_error_overtakes_batches() && matches!(state.end, End::Failed(_));
        if !overtakes && let Some(batch) = state.ready.pop_front() {
            return Poll::Ready(Some(Ok(batch)));
        }
        match mem::replace(&mut state.end, End::Nothing) {
            End::NotYet => {
                state.end = End::NotYet;
                if mutant::m97_registers_after_a_second_lock() {
                    drop(state);
                    state = self.lock();
                }
                register(&mut state.consumer, cx.waker());
                Poll::Pending
            }
            End::Failed(error) => Poll::Ready(Some(Err(error))),
            End::Nothing => Poll::Ready(None),
        }
    }

    /// The consumer holds so many bytes less. Gives the source if there is room again, for a reader to be started.
    #[must_use = "a source that is given has to be read"]
    pub(super) fn release(&self, bytes: usize) -> Option<Source<B, E>> {
        let mut state = self.lock();
        state.bytes -= bytes;
        if mutant::m89_release_starts_nobody() {
            return None;
        }
        match &state.phase {
            Phase::Resting { expected, .. } if self.has_room(&state, *expected) => state.take_source(),
            _ => None,
        }
    }

    /// Nothing more is to be read.
    pub(super) fn stop(&self, why: Stop<E>) -> Stopped<B, E> {
        let mut state = self.lock();
        if let (Phase::Over, Stop::Failed(_)) = (&state.phase, &why) {
            return Stopped::nothing();
        }
        state.stop = true;
        let stays = mutant::m94_stop_leaves_the_source_at_rest();
        let source = if stays { None } else { state.take_source() };
        let mut ready = VecDeque::new();
        let end = match why {
            Stop::Consumer => {
                ready = mem::take(&mut state.ready);
                mem::replace(&mut state.end, End::Nothing)
            }
            Stop::Refused(error) => {
                ready = mem::take(&mut state.ready);
                match state.end {
                    // Who has not had everything must not take this for the end.
                    End::NotYet => mem::replace(&mut state.end, End::Failed(error)),
                    End::Nothing if !ready.is_empty() && !mutant::m105_lost_batches_are_told_as_the_end() => {
                        mem::replace(&mut state.end, End::Failed(error))
                    }
                    End::Nothing | End::Failed(_) => End::Failed(error),
                }
            }
            Stop::Failed(error) if matches!(state.end, End::NotYet) => {
                if mutant::m106_end_of_the_pool_drops_what_is_ready() {
                    ready = mem::take(&mut state.ready);
                }
                mem::replace(&mut state.end, End::Failed(error))
            }
            Stop::Failed(error) => End::Failed(error),
        };
        state.bytes -= ready.iter().map(|(_batch, bytes)| bytes).sum::<usize>();
        let (consumer, reader) = (state.consumer.take(), state.reader.take());
        drop(state);
        if !mutant::m90_stop_wakes_no_consumer() {
            wake(consumer);
        }
        if !mutant::m91_stop_wakes_no_reader() {
            wake(reader);
        }
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
            over: matches!(state.phase, Phase::Over),
        }
    }

    fn has_room(&self, state: &State<B, E>, expected: usize) -> bool {
        if mutant::m102_room_for_one_batch_more() {
            return state.bytes <= self.bytes_max;
        }
        // What is held may be above the bound, when a batch was heavier than expected.
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
    /// The source, if it is here. It is out then.
    fn take_source(&mut self) -> Option<Source<B, E>> {
        match mem::replace(&mut self.phase, Phase::Out) {
            Phase::Resting { source, .. } => Some(source),
            phase => {
                self.phase = phase;
                None
            }
        }
    }
}

/// Runs what belongs to the user.
pub(super) fn catch<T, E>(call: impl FnOnce() -> T) -> Result<T, StreamError<E>> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| StreamError::Panicked {
        message: message(&*payload),
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
