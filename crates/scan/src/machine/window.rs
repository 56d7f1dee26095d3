//! The outlet: puts each object's bytes out in one piece, and objects by path if that is asked for.
//!
//! ```text
//!   whole objects ─┐
//!   parts, in turn ┴─► block ─► the sink, by one worker       others fill the next block meanwhile
//!   out of turn ─────► kept
//! ```
//!
//! One lock guards what waits, another the sink. No worker waits for a turn: one without keeps its
//! bytes here. While one worker writes, others put out on, until some blocks wait; then they wait
//! for the sink, since a sink that is full stops the scan anyway. The lock of the sink is taken with
//! the other one held, and never the other way round.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::kept::{Kept, Store};
use super::order::{NodeId, Position, Tree};
use crate::config::LocalConfig;
use crate::output::Output;
use crate::sink::Sink;

/// Bytes of a block that the sink gets.
pub(crate) const BLOCK: usize = 64 << 10;

/// Bytes that may wait for a sink that is busy.
const WAITING_MAX: usize = 4 * BLOCK;

#[derive(Debug)]
pub(crate) struct Window {
    state: Mutex<State>,
    /// What the sink gets. It is held as long as the sink writes.
    writing: Mutex<Vec<u8>>,
    pub(crate) is_sorted: bool,
}

/// One object's way out.
#[derive(Debug)]
pub(crate) struct Stream {
    position: Position,
    id: u64,
    kept: Kept,
}

#[derive(Debug)]
struct State {
    order: Order,
    store: Store,
    /// What goes out next.
    block: Vec<u8>,
    /// Once the sink's first bytes are in the block or out: how many of their separator are not.
    began: Option<usize>,
}

#[derive(Debug)]
enum Order {
    Any {
        /// The object whose bytes go out as they come.
        streaming: Option<u64>,
        /// Whole objects that ended meanwhile.
        ready: VecDeque<Kept>,
    },
    ByPath(Tree),
}

impl Stream {
    pub(crate) fn new(id: u64, position: Position) -> Self {
        Self {
            position,
            id,
            kept: Kept::default(),
        }
    }

    pub(crate) fn position(&self) -> Position {
        self.position
    }
}

impl Window {
    pub(crate) fn new(config: &LocalConfig) -> Self {
        let order = if config.sort {
            Order::ByPath(Tree::new())
        } else {
            Order::Any {
                streaming: None,
                ready: VecDeque::new(),
            }
        };
        Self {
            is_sorted: config.sort,
            writing: Mutex::default(),
            state: Mutex::new(State {
                order,
                store: Store::new(config.kept_bytes_max, config.temporary.clone()),
                block: Vec::with_capacity(BLOCK),
                began: None,
            }),
        }
    }

    /// Hands what is out, and does not fill a block yet, to the sink.
    pub(crate) fn flush<K: Sink>(&self, sink: &K) -> io::Result<()> {
        self.write(sink, self.lock(), 1)
    }

    /// Puts out `bytes` of whole objects. By path they are those at `ended`, between which nothing
    /// else is to be put out.
    pub(crate) fn put_whole<K: Sink>(
        &self,
        sink: &K,
        ended: &mut Vec<Position>,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        let State { order, store, .. } = &mut *state;
        match order {
            Order::Any {
                streaming: Some(_),
                ready,
            } => {
                let mut kept = Kept::default();
                store.add(&mut kept, bytes)?;
                ready.push_back(kept);
            }
            Order::Any { .. } => self.put(sink, &mut state, bytes)?,
            Order::ByPath(tree) => {
                let mut ended = ended.drain(..);
                let early = ended.as_slice().first().copied();
                if let Some(first) = early.filter(|first| !bytes.is_empty() && !tree.is_head(*first)) {
                    let mut kept = Kept::default();
                    store.add(&mut kept, bytes)?;
                    tree.keep(first, kept);
                    ended.next();
                    bytes.clear();
                }
                ended.for_each(|position| tree.gone(position));
                self.put(sink, &mut state, bytes)?;
                self.advance(sink, &mut state)?;
            }
        }
        bytes.clear();
        self.write_full(sink, state)
    }

    /// Puts out a part of an object, or keeps it until its turn.
    pub(crate) fn push<K: Sink>(&self, sink: &K, stream: &mut Stream, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut state = self.lock();
        let has_turn = match &mut state.order {
            Order::Any { streaming, .. } => *streaming.get_or_insert(stream.id) == stream.id,
            Order::ByPath(tree) => tree.is_head(stream.position),
        };
        if has_turn {
            self.put_kept(sink, &mut state, mem::take(&mut stream.kept))?;
            self.put(sink, &mut state, bytes)?;
        } else {
            state.store.add(&mut stream.kept, bytes)?;
        }
        bytes.clear();
        self.write_full(sink, state)
    }

    /// Puts out an object's last part, and what waited for its end.
    pub(crate) fn finish<K: Sink>(
        &self,
        sink: &K,
        mut stream: Stream,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        let State { order, store, .. } = &mut *state;
        match order {
            Order::Any { streaming, ready } => match *streaming {
                Some(id) if id != stream.id => {
                    store.add(&mut stream.kept, bytes)?;
                    if !stream.kept.is_empty() {
                        ready.push_back(stream.kept);
                    }
                }
                _ => {
                    *streaming = None;
                    let ready = mem::take(ready);
                    self.put_kept(sink, &mut state, stream.kept)?;
                    self.put(sink, &mut state, bytes)?;
                    for kept in ready {
                        self.put_kept(sink, &mut state, kept)?;
                    }
                }
            },
            Order::ByPath(tree) => {
                if tree.is_head(stream.position) {
                    tree.gone(stream.position);
                    self.put_kept(sink, &mut state, stream.kept)?;
                    self.put(sink, &mut state, bytes)?;
                } else {
                    store.add(&mut stream.kept, bytes)?;
                    if stream.kept.is_empty() {
                        tree.gone(stream.position);
                    } else {
                        tree.keep(stream.position, stream.kept);
                    }
                }
                self.advance(sink, &mut state)?;
            }
        }
        bytes.clear();
        self.write_full(sink, state)
    }

    /// The object at `position` is a directory of `total` names.
    pub(crate) fn open_dir(&self, position: Position, total: usize) -> NodeId {
        match &mut self.lock().order {
            Order::Any { .. } => NodeId::default(),
            Order::ByPath(tree) => tree.open(position, total),
        }
    }

    /// Nothing is to be put out for these children. Then the head may go on.
    pub(crate) fn gone<K: Sink>(&self, sink: &K, gone: impl Iterator<Item = Position>) -> io::Result<()> {
        let mut state = self.lock();
        if let Order::ByPath(tree) = &mut state.order {
            gone.for_each(|position| tree.gone(position));
            self.advance(sink, &mut state)?;
        }
        self.write_full(sink, state)
    }

    /// The caller named `total` objects.
    pub(crate) fn close_root<K: Sink>(&self, sink: &K, total: usize) -> io::Result<()> {
        let mut state = self.lock();
        if let Order::ByPath(tree) = &mut state.order {
            tree.close(Tree::root(), total);
            self.advance(sink, &mut state)?;
        }
        self.write_full(sink, state)
    }

    /// Puts out all that is left: of a whole scan a part of a block, of a cancelled one more.
    pub(crate) fn end<K: Sink>(&self, sink: &K) -> io::Result<()> {
        let mut state = self.lock();
        let mut left = VecDeque::new();
        match &mut state.order {
            Order::Any { ready, .. } => left = mem::take(ready),
            Order::ByPath(tree) => tree.finish(|kept| {
                left.push_back(kept);
                Ok(())
            })?,
        }
        for kept in left {
            self.put_kept(sink, &mut state, kept)?;
        }
        self.write(sink, state, 1)
    }

    /// Bytes of objects that did not go out, since nothing was before them.
    pub(crate) fn left_out(&self) -> usize {
        self.lock().began.unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance<K: Sink>(&self, sink: &K, state: &mut State) -> io::Result<()> {
        let State {
            order: Order::ByPath(tree),
            store,
            block,
            began,
        } = state
        else {
            return Ok(());
        };
        tree.advance(|kept| store.take(kept, |bytes| self.put_bytes(sink, block, began, bytes)))
    }

    fn put_kept<K: Sink>(&self, sink: &K, state: &mut State, kept: Kept) -> io::Result<()> {
        let State {
            store, block, began, ..
        } = state;
        store.take(kept, |bytes| self.put_bytes(sink, block, began, bytes))
    }

    /// Puts `bytes` behind what goes out next.
    fn put<K: Sink>(&self, sink: &K, state: &mut State, bytes: &mut Vec<u8>) -> io::Result<()> {
        if state.block.is_empty() && state.began.is_some() {
            mem::swap(&mut state.block, bytes);
            return Ok(());
        }
        self.put_bytes(sink, &mut state.block, &mut state.began, bytes)
    }

    fn put_bytes<K: Sink>(
        &self,
        sink: &K,
        block: &mut Vec<u8>,
        began: &mut Option<usize>,
        mut bytes: &[u8],
    ) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if began.is_none() {
            let separator = sink.output().separator();
            let rest = bytes.strip_prefix(separator).unwrap_or(bytes);
            *began = Some(bytes.len() - rest.len());
            bytes = rest;
        }
        if block.len() + bytes.len() > WAITING_MAX && !block.is_empty() {
            let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            mem::swap(block, &mut writing);
            written(sink, &mut writing)?;
        }
        block.extend_from_slice(bytes);
        Ok(())
    }

    fn write_full<K: Sink>(&self, sink: &K, state: MutexGuard<'_, State>) -> io::Result<()> {
        self.write(sink, state, if sink.is_prompt() { 1 } else { BLOCK })
    }

    /// Hands what is to go out to the sink, as long as it is at least `least` bytes.
    fn write<'w, K: Sink>(
        &'w self,
        sink: &K,
        mut state: MutexGuard<'w, State>,
        least: usize,
    ) -> io::Result<()> {
        while state.block.len() >= least {
            let mut writing = match self.writing.try_lock() {
                Ok(writing) => writing,
                // The worker that writes looks here again when it is done.
                Err(TryLockError::WouldBlock) if least > 1 && state.block.len() < WAITING_MAX => {
                    return Ok(());
                }
                Err(_) => self.writing.lock().unwrap_or_else(PoisonError::into_inner),
            };
            mem::swap(&mut state.block, &mut writing);
            drop(state);
            let done = written(sink, &mut writing);
            drop(writing);
            done?;
            state = self.lock();
        }
        Ok(())
    }
}

fn written<K: Sink>(sink: &K, block: &mut Vec<u8>) -> io::Result<()> {
    let written = sink.write(block);
    block.clear();
    block.shrink_to(WAITING_MAX);
    written
}
