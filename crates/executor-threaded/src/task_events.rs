//! Every task as an event of `tracing`, behind the feature `task-events`.

use executor_core::{ExecTraceEvent, TraceHooks};

#[derive(Debug)]
pub(crate) struct TaskEvents<H>(pub(crate) H);

impl<T, H: TraceHooks<T>> TraceHooks<T> for TaskEvents<H> {
    type Tag = H::Tag;

    fn tag(&mut self, task: &T) -> H::Tag {
        self.0.tag(task)
    }

    fn event(&mut self, event: ExecTraceEvent<H::Tag>) {
        match &event {
            ExecTraceEvent::TaskStart { source, victim, .. } => {
                tracing::trace!(?source, victim, "task started");
            }
            ExecTraceEvent::TaskEnd { .. } => tracing::trace!("task ended"),
            ExecTraceEvent::Returned { .. } => tracing::trace!("task returned"),
            ExecTraceEvent::Park => tracing::trace!("worker parks"),
            ExecTraceEvent::Awake { woken } => tracing::trace!(woken, "worker awake"),
            // `WorkerMain` reports these.
            ExecTraceEvent::Panicked | ExecTraceEvent::Exit => {}
        }
        self.0.event(event);
    }
}
