//! The hook of the process: what DataFusion spawns while a job's task is polled becomes a task of
//! that job.
//!
//! ```text
//!   a worker polls a task of job 7
//!        └─► SpawnedTask::spawn(f) ──► Hook::trace_future(f)
//!                  │                        └─► AsyncJob::current() is job 7: f becomes its task
//!                  ▼
//!            tokio's task: a proxy that awaits the task of job 7
//! ```
//!
//! `datafusion-common-runtime` gives every future that it spawns to one tracer of the process, on
//! the thread that spawns. On a thread that polls for no job the future comes back as it was, so a
//! session that knows nothing of this crate is not changed by it.
//!
//! Aborting tokio's task drops the proxy, which cancels the task of the job. A panic of the future
//! is resumed in the proxy, so tokio reports it as one of its own tasks. Closures for threads that
//! may block are left alone.

mod proxy;
#[cfg(feature = "plan")]
pub(crate) mod watch;

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};

use datafusion_common_runtime::{JoinSetTracer, set_join_set_tracer};
use pools::AsyncJob;

use self::proxy::Proxy;

/// What DataFusion hands to its tracer: the output is boxed, whatever its type.
type Output = Box<dyn Any + Send>;
type Spawned = Pin<Box<dyn Future<Output = Output> + Send>>;
type Block = Box<dyn FnOnce() -> Output + Send>;

static HOOK: Hook = Hook;

/// The tracer around whose futures the hook is put, once the hook is installed.
static AROUND: OnceLock<Option<Box<dyn JoinSetTracer>>> = OnceLock::new();

/// Where the process installed the hook.
static INSTALLED: Mutex<Option<&'static Location<'static>>> = Mutex::new(None);

/// Sets the hook of the process, or finds it set by an earlier call.
pub(crate) fn install(
    around: Option<Box<dyn JoinSetTracer>>,
    at: &'static Location<'static>,
) -> Result<(), HookTaken> {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    match *installed {
        Some(_) if around.is_none() => return Ok(()),
        Some(at) => return Err(HookTaken::ByWindlass { at }),
        None => {}
    }
    // Before the hook is called. Where the hook is not to be had this stays unused for ever: a
    // tracer is never unset.
    AROUND.get_or_init(|| around);
    set_join_set_tracer(&HOOK).map_err(|_already_set| HookTaken::ByAnother)?;
    *installed = Some(at);
    Ok(())
}

struct Hook;

impl JoinSetTracer for Hook {
    fn trace_future(&self, future: Spawned) -> Spawned {
        let future = match around() {
            Some(tracer) => tracer.trace_future(future),
            None => future,
        };
        match AsyncJob::current() {
            Some(job) => Box::pin(Proxy::new(job.spawn_boxed(watched(future)))),
            None => future,
        }
    }

    fn trace_block(&self, block: Block) -> Block {
        match around() {
            Some(tracer) => tracer.trace_block(block),
            None => block,
        }
    }
}

/// The same, watched by what watches the spawner.
#[cfg(feature = "plan")]
fn watched(future: Spawned) -> Spawned {
    match watch::current() {
        Some(watch) => Box::pin(watch::Watched::new(future, watch)),
        None => future,
    }
}

/// The same: without plans nothing is watched.
#[cfg(not(feature = "plan"))]
fn watched(future: Spawned) -> Spawned {
    future
}

fn around() -> Option<&'static dyn JoinSetTracer> {
    AROUND.get()?.as_deref()
}

/// Why the hook of the process could not be set. DataFusion has one for each process, and it cannot
/// be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookTaken {
    /// This crate has it, installed without the tracer that was to be wrapped now. Nothing has
    /// changed: queries are jobs, and the tracer sees nothing.
    ByWindlass {
        /// The first call that installed it.
        at: &'static Location<'static>,
    },
    /// Another part of the program called `set_join_set_tracer` first. DataFusion does not say
    /// which: its tasks go through that tracer, and no query becomes a job.
    ByAnother,
}

impl fmt::Display for HookTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByWindlass { at } => write!(
                f,
                "windlass has been installed at {at} without a tracer; call `Windlass::install_around` there, before any \
                 `Windlass::install`"
            ),
            Self::ByAnother => f.write_str(
                "another part of the program has called `set_join_set_tracer`; give that tracer to \
                 `Windlass::install_around` in place of that call",
            ),
        }
    }
}

impl Error for HookTaken {}
