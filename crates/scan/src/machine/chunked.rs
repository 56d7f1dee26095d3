//! A large file that several workers search: what is claimed, what is done, what is out.
//!
//! ```text
//!   chunk   0   1   2   3   4   5   6   7   8 …
//!           out out ├ folded      ├ next          claimed only while next - folded < window
//!                   run  ✓  run ✓
//! ```
//!
//! The worker that completes the first chunk that is not out puts it out, and what follows it. A
//! worker that may not claim leaves; the one that puts out spawns the task again when there is room.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::batch::Discovered;
use super::counters::Slot;
use super::emit::Outlet;
use super::run::Stop;
use crate::encoding::Encoding;
use crate::engine::Found;
use crate::files::FileSystem;
use crate::object::Object;
use crate::output::Output;

/// Bytes of results that wait for those before them, after which no further chunk is claimed.
const WAITING_MAX: usize = 8 << 20;

/// A file that is searched in chunks.
pub struct Chunked<F: FileSystem, O: Output> {
    pub(crate) file: F::File,
    pub(crate) named: bool,
    pub(crate) size: u64,
    /// Bytes before the text.
    pub(crate) mark: u64,
    pub(crate) chunk: u64,
    workers: usize,
    state: Mutex<State<F, O>>,
    _slot: Slot,
}

struct State<F: FileSystem, O: Output> {
    /// The first unclaimed chunk.
    next: u64,
    /// Chunks before this one are out.
    folded: u64,
    /// Chunks from here on are not wanted.
    end: u64,
    /// Tasks of this file that are queued or running.
    copies: usize,
    /// Results from `folded` on.
    results: VecDeque<Option<Done>>,
    waiting: usize,
    /// Results that are out, whose memory the next ones take.
    spare: Vec<Found>,
    /// Absent while a worker puts out, and after the end.
    fold: Option<Box<Fold<F, O>>>,
    /// Whether `end` is where it is because the scan was cancelled.
    cancelled: bool,
}

/// What was found in a chunk.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) found: Found,
    pub(crate) cut_lines: u64,
    /// Where its last line ends; behind every chunk if the file ends there.
    pub(crate) owned_to: u64,
    pub(crate) stopped: Option<Stop>,
}

/// What the worker needs that puts out.
pub(crate) struct Fold<F: FileSystem, O: Output> {
    pub(crate) found: Discovered<F>,
    pub(crate) object: Object,
    pub(crate) outlet: Outlet<O>,
    pub(crate) out: Vec<u8>,
    pub(crate) cut_lines: u64,
    pub(crate) stopped: Option<Stop>,
}

/// What a worker is to do.
pub(crate) enum Claim<F: FileSystem, O: Output> {
    /// Search this chunk, for which `found` is empty. `share`: spawn another task of this file for a
    /// worker that is idle.
    Chunk { index: u64, share: bool, found: Found },
    /// Nothing; its task is over.
    Leave,
    /// Nothing is left to search: end the file.
    End(Box<Fold<F, O>>),
}

/// What the worker that puts out is to do after a chunk.
pub(crate) enum Folded<F: FileSystem, O: Output> {
    /// Put out the next chunk.
    Next(Box<Fold<F, O>>, Done),
    /// Nothing: the next chunk is not done.
    Wait,
    /// End the file.
    End(Box<Fold<F, O>>),
}

impl Done {
    fn is_last(&self) -> bool {
        self.stopped.is_some() || self.found.nul.is_some()
    }

    fn bytes(&self) -> usize {
        let Found {
            findings,
            spans,
            text,
            ..
        } = &self.found;
        text.len() + size_of_val(&findings[..]) + size_of_val(&spans[..])
    }
}

impl<F: FileSystem, O: Output> Chunked<F, O> {
    pub(crate) fn new(
        file: F::File,
        slot: Slot,
        (size, mark): (u64, u64),
        chunk: u64,
        workers: usize,
        fold: Fold<F, O>,
    ) -> Self {
        Self {
            file,
            named: fold.object.named,
            size,
            mark,
            chunk,
            workers,
            state: Mutex::new(State {
                next: 0,
                folded: 0,
                end: size.div_ceil(chunk),
                copies: 1,
                results: VecDeque::new(),
                waiting: 0,
                spare: Vec::new(),
                fold: Some(Box::new(fold)),
                cancelled: false,
            }),
            _slot: slot,
        }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        Encoding::Bytes { skip: self.mark }
    }

    /// Claims the next chunk for a task of this file.
    pub(crate) fn claim(&self, is_cancelled: bool) -> Claim<F, O> {
        let mut state = self.lock();
        if is_cancelled && state.next < state.end {
            state.cancelled = true;
            state.end = state.next;
        }
        if state.may_claim(self.window()) {
            let index = state.next;
            state.next += 1;
            let share = state.may_claim(self.window()) && state.copies < self.workers;
            state.copies += usize::from(share);
            let found = state.spare.pop().unwrap_or_default();
            return Claim::Chunk { index, share, found };
        }
        state.copies -= 1;
        if state.folded == state.end
            && let Some(mut fold) = state.fold.take()
        {
            fold.stopped = fold.stopped.take().or(Some(Stop::Cancelled));
            return Claim::End(fold);
        }
        Claim::Leave
    }

    /// A chunk is searched. Returns what to put out, if it is this worker's turn.
    pub(crate) fn complete(&self, index: u64, done: Done) -> Folded<F, O> {
        let mut state = self.lock();
        if done.is_last() && index < state.end {
            state.end = index + 1;
            state.cancelled = false;
        }
        let (is_last, owned_to) = (done.is_last(), done.owned_to);
        state.put(index, done);
        // No line begins in chunks that lie within its last one.
        while !is_last && state.next < state.end && self.end_of(state.next) < owned_to {
            let index = state.next;
            state.put(index, Done::default());
            state.next += 1;
        }
        state.next_to_fold()
    }

    /// The last offset at which a line of the chunk may begin.
    pub(crate) fn end_of(&self, index: u64) -> u64 {
        self.size.min((index + 1) * self.chunk)
    }

    /// A chunk is out. `is_enough`: nothing after it is wanted. Returns what to do next, and
    /// whether the task is to be spawned again, as there is room for it.
    pub(crate) fn folded(
        &self,
        fold: Box<Fold<F, O>>,
        mut found: Found,
        is_enough: bool,
    ) -> (Folded<F, O>, bool) {
        found.clear();
        let mut state = self.lock();
        // Chunks within a line have results without memory.
        if state.spare.len() < self.window() as usize {
            state.spare.push(found);
        }
        state.folded += 1;
        state.results.pop_front();
        if is_enough {
            state.end = state.folded;
            state.cancelled = false;
        }
        state.fold = Some(fold);
        let next = state.next_to_fold();
        let again = state.copies == 0 && state.may_claim(self.window());
        if again {
            state.copies += 1;
        }
        (next, again)
    }

    /// Chunks that may be under way or wait to be put out.
    fn window(&self) -> u64 {
        2 * self.workers as u64 + 2
    }

    fn lock(&self) -> MutexGuard<'_, State<F, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: FileSystem, O: Output> State<F, O> {
    fn may_claim(&self, window: u64) -> bool {
        let ahead = self.next - self.folded;
        self.next < self.end && (ahead == 0 || ahead < window && self.waiting < WAITING_MAX)
    }

    fn put(&mut self, index: u64, done: Done) {
        self.waiting += done.bytes();
        let place = usize::try_from(index - self.folded).unwrap_or(usize::MAX);
        while self.results.len() <= place {
            self.results.push_back(None);
        }
        self.results[place] = Some(done);
    }

    fn next_to_fold(&mut self) -> Folded<F, O> {
        let Some(mut fold) = self.fold.take() else {
            return Folded::Wait;
        };
        if self.folded >= self.end {
            if self.cancelled {
                fold.stopped = fold.stopped.take().or(Some(Stop::Cancelled));
            }
            return Folded::End(fold);
        }
        // Its place stays until it is out.
        match self.results.front_mut().and_then(Option::take) {
            Some(done) => {
                self.waiting -= done.bytes();
                Folded::Next(fold, done)
            }
            None => {
                self.fold = Some(fold);
                Folded::Wait
            }
        }
    }
}

impl<F: FileSystem, O: Output> fmt::Debug for Chunked<F, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunked")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
