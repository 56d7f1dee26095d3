//! The hook of the process: a future that DataFusion spawns in a job becomes a task of that job.
//!
//! ```text
//!   a worker polls a task of job 7
//!        └─► SpawnedTask::spawn(f) ──► Hook::trace_future(f)
//!                  │                        └─► AsyncJob::current() is job 7: f becomes its task
//!                  ▼
//!            tokio's task: a proxy that awaits the task of job 7
//! ```
//!
//! `datafusion-common-runtime` passes every spawned future to the process's tracer, on the spawning
//! thread. Outside of jobs the future is returned unchanged. Blocking closures are left alone.
//!
//! Aborting tokio's task drops the proxy, which cancels the job's task. The future's panic resumes
//! in the proxy.

mod proxy;
#[cfg(feature = "plan")]
pub(crate) mod watch;

use std::error::Error;
use std::fmt;
use std::panic::Location;
use std::sync::{Mutex, OnceLock};

use datafusion_common_runtime::{JoinSetTracer, set_join_set_tracer};
use pipeline_exec::lock;
use pools::AsyncJob;

use self::proxy::{Output, Proxy, Spawned};

type Block = Box<dyn FnOnce() -> Output + Send>;

static HOOK: Hook = Hook;

static AROUND: OnceLock<Option<Box<dyn JoinSetTracer>>> = OnceLock::new();

static INSTALLED: Mutex<Option<&'static Location<'static>>> = Mutex::new(None);

pub(crate) fn install(
    around: Option<Box<dyn JoinSetTracer>>,
    at: &'static Location<'static>,
) -> Result<(), HookTaken> {
    let mut installed = lock(&INSTALLED);
    match *installed {
        Some(_) if around.is_none() => return Ok(()),
        Some(at) => return Err(HookTaken::ByWindlass { at }),
        None => {}
    }
    // Unused if another tracer has the hook.
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

#[cfg(feature = "plan")]
fn watched(future: Spawned) -> Spawned {
    match watch::current() {
        Some(watch) => Box::pin(watch::Watched::new(future, watch)),
        None => future,
    }
}

#[cfg(not(feature = "plan"))]
fn watched(future: Spawned) -> Spawned {
    future
}

fn around() -> Option<&'static dyn JoinSetTracer> {
    AROUND.get()?.as_deref()
}

/// Why the hook could not be set; a process has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookTaken {
    /// This crate has installed the hook, without this tracer.
    ByWindlass {
        /// The first call that installed it.
        at: &'static Location<'static>,
    },
    /// Another part of the program has the hook, so no query becomes a job.
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
