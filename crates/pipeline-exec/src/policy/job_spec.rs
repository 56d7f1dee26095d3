//! What a user says about a job: what it is about, its stages, and how it is to be run.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::job_id::JobId;
use crate::output::JobOutput;
use crate::stage_graph::StageGraph;

/// What a user says about a job: plain data.
#[derive(Clone)]
pub struct JobSpec {
    /// What it is about; for people.
    pub table_name: Cow<'static, str>,
    /// Its name; for people and logs.
    pub id: JobId,
    /// Estimated work, in any unit that all jobs of an executor share. 0: not known, so the slots of the stages that start with it.
    pub cost: u64,
    /// How it is to be run; `None`: as usual. Elsewhere, since this lies in every job, and a small body is soon freed by another thread
    /// than the one that made it.
    pub terms: Option<Box<Terms>>,
    /// Its stages, at least one.
    pub stages: StageGraph,
    /// Made when the last stage is over, if it gives something.
    pub output: Option<Arc<JobOutput>>,
}

/// How a job is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How urgent it is.
    pub class: Class,
    /// From its submission on.
    pub deadline: Option<Duration>,
    /// The most workers that may be in it at the same time.
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
    /// As a job has them: nothing, if they are the usual ones.
    #[must_use]
    pub fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

impl JobSpec {
    /// A job of which nothing is said but what it is about and its stages.
    #[must_use]
    pub fn new(table_name: impl Into<Cow<'static, str>>, id: JobId, stages: StageGraph) -> Self {
        Self {
            table_name: table_name.into(),
            id,
            cost: 0,
            terms: None,
            stages,
            output: None,
        }
    }

    /// A job that grows: it is made of the tasks that are [spawned](super::grow::spawn) while it runs.
    #[must_use]
    pub fn of_tasks(table_name: impl Into<Cow<'static, str>>, id: JobId) -> Self {
        Self::new(table_name, id, StageGraph::of_tasks())
    }

    /// How it is to be run.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.terms.as_deref().copied().unwrap_or_default()
    }
}

/// How urgent a job is. It weighs the service that a job receives: main workers take the job with the least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// Somebody waits: service counts a quarter, so it gets four times a normal job's share.
    Interactive,
    /// The middle.
    #[default]
    Normal,
    /// Nobody waits: service counts four times, so it gets a quarter of a normal job's share.
    Batch,
}

impl Class {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Normal, Self::Batch];

    /// What tables and events call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Normal => "normal",
            Self::Batch => "batch",
        }
    }
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
