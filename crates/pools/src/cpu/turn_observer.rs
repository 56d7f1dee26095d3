//! Who is told of the polls of a job, for pictures of what each worker runs.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Is told of each poll of a job's futures: see
/// [`JobOptions::observer`](super::JobOptions::observer). Calls come from the thread that polls,
/// between polls, so they should take less than a microsecond, and must not panic. `worker` is the
/// [number of the worker](pipeline_exec::StepCx::worker_id).
pub trait TurnObserver: Send + Sync + 'static {
    /// A poll begins.
    fn polls(&self, worker: usize, began: Instant);

    /// A poll is over.
    fn polled(&self, worker: usize, began: Instant, ended: Instant);
}

/// An observer as an option. Two are equal if they are the same.
#[derive(Clone)]
pub(super) struct Observer(pub(super) Arc<dyn TurnObserver>);

impl PartialEq for Observer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Observer {}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
