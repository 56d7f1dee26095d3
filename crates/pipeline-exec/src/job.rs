//! A job as its user makes it, before and after an executor has it.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use executor_core::ports::{Native, NativeWord};

use crate::error::JobError;
use crate::job_id::{JobIds, next_id};
use crate::native::NativeBody;
use crate::policy::claim::{Claim, Claims, STAGES_MAX};
use crate::policy::guard;
use crate::policy::ledger::Failure;
use crate::policy::{Class, JobBody, JobSpec, Ledger};
use crate::stage::{PipelineStep, Stage, Steps};
use crate::step_cx::{Role, StepCx, Watch};

/// Work for a pipeline executor: stages that run one after another, each cut into slots that run in parallel.
///
/// Made by [`Job::from_steps`] or [`Job::builder`], run by [`PipelineExecutor::submit`](crate::PipelineExecutor::submit).
pub struct Job {
    /// What it is about; for people.
    pub table_name: String,
    /// Its name in messages and logs: `pipe-` and sixteen hexadecimal digits.
    pub id: String,
    /// Estimated work, in a unit that all jobs of an executor share: best the bytes to read, times a factor. 0 means not
    /// known; then the number of slots of the first stage stands for it.
    pub cost: u64,
    class: Class,
    deadline: Option<Duration>,
    /// `u32::MAX`: no limit. Narrow, so that a job that comes back in an error is a small one.
    workers_max: u32,
    stages: Box<[Arc<dyn Stage>]>,
    /// What was claimed by hand, once somebody does so: the first stage has been asked for its slots.
    by_hand: OnceLock<Box<Claims<NativeWord>>>,
}

impl Job {
    /// A job of one stage, in which each step is a slot: they may run at the same time and in any order.
    ///
    /// Its cost is the number of steps.
    #[must_use]
    pub fn from_steps(table_name: impl Into<String>, steps: Vec<Box<dyn PipelineStep>>) -> Self {
        Self::builder(table_name)
            .cost(steps.len() as u64)
            .stage(Arc::new(Steps(steps)))
            .build()
    }

    /// Starts a job; add its stages.
    pub fn builder(table_name: impl Into<String>) -> JobBuilder {
        JobBuilder {
            table_name: table_name.into(),
            id: None,
            cost: 0,
            class: Class::default(),
            deadline: None,
            workers_max: usize::MAX,
            stages: Vec::new(),
        }
    }

    /// Claims the next free slot and runs it here, by hand and without an executor: for tests of stages, and to see how claims
    /// work. Any number of threads may do so. Whoever runs the last slot of a stage finishes it, and starts the next.
    ///
    /// A failure closes the job. The rest of a job may be submitted.
    ///
    /// `None`: there is no slot to claim. Every slot is claimed, or the job has failed.
    ///
    /// ```
    /// use pipeline_exec::{Job, step};
    ///
    /// let job = Job::from_steps("two", vec![step(|_| Ok(())), step(|_| Err("no luck".into()))]);
    /// assert_eq!(job.get_next().unwrap().unwrap(), 0);
    /// assert!(job.get_next().unwrap().is_err());
    /// assert!(job.get_next().is_none());
    /// ```
    ///
    /// # Errors
    ///
    /// How the slot failed, or its stage's `finish`, or the next stage's `slots`.
    pub fn get_next(&self) -> Option<Result<usize, JobError>> {
        let mut failure = None;
        let claims = self.by_hand.get_or_init(|| {
            let claims = Claims::new(self.stages.len(), NativeWord::new);
            match guard::slots(&*self.stages[0], 0) {
                Ok(slots) => claims.begin(&Native, slots),
                Err(failed) => failure = Some(failed),
            }
            Box::new(claims)
        });
        if let Some(failure) = failure {
            return Some(Err(close(claims, failure)));
        }
        loop {
            let Claim::Slots { stage, slots, .. } = claims.claim(&Native, 1) else {
                return None;
            };
            let cx = StepCx::new(0, Role::Main, &self.id, self);
            let ran = slots
                .clone()
                .try_for_each(|slot| guard::run(&*self.stages[stage], stage, slot, &cx));
            let ran = ran.map_err(|failure| close(claims, failure));
            let ran = if claims.account(&Native, stage, slots.len()) && ran.is_ok() {
                self.finish(claims, stage, &cx)
                    .map_err(|failure| close(claims, failure))
            } else {
                ran
            };
            match (ran, slots.is_empty()) {
                (Err(error), _) => return Some(Err(error)),
                (Ok(()), false) => return Some(Ok(slots.start)),
                // A stage without slots was finished; there may be another behind it.
                (Ok(()), true) => {}
            }
        }
    }

    /// Slots claimed so far and slots in all, over the stages that have started by hand.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        self.by_hand
            .get()
            .map_or((0, 0), |claims| claims.progress(&Native))
    }

    fn finish(&self, claims: &Claims<NativeWord>, stage: usize, cx: &StepCx<'_>) -> Result<(), Failure> {
        if claims.is_closed(&Native) {
            return Ok(());
        }
        guard::finish(&*self.stages[stage], stage, cx)?;
        if let Some(next) = self.stages.get(stage + 1) {
            let slots = guard::slots(&**next, stage + 1)?;
            // Only a failure closes it, and a failed stage does not get here.
            let _started = claims.start(&Native, stage + 1, slots);
        }
        Ok(())
    }

    /// What an executor of `workers` workers puts into its table.
    pub(crate) fn into_body(self, workers: usize) -> NativeBody {
        let spec = JobSpec {
            table_name: self.table_name,
            id: self.id,
            cost: self.cost,
            class: self.class,
            deadline: self.deadline,
            workers_max: match self.workers_max {
                u32::MAX => usize::MAX,
                limit => limit as usize,
            },
            stages: self.stages.into_vec(),
        };
        let ledger = Mutex::new(Ledger::default());
        match self.by_hand.into_inner() {
            Some(claims) => JobBody::resume(spec, *claims, true, workers, ledger, NativeWord::new),
            None => JobBody::new(spec, workers, ledger, NativeWord::new),
        }
    }

    /// The job that was made into `body`, which nobody else has seen.
    pub(crate) fn from_body(body: NativeBody) -> Self {
        let (spec, claims, begun) = body.into_parts();
        let mut job = Self::from_spec(spec);
        if begun {
            job.by_hand = OnceLock::from(Box::new(claims));
        }
        job
    }

    /// A job again, of which nothing has run.
    pub(crate) fn from_spec(spec: JobSpec) -> Self {
        let JobSpec {
            table_name,
            id,
            cost,
            class,
            deadline,
            workers_max,
            stages,
        } = spec;
        Self {
            by_hand: OnceLock::new(),
            table_name,
            id,
            cost,
            class,
            deadline,
            workers_max: u32::try_from(workers_max).unwrap_or(u32::MAX),
            stages: stages.into_boxed_slice(),
        }
    }
}

/// Closes a job that failed by hand.
fn close(claims: &Claims<NativeWord>, failure: Failure) -> JobError {
    if let Some(left) = claims.close(&Native) {
        claims.account(&Native, left.stage, left.slots);
    }
    failure.into_error()
}

impl Watch for Job {
    fn is_cancelled(&self) -> bool {
        self.by_hand.get().is_some_and(|claims| claims.is_closed(&Native))
    }

    fn should_yield(&self) -> bool {
        false
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("table_name", &self.table_name)
            .field("id", &self.id)
            .field("cost", &self.cost)
            .field("stages", &self.stages.len())
            .finish_non_exhaustive()
    }
}

/// Builds a [`Job`] from its stages.
#[derive(Clone)]
#[must_use = "`build` makes the job"]
pub struct JobBuilder {
    table_name: String,
    id: Option<String>,
    cost: u64,
    class: Class,
    deadline: Option<Duration>,
    workers_max: usize,
    stages: Vec<Arc<dyn Stage>>,
}

impl JobBuilder {
    /// Adds a stage, which starts when those before it are finished.
    pub fn stage(mut self, stage: Arc<dyn Stage>) -> Self {
        self.stages.push(stage);
        self
    }

    /// Takes the job's name from `ids` instead of from the generator that the process shares.
    pub fn id_from(mut self, ids: &mut JobIds) -> Self {
        self.id = Some(ids.next_id());
        self
    }

    /// Estimated work, in a unit that all jobs of an executor share. The default, 0, means not known.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    /// How urgent it is. Default [`Class::Normal`].
    pub fn class(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// After this time from its submission the job is closed, at the next slot boundary, and fails with
    /// [`DeadlineExceeded`](crate::JobErrorKind::DeadlineExceeded). A job that only waits is closed by the next worker
    /// that comes to the board: while any of them works, within a quantum.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The most workers that may be in the job at the same time; at least 1. The default is all.
    ///
    /// # Panics
    ///
    /// If it is 0: nobody could run the job.
    pub fn max_workers(mut self, workers: usize) -> Self {
        assert!(workers > 0, "a job that no worker may run would never end");
        self.workers_max = workers;
        self
    }

    /// The job. Without stages it has nothing to do, and completes when a worker comes by.
    ///
    /// # Panics
    ///
    /// If it has more than [`STAGES_MAX`] stages.
    #[must_use]
    pub fn build(mut self) -> Job {
        if self.stages.is_empty() {
            self.stages.push(Arc::new(Steps(Vec::new())));
        }
        assert!(
            self.stages.len() <= STAGES_MAX,
            "a job can have at most {STAGES_MAX} stages, not {}",
            self.stages.len()
        );
        Job::from_spec(JobSpec {
            table_name: self.table_name,
            id: self.id.unwrap_or_else(next_id),
            cost: self.cost,
            class: self.class,
            deadline: self.deadline,
            workers_max: self.workers_max,
            stages: self.stages,
        })
    }
}

impl fmt::Debug for JobBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBuilder")
            .field("table_name", &self.table_name)
            .field("cost", &self.cost)
            .field("stages", &self.stages.len())
            .finish_non_exhaustive()
    }
}
