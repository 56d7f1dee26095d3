//! The outlet: puts each object's bytes out in one piece, and objects by path if that is asked for.
//!
//! One lock guards it. It is held while the sink writes, as a sink that is full stops the scan
//! anyway. No worker waits for a turn: one without keeps its bytes here.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::kept::{Kept, Store};
use super::order::{NodeId, Position, Tree};
use crate::config::LocalConfig;
use crate::output::Output;
use crate::sink::Sink;

/// Bytes of a block that the sink gets.
pub(crate) const BLOCK: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Window {
    state: Mutex<State>,
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
        self.lock().flush(sink)
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
            Order::Any { .. } => state.write(sink, bytes)?,
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
                state.write(sink, bytes)?;
                state.advance(sink)?;
            }
        }
        bytes.clear();
        if sink.is_prompt() {
            state.flush(sink)
        } else {
            Ok(())
        }
    }

    /// Puts out a part of an object, or keeps it until its turn.
    pub(crate) fn push<K: Sink>(&self, sink: &K, stream: &mut Stream, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut state = self.lock();
        let has_turn = match &mut state.order {
            Order::Any { streaming, .. } => *streaming.get_or_insert(stream.id) == stream.id,
            Order::ByPath(tree) => tree.is_head(stream.position),
        };
        if has_turn {
            state.write_kept(sink, std::mem::take(&mut stream.kept))?;
            state.write(sink, bytes)?;
            if sink.is_prompt() {
                state.flush(sink)?;
            }
        } else {
            state.store.add(&mut stream.kept, bytes)?;
        }
        bytes.clear();
        Ok(())
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
                    let ready = std::mem::take(ready);
                    state.write_kept(sink, stream.kept)?;
                    state.write(sink, bytes)?;
                    for kept in ready {
                        state.write_kept(sink, kept)?;
                    }
                }
            },
            Order::ByPath(tree) => {
                if tree.is_head(stream.position) {
                    tree.gone(stream.position);
                    state.write_kept(sink, stream.kept)?;
                    state.write(sink, bytes)?;
                } else {
                    store.add(&mut stream.kept, bytes)?;
                    if stream.kept.is_empty() {
                        tree.gone(stream.position);
                    } else {
                        tree.keep(stream.position, stream.kept);
                    }
                }
                state.advance(sink)?;
            }
        }
        bytes.clear();
        if sink.is_prompt() {
            state.flush(sink)
        } else {
            Ok(())
        }
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
            state.advance(sink)?;
        }
        Ok(())
    }

    /// The caller named `total` objects.
    pub(crate) fn close_root<K: Sink>(&self, sink: &K, total: usize) -> io::Result<()> {
        let mut state = self.lock();
        if let Order::ByPath(tree) = &mut state.order {
            tree.close(Tree::root(), total);
            state.advance(sink)?;
        }
        Ok(())
    }

    /// Puts out all that is left: of a whole scan a part of a block, of a cancelled one more.
    pub(crate) fn end<K: Sink>(&self, sink: &K) -> io::Result<()> {
        let mut state = self.lock();
        let mut left = VecDeque::new();
        match &mut state.order {
            Order::Any { ready, .. } => left = std::mem::take(ready),
            Order::ByPath(tree) => tree.finish(|kept| {
                left.push_back(kept);
                Ok(())
            })?,
        }
        for kept in left {
            state.write_kept(sink, kept)?;
        }
        state.flush(sink)
    }

    /// Bytes of objects that did not go out, since nothing was before them.
    pub(crate) fn left_out(&self) -> usize {
        self.lock().began.unwrap_or(0)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn advance<K: Sink>(&mut self, sink: &K) -> io::Result<()> {
        let Self {
            order: Order::ByPath(tree),
            store,
            block,
            began,
        } = self
        else {
            return Ok(());
        };
        tree.advance(|kept| store.take(kept, |bytes| write(sink, block, began, bytes)))
    }

    fn write_kept<K: Sink>(&mut self, sink: &K, kept: Kept) -> io::Result<()> {
        let Self {
            store, block, began, ..
        } = self;
        store.take(kept, |bytes| write(sink, block, began, bytes))
    }

    fn write<K: Sink>(&mut self, sink: &K, bytes: &[u8]) -> io::Result<()> {
        write(sink, &mut self.block, &mut self.began, bytes)
    }

    fn flush<K: Sink>(&mut self, sink: &K) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let written = sink.write(&self.block);
        self.block.clear();
        written
    }
}

fn write<K: Sink>(
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
    if block.len() + bytes.len() > BLOCK && !block.is_empty() {
        let written = sink.write(block);
        block.clear();
        written?;
    }
    if bytes.len() >= BLOCK {
        sink.write(bytes)
    } else {
        block.extend_from_slice(bytes);
        Ok(())
    }
}
