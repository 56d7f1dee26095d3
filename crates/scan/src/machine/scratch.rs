//! What a worker keeps from task to task.

use std::fmt;
use std::sync::Arc;

use super::block::Block;
use super::counters::Counters;
use super::long_line::LongLine;
use super::order::Position;
use crate::engine::{Engine, Found};
use crate::object::Object;
use crate::report::Summary;

/// A worker's scratch value: the engine's scratch, the worker's buffer, findings and sums.
pub struct LocalScratch<E: Engine>(Option<Box<Parts<E>>>);

pub(crate) struct Parts<E: Engine> {
    pub(crate) engine: E::Scratch,
    /// Absent while a file is read.
    pub(crate) block: Option<Block>,
    /// Lines that are longer than the block's head, and files that are searched whole.
    pub(crate) long: LongLine,
    pub(crate) found: Found,
    /// Outputs of whole objects that are not yet put out, and of the one in hand.
    pub(crate) out: Vec<u8>,
    /// In a scan by path, the places of those whole objects.
    pub(crate) ended: Vec<Position>,
    pub(crate) object: Object,
    pub(crate) decided: Vec<Decided>,
    pub(crate) summary: Summary,
    pub(crate) untold: Untold,
}

/// Objects that the running task has counted, and the progress does not know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Untold {
    pub(crate) discovered: u64,
    pub(crate) reported: u64,
}

/// A name that is not left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decided {
    pub(crate) index: u32,
    pub(crate) is_dir: bool,
}

impl<E: Engine> LocalScratch<E> {
    pub(crate) fn new(engine: &E, counters: &Arc<Counters>, chunk: usize) -> Self {
        Self(Some(Box::new(Parts {
            engine: engine.scratch(),
            block: Some(Block::reserved(counters, chunk)),
            long: LongLine::default(),
            found: Found::default(),
            out: Vec::new(),
            ended: Vec::new(),
            object: Object {
                id: 0,
                path: std::path::PathBuf::new(),
                named: false,
            },
            decided: Vec::new(),
            summary: Summary::default(),
            untold: Untold::default(),
        })))
    }

    /// Sums over what this worker did.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0
            .as_ref()
            .map_or_else(Summary::default, |parts| parts.summary)
    }

    pub(crate) fn take(&mut self) -> Box<Parts<E>> {
        self.0.take().expect("a worker runs one task at a time")
    }

    pub(crate) fn put(&mut self, parts: Box<Parts<E>>) {
        self.0 = Some(parts);
    }

    pub(crate) fn out(&mut self) -> Vec<u8> {
        self.0
            .as_mut()
            .map(|parts| std::mem::take(&mut parts.out))
            .unwrap_or_default()
    }
}

impl<E: Engine> Parts<E> {
    pub(crate) fn take_block(&mut self) -> Block {
        self.block
            .take()
            .expect("a worker's buffer comes back after every file")
    }
}

impl<E: Engine> fmt::Debug for LocalScratch<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalScratch").finish_non_exhaustive()
    }
}
