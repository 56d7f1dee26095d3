//! One scan: what its tasks share, and the runner.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use executor_core::TaskCtx;
use executor_core::ports::Access;

use super::batch::Discovered;
use super::counters::Counters;
use super::directory::TURN;
use super::queue::{Place, Queue};
use super::scratch::{LocalScratch, Parts, Untold};
use super::task::Task;
use super::window::Window;
use crate::cancel::CancelToken;
use crate::config::{LocalConfig, ParallelScanConfig};
use crate::engine::Engine;
use crate::files::FileSystem;
use crate::object::Object;
use crate::output::Output;
use crate::progress::Progress;
use crate::report::{Report, Summary};
use crate::rules::Rules;
use crate::sink::Sink;

/// The context that the runner needs: a worker's, on threads or in the simulator.
pub trait Context<F: FileSystem, E: Engine, O: Output>:
    TaskCtx<Task<F, O>, LocalScratch<E>> + Access
{
}

impl<F, E, O, C> Context<F, E, O> for C
where
    F: FileSystem,
    E: Engine,
    O: Output,
    C: TaskCtx<Task<F, O>, LocalScratch<E>> + Access,
{
}

/// Open files that waiting ones leave to each worker: what it reads, and an ignore file or a
/// directory beside it.
const OPEN_A_WORKER: usize = 3;

/// What the tasks of one scan share.
pub struct Machine<F: FileSystem, E, K: Sink> {
    pub(crate) files: F,
    pub(crate) engine: E,
    pub(crate) sink: K,
    pub(crate) config: LocalConfig,
    /// Absent, if the caller names every file.
    pub(crate) tree: Option<Walk>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) window: Window,
    /// The tasks of a scan by path.
    pub(crate) queue: Option<Queue<F, K::Output>>,
    pub(crate) cancel: CancelToken,
    pub(crate) progress: Arc<Progress>,
    /// Long files whose chunks are shared now.
    pub(crate) long_files: AtomicUsize,
    /// Names that a turn takes, 1 to 64.
    pub(crate) turn: usize,
    next_id: AtomicU64,
    failure: Mutex<Option<io::Error>>,
}

/// How directories are walked.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) rules: Rules,
    pub(crate) follow: bool,
}

/// A worker with a task in hand.
pub(crate) struct Worker<'m, 'c, T: Types> {
    pub(crate) machine: &'m Machine<T::Files, T::Engine, T::Sink>,
    pub(crate) cx: &'c mut T::Context,
    pub(crate) parts: Box<Parts<T::Engine>>,
    /// The task's place among those that wait in the order of paths.
    pub(crate) place: Option<Place>,
}

/// The types of one scan and of the context that its tasks run in.
pub(crate) trait Types {
    type Files: FileSystem;
    type Engine: Engine;
    type Sink: Sink;
    type Context: Context<Self::Files, Self::Engine, OutputOf<Self>>;
}

impl<F, E, K, C> Types for (F, E, K, C)
where
    F: FileSystem,
    E: Engine,
    K: Sink,
    C: Context<F, E, K::Output>,
{
    type Files = F;
    type Engine = E;
    type Sink = K;
    type Context = C;
}

pub(crate) type OutputOf<T> = <<T as Types>::Sink as Sink>::Output;

pub(crate) type TaskOf<T> = Task<<T as Types>::Files, OutputOf<T>>;

pub(crate) type FileOf<T> = <<T as Types>::Files as FileSystem>::File;

/// Why a read ended.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed {
        offset: u64,
        error: io::Error,
    },
    Cancelled,
    TooLong {
        max: u64,
    },
    /// It is no file.
    Replaced,
}

impl<F: FileSystem, E: Engine, K: Sink> Machine<F, E, K> {
    /// A scan of files that the caller names.
    pub fn local(files: F, engine: E, config: LocalConfig, sink: K) -> Self {
        let waiting = config
            .open_files_max
            .saturating_sub(OPEN_A_WORKER * config.workers);
        let shared_buffers = config.pool_buffers.max(config.workers);
        let counters = Counters::new(config.max_in_flight_objects, waiting, shared_buffers);
        Self {
            files,
            engine,
            sink,
            tree: None,
            counters: Arc::new(counters),
            window: Window::new(&config),
            queue: config.sort.then(|| Queue::new(config.workers)),
            cancel: CancelToken::default(),
            progress: Arc::default(),
            long_files: AtomicUsize::new(0),
            turn: TURN,
            next_id: AtomicU64::new(0),
            failure: Mutex::new(None),
            config,
        }
    }

    /// A scan of files and directories.
    pub fn tree(files: F, engine: E, config: &ParallelScanConfig, sink: K) -> Self {
        Self {
            tree: Some(Walk {
                rules: Rules::new(config),
                follow: config.follow_symlinks,
            }),
            ..Self::local(files, engine, config.to_local_config(), sink)
        }
    }

    /// Lets others end this scan, and see how far it is.
    #[must_use]
    pub fn watched(mut self, cancel: CancelToken, progress: Arc<Progress>) -> Self {
        self.cancel = cancel;
        self.progress = progress;
        self
    }

    /// Turns of a directory take `names` names, at most 64: for tests.
    #[must_use]
    pub fn in_turns_of(mut self, names: usize) -> Self {
        self.turn = names.clamp(1, TURN);
        self
    }

    /// A worker's scratch value.
    pub fn scratch(&self) -> LocalScratch<E> {
        self.counters.buffers.take(1);
        LocalScratch::new(&self.engine, &self.counters, self.config.chunk_size)
    }

    /// What bounds this scan.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The sink.
    pub fn sink(&self) -> &K {
        &self.sink
    }

    /// Runs one task.
    pub fn run<C: Context<F, E, K::Output>>(&self, task: Task<F, K::Output>, cx: &mut C) {
        let parts = cx.scratch().take();
        let mut worker = Worker::<(F, E, K, C)> {
            machine: self,
            cx,
            parts,
            place: None,
        };
        worker.task(task);
        worker.done();
        let Worker { cx, parts, .. } = worker;
        cx.scratch().put(parts);
    }

    /// Puts out what the workers still have, after the last task. Returns the sums.
    ///
    /// # Errors
    ///
    /// The sink's first.
    pub fn end(&self, mut scratches: Vec<LocalScratch<E>>) -> io::Result<Summary> {
        let mut summary = Summary::default();
        for scratch in &mut scratches {
            summary.add(&scratch.summary());
            let put = self
                .window
                .put_whole(&self.sink, &mut Vec::new(), &mut scratch.out());
            self.check(put);
        }
        self.check(self.window.end(&self.sink));
        if let Some(error) = self.lock_failure().take() {
            return Err(error);
        }
        summary.printed = summary.printed.saturating_sub(self.window.left_out() as u64);
        summary.cancelled = self.cancel.is_cancelled();
        Ok(summary)
    }

    /// Numbers for objects that were discovered.
    pub(crate) fn ids(&self, objects: usize) -> u64 {
        // Ordering: Relaxed. Numbers, and nothing hangs on their order.
        self.next_id.fetch_add(objects as u64, Ordering::Relaxed)
    }

    /// The scan ends if the sink has failed.
    pub(crate) fn check(&self, done: io::Result<()>) {
        if let Err(error) = done {
            self.lock_failure().get_or_insert(error);
            self.cancel.cancel();
        }
    }

    /// Why a read failed: a cancelled scan waits for no bytes.
    pub(crate) fn stop(&self, offset: u64, error: io::Error) -> Stop {
        if error.kind() == io::ErrorKind::Interrupted && self.cancel.is_cancelled() {
            Stop::Cancelled
        } else {
            Stop::Failed { offset, error }
        }
    }

    pub(crate) fn follows(&self) -> bool {
        self.tree.as_ref().is_some_and(|tree| tree.follow)
    }

    fn lock_failure(&self) -> std::sync::MutexGuard<'_, Option<io::Error>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Types> Worker<'_, '_, T> {
    fn task(&mut self, task: TaskOf<T>) {
        match task {
            Task::Object(found) => self.object(found, true),
            Task::Cursor(cursor) => self.go_on(*cursor),
            Task::Chunks(chunked) => self.chunks(chunked),
            Task::Source(source) => self.source(source),
            Task::InOrder => self.in_order(),
        }
    }

    /// Runs tasks in the order of paths as long as one waits.
    fn in_order(&mut self) {
        let machine = self.machine;
        let Some(queue) = &machine.queue else {
            return;
        };
        let (mut run, mut ended) = (Vec::new(), Vec::new());
        loop {
            self.cx
                .access("take the next tasks", || queue.take(&mut ended, &mut run));
            if run.is_empty() {
                return;
            }
            for (place, task) in run.drain(..) {
                self.place = Some(place);
                self.task(task);
                ended.push(place);
            }
            self.done();
        }
    }

    /// Tasks were run, and what they have found waits for no more of them.
    fn done(&mut self) {
        if self.machine.window.is_sorted {
            self.put_ended();
        }
        self.tell();
    }

    /// Spawns tasks, so that the last one is the next to run.
    pub(crate) fn spawn(&mut self, tasks: impl Iterator<Item = TaskOf<T>>) {
        let (machine, place) = (self.machine, self.place);
        if let Some(queue) = &machine.queue {
            let asked = self.cx.access("put tasks", || queue.put(place, tasks));
            (0..asked).for_each(|_| self.cx.spawn_local(Task::InOrder));
        } else {
            tasks.for_each(|task| self.cx.spawn_local(task));
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.machine.cancel.is_cancelled()
    }

    /// Tells the progress what the task has counted: before objects are handed on, and at its end.
    /// Workers that count each name in one place wait for each other.
    pub(crate) fn tell(&mut self) {
        let Untold { discovered, reported } = std::mem::take(&mut self.parts.untold);
        self.machine.progress.has_discovered(discovered);
        self.machine.progress.has_reported(reported);
    }

    /// Objects were discovered.
    pub(crate) fn discovered(&mut self, objects: usize) {
        self.parts.summary.objects += objects as u64;
        self.parts.untold.discovered += objects as u64;
    }

    /// An object's one report. Its permit is given back.
    pub(crate) fn report(&mut self, found: Discovered<T::Files>, object: &Object, report: &Report) {
        self.report_of(object, report);
        drop(found);
    }

    /// The one report of an object without a permit.
    pub(crate) fn report_of(&mut self, object: &Object, report: &Report) {
        self.parts.summary.count(report);
        self.parts.untold.reported += 1;
        let machine = self.machine;
        self.cx.access("report", || machine.sink.report(object, report));
    }

    /// The report of an object that puts out nothing.
    pub(crate) fn end_without_output(&mut self, found: Discovered<T::Files>, report: &Report) {
        let position = found.position();
        let object = std::mem::take(&mut self.parts.object);
        self.report(found, &object, report);
        self.parts.object = object;
        if self.machine.window.is_sorted {
            let machine = self.machine;
            let gone = self.cx.access("nothing to put out", || {
                machine.window.gone(&machine.sink, std::iter::once(position))
            });
            machine.check(gone);
        }
    }
}

/// Reads once, again after a signal, and not after a cancel. Also returns whether the file is known
/// to end there.
pub(crate) fn read<F: FileSystem, E, K: Sink>(
    machine: &Machine<F, E, K>,
    cx: &mut impl Access,
    file: &F::File,
    offset: u64,
    into: &mut [u8],
) -> Result<(usize, bool), Stop> {
    loop {
        if machine.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        match cx.access("read", || machine.files.read_on(file, offset, into)) {
            Ok((got, is_last)) => {
                machine.progress.has_read(got as u64);
                return Ok((got, is_last));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Stop::Failed { offset, error }),
        }
    }
}

impl<F: FileSystem, E, K: Sink> fmt::Debug for Machine<F, E, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
