//! How a trace keeps events: on which lane, and by which clock.

use executor_core::ports::Clock;

use super::hub::Hub;
use crate::policy::PipelineEvent;
use crate::policy::board::select::find;
use crate::policy::guard::quietly_drop;
use crate::trace::{JobEntry, Recorder};

impl Hub {
    #[cold]
    pub(super) fn record(&self, recorder: &Recorder, event: &PipelineEvent<'_>) {
        // Visits bring their own times, so a bar is as long as the time counted as busy.
        let (worker, at_ns) = match *event {
            PipelineEvent::Entered { worker, at_ns, .. } | PipelineEvent::Left { worker, at_ns, .. } => {
                (Some(worker), at_ns)
            }
            PipelineEvent::Claimed { worker, .. } | PipelineEvent::Started { worker, .. } => {
                (Some(worker), self.now_ns())
            }
            PipelineEvent::Ended { at_ns, .. } => (self.own_worker(), at_ns),
            _ => (self.own_worker(), self.now_ns()),
        };
        let job = match *event {
            PipelineEvent::Submitted { job } | PipelineEvent::StageStarted { job, .. } => Some(job),
            _ => None,
        };
        let body = job.and_then(|job| find(self, job));
        let spec = body.as_ref().map(|body| (body.spec(), body.state.submitted_ns));
        let known = spec.as_ref().map(|(spec, since_ns)| (spec, *since_ns));
        if let Some(entry) = JobEntry::of(event, known) {
            recorder.record(worker, at_ns, entry);
        }
        quietly_drop(body);
    }
}
