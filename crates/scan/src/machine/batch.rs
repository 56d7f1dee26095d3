//! Objects as they are discovered: some names of a directory, in one allocation.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::counters::{Counters, Slot};
use super::order::{NodeId, Position};
use super::source::FileTask;
use crate::files::{At, FileSystem, Kind, Names};
use crate::object::Object;
use crate::rules::Chain;

/// A directory whose names are being processed.
pub struct Dir<F: FileSystem> {
    pub(crate) path: PathBuf,
    /// For names below it, and for its reader; without one, names are opened by path.
    pub(crate) open: Option<(F::Dir, Slot)>,
    pub(crate) chain: Chain,
    pub(crate) depth: usize,
    /// Device and number of this directory and of those above, if links are followed.
    pub(crate) ancestors: Option<Arc<Ancestor>>,
    pub(crate) node: NodeId,
}

/// A directory on the way down, for finding loops.
#[derive(Debug)]
pub(crate) struct Ancestor {
    pub(crate) id: (u64, u64),
    pub(crate) above: Option<Arc<Ancestor>>,
}

impl Ancestor {
    pub(crate) fn is_in(id: (u64, u64), mut ancestors: &Option<Arc<Ancestor>>) -> bool {
        while let Some(ancestor) = ancestors {
            if ancestor.id == id {
                return true;
            }
            ancestors = &ancestor.above;
        }
        false
    }
}

/// Names that were read at once.
pub struct Batch<F: FileSystem> {
    pub(crate) of: BatchOf<F>,
    /// Number of the first object.
    pub(crate) first_id: u64,
    /// Index of the first name among its siblings, where outputs are in order.
    pub(crate) first_index: usize,
    pub(crate) counters: Arc<Counters>,
}

pub(crate) enum BatchOf<F: FileSystem> {
    /// Of a directory.
    Dir { dir: Arc<Dir<F>>, names: Names },
    /// Named by the caller.
    Named { files: Vec<FileTask>, node: NodeId },
}

/// An object that was discovered. It holds its permit, if it has one, until it is dropped.
pub struct Discovered<F: FileSystem> {
    pub(crate) batch: Arc<Batch<F>>,
    pub(crate) index: u32,
    pub(crate) has_permit: bool,
}

impl<F: FileSystem> Batch<F> {
    pub(crate) fn len(&self) -> usize {
        match &self.of {
            BatchOf::Dir { names, .. } => names.len(),
            BatchOf::Named { files, .. } => files.len(),
        }
    }

    pub(crate) fn node(&self) -> NodeId {
        match &self.of {
            BatchOf::Dir { dir, .. } => dir.node,
            BatchOf::Named { node, .. } => *node,
        }
    }

    /// Writes path and number of the object at `index` into `object`.
    pub(crate) fn describe(&self, index: usize, object: &mut Object) {
        object.path.clear();
        object.id = self.first_id + index as u64;
        match &self.of {
            BatchOf::Dir { dir, names } => {
                object.path.push(&dir.path);
                object.path.push(names.name(index));
                object.named = false;
            }
            BatchOf::Named { files, .. } => {
                object.path.push(&files[index].path);
                object.id = files[index].file_id;
                object.named = true;
            }
        }
    }
}

impl<F: FileSystem> Discovered<F> {
    pub(crate) fn index(&self) -> usize {
        self.index as usize
    }

    pub(crate) fn position(&self) -> Position {
        Position {
            node: self.batch.node(),
            index: self.batch.first_index + self.index(),
        }
    }

    /// Calls `open` with the place. Links are followed if the caller named it, or if `follow`.
    pub(crate) fn at<R>(&self, path: &Path, follow: bool, open: impl FnOnce(At<'_, F::Dir>) -> R) -> R {
        match &self.batch.of {
            BatchOf::Dir { dir, names } => match &dir.open {
                Some((dir, _)) => open(At {
                    dir: Some(dir),
                    path: Path::new(names.name(self.index())),
                    follow,
                }),
                None => open(At {
                    dir: None,
                    path,
                    follow,
                }),
            },
            BatchOf::Named { .. } => open(At::named(path)),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match &self.batch.of {
            BatchOf::Dir { names, .. } => names.kind(self.index()),
            BatchOf::Named { .. } => Kind::Unknown,
        }
    }
}

impl<F: FileSystem> Drop for Discovered<F> {
    fn drop(&mut self) {
        if self.has_permit {
            self.batch.counters.permits.give_back(1);
        }
    }
}

impl<F: FileSystem> fmt::Debug for Dir<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dir")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl<F: FileSystem> fmt::Debug for Batch<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

impl<F: FileSystem> fmt::Debug for Discovered<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovered")
            .field("index", &self.index)
            .finish_non_exhaustive()
    }
}
