//! Scans from the outside: a directory, several paths, or a caller's own files.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use executor_core::ConfigError;
use executor_threaded::{BuildError, Executor};

use crate::cancel::CancelToken;
use crate::config::{LocalConfig, ParallelScanConfig};
use crate::engine::Engine;
use crate::files::Native;
use crate::machine::{FileSource, FileTask, Machine, SourceCursor, Task};
use crate::progress::Progress;
use crate::report::Summary;
use crate::sink::Sink;

/// Searches every file below `root` that the rules do not leave out, or `root` itself.
///
/// # Errors
///
/// Settings out of their range, threads that could not be started, or a sink that takes no more.
/// What cannot be read is no error of the scan: it is in the reports, and in the sums.
pub fn parallel_scan_dir<E: Engine, K: Sink>(
    root: &Path,
    engine: &E,
    config: &ParallelScanConfig,
    sink: &K,
) -> Result<Summary, ScanError> {
    let roots = vec![root.to_path_buf()];
    parallel_scan_paths(
        roots,
        engine,
        config,
        sink,
        CancelToken::default(),
        Arc::default(),
    )
}

/// Searches every file below each of `roots`, by one set of workers. `cancel` ends it early, and
/// `progress` tells how far it is.
///
/// # Errors
///
/// As of [`parallel_scan_dir`].
pub fn parallel_scan_paths<E: Engine, K: Sink>(
    roots: Vec<PathBuf>,
    engine: &E,
    config: &ParallelScanConfig,
    sink: &K,
    cancel: CancelToken,
    progress: Arc<Progress>,
) -> Result<Summary, ScanError> {
    config.validate()?;
    let machine = Machine::tree(Native::default(), engine, config, sink);
    let roots = roots.into_iter().zip(0..);
    let roots = roots.map(|(path, file_id)| FileTask { file_id, path });
    let roots: Vec<FileTask> = roots.collect();
    run(machine.watched(cancel, progress), roots.into_iter())
}

/// Searches the files that `source` names.
///
/// # Errors
///
/// As of [`parallel_scan_dir`].
pub fn scan_local<E: Engine, K: Sink>(
    engine: &E,
    source: impl FileSource + 'static,
    config: &LocalConfig,
    sink: &K,
) -> Result<Summary, ScanError> {
    scan_local_with_progress(
        engine,
        source,
        config,
        sink,
        CancelToken::default(),
        Arc::default(),
    )
}

/// Searches the files that `source` names. `cancel` ends it early, and `progress` tells how far it
/// is.
///
/// # Errors
///
/// As of [`parallel_scan_dir`].
pub fn scan_local_with_progress<E: Engine, K: Sink>(
    engine: &E,
    source: impl FileSource + 'static,
    config: &LocalConfig,
    sink: &K,
    cancel: CancelToken,
    progress: Arc<Progress>,
) -> Result<Summary, ScanError> {
    config.validate()?;
    let machine = Machine::local(Native::default(), engine, config.clone(), sink);
    run(machine.watched(cancel, progress), source)
}

/// Searches one file by the calling thread's side, with one worker.
///
/// # Errors
///
/// As of [`parallel_scan_dir`].
pub fn process_file<E: Engine, K: Sink>(
    task: FileTask,
    engine: &E,
    config: &LocalConfig,
    sink: &K,
) -> Result<Summary, ScanError> {
    let config = LocalConfig {
        workers: 1,
        ..config.clone()
    };
    scan_local(engine, std::iter::once(task), &config, sink)
}

fn run<E: Engine, K: Sink>(
    machine: Machine<Native, E, K>,
    source: impl FileSource + 'static,
) -> Result<Summary, ScanError> {
    let config = machine.config.to_executor_config();
    let source = Arc::new(SourceCursor::new(Box::new(source)));
    let report = Executor::builder().config(config).thread_name("scan").scope(
        |_worker| machine.scratch(),
        |task, cx| machine.run(task, cx),
        |executor| executor.spawn(Task::Source(source)),
    )?;
    Ok(machine.end(report.scratches)?)
}

/// Why a scan did not take place, or not to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum ScanError {
    /// A setting is out of its range.
    Config(ConfigError),
    /// The workers could not be started.
    Threads(BuildError),
    /// The sink took no more.
    Sink(io::Error),
}

impl From<ConfigError> for ScanError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<BuildError> for ScanError {
    fn from(error: BuildError) -> Self {
        Self::Threads(error)
    }
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Sink(error)
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Threads(error) => error.fmt(f),
            Self::Sink(error) => write!(f, "cannot write: {error}"),
        }
    }
}

impl Error for ScanError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => Some(error),
            Self::Threads(error) => Some(error),
            Self::Sink(error) => Some(error),
        }
    }
}
