//! What a scan needs to run in the simulator: files that have sizes and prices, an engine that has
//! read its bytes, an output of nothing, and a context that pays.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use executor_core::TaskCtx;
use executor_core::ports::Access;
use scan::Sink;
use scan::engine::{Engine, Found, Piece, Unit};
use scan::files::{At, FileSystem, Kind, Names, Status};
use scan::object::Object;
use scan::output::{Findings, More, Output, ReadAt};
use sim::SimCtx;

use super::sizes::Sizes;

/// Names of a read of a folder.
const NAMES: usize = 400;

/// Bytes of the longest line, as in the program.
const LONGEST: usize = 8 << 20;

/// Nanoseconds that the operation in hand costs. One simulated worker runs at a time, and pays as
/// soon as its operation is done.
#[derive(Debug, Default)]
pub(super) struct Bill(AtomicU64);

impl Bill {
    fn add(&self, ns: f64) {
        // Ordering: Relaxed. Simulated workers run in turn on one thread.
        self.0.fetch_add(ns.round() as u64, Ordering::Relaxed);
    }

    fn take(&self) -> u64 {
        // Ordering: Relaxed. As above.
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// A tree of sizes as a file system.
#[derive(Debug)]
pub(super) struct Priced {
    sizes: Arc<Sizes>,
    bill: Arc<Bill>,
    object_ns: f64,
    byte_ns: f64,
}

/// An open folder, and the place up to which it has been read.
#[derive(Debug)]
pub(super) struct PricedDir {
    node: usize,
    next: AtomicUsize,
}

impl Priced {
    pub(super) fn new(sizes: &Arc<Sizes>, bill: &Arc<Bill>, object_ns: f64, byte_ns: f64) -> Self {
        Self {
            sizes: Arc::clone(sizes),
            bill: Arc::clone(bill),
            object_ns,
            byte_ns,
        }
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.sizes
            .find(path)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn of(&self, node: usize) -> Status {
        Status {
            kind: self.sizes.kind(node),
            len: self.sizes.len(node),
            id: (0, node as u64),
        }
    }
}

impl FileSystem for Priced {
    type File = usize;
    type Dir = PricedDir;

    fn open(&self, at: At<'_, PricedDir>) -> io::Result<usize> {
        self.bill.add(self.object_ns);
        self.find(at.path)
    }

    fn open_dir(&self, at: At<'_, PricedDir>) -> io::Result<PricedDir> {
        self.bill.add(self.object_ns);
        let node = self.find(at.path)?;
        let next = AtomicUsize::new(0);
        Ok(PricedDir { node, next })
    }

    fn read_dir(&self, dir: &PricedDir, names: &mut Names) -> io::Result<bool> {
        // Ordering: Relaxed. Simulated workers run in turn on one thread.
        let from = dir.next.load(Ordering::Relaxed);
        let rest = self.sizes.names(dir.node, from, NAMES, names);
        if let Some(rest) = rest {
            // Ordering: Relaxed. As above.
            dir.next.store(rest, Ordering::Relaxed);
        }
        Ok(rest.is_some())
    }

    /// The first and the last byte end lines, so that a chunk's border is found at once.
    fn read_at(&self, file: &usize, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = self.sizes.len(*file).saturating_sub(offset);
        let bytes = usize::try_from(rest).map_or(into.len(), |rest| rest.min(into.len()));
        if let [first, .., last] = &mut into[..bytes] {
            (*first, *last) = (b'\n', b'\n');
        }
        self.bill.add(self.byte_ns * bytes as f64);
        Ok(bytes)
    }

    fn file_status(&self, file: &usize, _: Kind) -> io::Result<Status> {
        Ok(self.of(*file))
    }

    fn dir_status(&self, dir: &PricedDir) -> io::Result<Status> {
        Ok(self.of(dir.node))
    }

    fn status(&self, at: At<'_, PricedDir>) -> io::Result<Status> {
        Ok(self.of(self.find(at.path)?))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn will_read(&self, _: &usize, _: u64, _: u64) {}
}

/// Finds nothing: searching a byte is in the price of reading it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading;

impl Engine for Reading {
    type Scratch = ();

    fn unit(&self) -> Unit {
        Unit::Lines { max_line: LONGEST }
    }

    fn scratch(&self) {}

    fn scan(&self, piece: Piece<'_>, (): &mut (), found: &mut Found) {
        found.bytes += piece.bytes.len() as u64;
        found.last = piece.last;
    }
}

/// Puts out nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nothing;

impl Output for Nothing {
    type File = ();

    fn begin(&self, _: &Object) {}

    fn piece(
        &self,
        (): &mut (),
        _: &Object,
        _: &Found,
        _: &mut dyn ReadAt,
        _: &mut Vec<u8>,
    ) -> io::Result<More> {
        Ok(More::Wanted)
    }

    fn end(&self, (): (), _: &Object, _: &mut dyn ReadAt, _: &mut Vec<u8>) -> io::Result<Findings> {
        Ok(Findings::default())
    }
}

impl Sink for Nothing {
    type Output = Self;

    fn output(&self) -> &Self {
        self
    }

    fn write(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// A simulated worker's context that pays for each operation when it is done.
pub(super) struct Payer<'p, 'c, T, S> {
    pub(super) cx: &'p mut SimCtx<'c, T, S>,
    pub(super) bill: &'p Bill,
}

impl<T, S> Access for Payer<'_, '_, T, S> {
    fn access<R>(&mut self, what: &'static str, operation: impl FnOnce() -> R) -> R {
        let result = self.cx.access(what, operation);
        let ns = self.bill.take();
        if ns > 0 {
            self.cx.work(ns);
        }
        result
    }
}

impl<T, S> TaskCtx<T, S> for Payer<'_, '_, T, S> {
    fn worker_id(&self) -> usize {
        self.cx.worker_id()
    }

    fn scratch(&mut self) -> &mut S {
        self.cx.scratch()
    }

    fn spawn_local(&mut self, task: T) {
        self.cx.spawn_local(task);
    }

    fn spawn_global(&mut self, task: T) {
        self.cx.spawn_global(task);
    }

    fn publish(&mut self) {
        self.cx.publish();
    }

    fn has_idle_workers(&mut self) -> bool {
        self.cx.has_idle_workers()
    }

    fn wait_until(&mut self, what: &'static str, ready: impl FnMut() -> bool) -> bool {
        self.cx.wait_until(what, ready)
    }
}
