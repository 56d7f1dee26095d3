//! The `tracing` events of jobs, each in its job's span: DEBUG, and WARN for failures.

use tracing::{debug, warn};

use super::hub::{Hub, NativeBody};
use crate::policy::board::select::find;
use crate::policy::guard::{self, quietly_drop};
use crate::policy::{JobHandle, PipelineEvent};

#[inline(always)]
pub(super) fn is_logged(event: &PipelineEvent<'_>) -> bool {
    matches!(
        event,
        PipelineEvent::Submitted { .. }
            | PipelineEvent::StageStarted { .. }
            | PipelineEvent::StageOver { .. }
            | PipelineEvent::Failed { .. }
            | PipelineEvent::Ended { .. }
    )
}

impl Hub {
    #[cold]
    pub(super) fn log(&self, event: &PipelineEvent<'_>) {
        match *event {
            PipelineEvent::Submitted { job } => self.with(job, |body| {
                body.spans.in_job(|| debug!("job submitted"));
            }),
            PipelineEvent::StageStarted { job, stage, slots } => self.with(job, |body| {
                body.spans.stage_started(stage, body.stages.stage(stage), slots);
                body.spans.in_job(|| debug!(stage, slots, "stage started"));
            }),
            PipelineEvent::StageOver { job, stage } => self.with(job, |body| {
                body.spans.in_job(|| debug!(stage, "stage over"));
                body.spans.stage_over(stage);
            }),
            PipelineEvent::Failed { job, failure } => self.with(job, |body| {
                // The thread that runs a slot is already in its stage's span.
                let log = || {
                    warn!(
                        stage = failure.stage,
                        slot = failure.slot,
                        step = failure.name,
                        panicked = failure.panicked,
                        error = guard::text(&failure.error),
                        "step failed"
                    );
                };
                if failure.slot.is_some() {
                    log();
                } else {
                    body.spans.in_job(log);
                }
            }),
            PipelineEvent::Ended {
                spans,
                error,
                slots,
                wait_ns,
                run_ns,
                ..
            } => spans.in_job(|| match error {
                None => debug!(slots, wait_ns, run_ns, "job completed"),
                Some(error) => {
                    let error = guard::text(error);
                    debug!(slots, wait_ns, run_ns, error, "job ended early");
                }
            }),
            PipelineEvent::Entered { .. }
            | PipelineEvent::Claimed { .. }
            | PipelineEvent::Started { .. }
            | PipelineEvent::SlotRan { .. }
            | PipelineEvent::Inner(_)
            | PipelineEvent::Left { .. } => {}
        }
    }

    fn with(&self, job: JobHandle, act: impl FnOnce(&NativeBody)) {
        let body = find(self, job);
        if let Some(body) = &body {
            act(body);
        }
        quietly_drop(body);
    }
}
