//! A job as its user specifies it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::job_id::JobId;
use crate::output::JobOutput;
use crate::stage_graph::StageGraph;

#[derive(Clone)]
pub struct JobSpec {
    pub table_name: Cow<'static, str>,
    pub id: JobId,
    /// See [`JobBuilder::cost`](crate::JobBuilder::cost).
    pub cost: Option<u64>,
    /// `None` means the defaults. Boxed to keep the many jobs without options small.
    pub terms: Option<Box<Terms>>,
    pub stages: StageGraph,
    pub output: Option<Arc<JobOutput>>,
}

/// A job's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How urgent the job is.
    pub class: Class,
    /// Time from submission to the deadline.
    pub deadline: Option<Duration>,
    /// Largest number of workers in the job at the same time.
    pub workers_max: usize,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            class: Class::default(),
            deadline: None,
            workers_max: usize::MAX,
        }
    }
}

impl Terms {
    /// Returns `None` for the default options.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl JobSpec {
    #[must_use]
    pub fn new(table_name: impl Into<Cow<'static, str>>, id: JobId, stages: StageGraph) -> Self {
        Self {
            table_name: table_name.into(),
            id,
            cost: None,
            terms: None,
            stages,
            output: None,
        }
    }

    /// Tasks are [spawned](crate::policy::grow::spawn) while the job runs.
    #[must_use]
    pub fn of_tasks(table_name: impl Into<Cow<'static, str>>, id: JobId) -> Self {
        Self::new(table_name, id, StageGraph::of_tasks())
    }

    #[must_use]
    pub fn terms(&self) -> Terms {
        self.terms.as_deref().copied().unwrap_or_default()
    }
}

/// How urgent a job is: the weight of the service that it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// A person waits. Service counts a quarter, so the job gets four times a normal job's share.
    Interactive,
    /// Service counts as it is.
    #[default]
    Normal,
    /// No person waits. Service counts four times, so the job gets a quarter of a normal job's
    /// share.
    Batch,
}

impl Class {
    /// All classes, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Normal, Self::Batch];

    /// The name in tables and events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Normal => "normal",
            Self::Batch => "batch",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    Stated(u64),
    Slots(u64),
}

impl fmt::Debug for JobSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobSpec")
            .field("table_name", &self.table_name)
            .field("id", &self.id)
            .field("cost", &self.cost)
            .field("terms", &self.terms())
            .field("stages", &self.stages.len())
            .finish_non_exhaustive()
    }
}
