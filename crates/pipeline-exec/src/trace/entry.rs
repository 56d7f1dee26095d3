//! The entries of a recorded trace.

use std::ops::Range;

use crate::error::JobErrorKind;
use crate::policy::{JobSpec, PipelineEvent, guard};
use crate::step_cx::Role;

/// An event of a job in a lane. `seq` is the job's number of submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEntry {
    /// The lane's party has submitted a job.
    Submitted {
        /// The job.
        seq: usize,
        /// Name of the job's subject.
        table: String,
        /// The job's id.
        id: String,
        /// Nanoseconds at which the submission began.
        since_ns: u64,
    },
    /// A stage has started.
    StageStarted {
        /// The job.
        seq: usize,
        /// Number of the stage.
        stage: usize,
        /// The stage's name.
        name: String,
        /// Number of its slots.
        slots: usize,
    },
    /// The lane's worker has come to a job.
    Entered {
        /// The job.
        seq: usize,
        /// Its role.
        role: Role,
    },
    /// The job's first slot was claimed.
    Started {
        /// The job.
        seq: usize,
    },
    /// The lane's worker has claimed slots and begins to run them.
    Claimed {
        /// The job.
        seq: usize,
        /// Number of the stage.
        stage: usize,
        /// The slots.
        slots: Range<usize>,
    },
    /// Something failed.
    Failed {
        /// The job.
        seq: usize,
        /// Name and error of what failed.
        what: String,
    },
    /// A stage is over, and the lane's party is about to finish it.
    StageOver {
        /// The job.
        seq: usize,
        /// Number of the stage.
        stage: usize,
    },
    /// The job has ended.
    Ended {
        /// The job.
        seq: usize,
        /// The reason, unless it completed.
        early: Option<JobErrorKind>,
    },
    /// The lane's worker leaves its job.
    Left,
}

impl JobEntry {
    /// Makes the entry of `event`, or `None` if the event is not drawn. `job` is the job's
    /// specification and the nanoseconds at which its submission began, if known.
    #[must_use]
    pub fn of(event: &PipelineEvent<'_>, job: Option<(&JobSpec, u64)>) -> Option<Self> {
        Some(match *event {
            PipelineEvent::Submitted { job: handle } => {
                let (table, id, since_ns) = job.map_or_else(Default::default, |(spec, since_ns)| {
                    (
                        spec.table_name.clone().into_owned(),
                        spec.id.to_string(),
                        since_ns,
                    )
                });
                Self::Submitted {
                    seq: handle.seq,
                    table,
                    id,
                    since_ns,
                }
            }
            PipelineEvent::StageStarted {
                job: handle,
                stage,
                slots,
            } => Self::StageStarted {
                seq: handle.seq,
                stage,
                name: job.map_or_else(String::new, |(spec, _)| {
                    guard::name(spec.stages.stage(stage), stage)
                }),
                slots,
            },
            PipelineEvent::Entered { job, role, .. } => Self::Entered { seq: job.seq, role },
            PipelineEvent::Started { job, .. } => Self::Started { seq: job.seq },
            PipelineEvent::Claimed {
                job,
                stage,
                first,
                slots,
                ..
            } => Self::Claimed {
                seq: job.seq,
                stage,
                slots: first..first + slots,
            },
            PipelineEvent::SlotRan { .. } | PipelineEvent::Inner(_) => return None,
            PipelineEvent::Failed { job, failure } => Self::Failed {
                seq: job.seq,
                what: format!("{}: {}", failure.name, guard::text(&failure.error)),
            },
            PipelineEvent::Left { .. } => Self::Left,
            PipelineEvent::StageOver { job, stage } => Self::StageOver { seq: job.seq, stage },
            PipelineEvent::Ended { job, error, .. } => Self::Ended {
                seq: job.seq,
                early: error.map(|error| error.kind),
            },
        })
    }
}
