//! A job as its user makes it, before and after an executor has it.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use executor_core::ports::{Native, NativeWord};

use crate::error::JobError;
use crate::job_id::{JobIds, next_id};
use crate::native::NativeBody;
use crate::policy::claim::{Claim, Claims, STAGES_MAX};
use crate::policy::finish;
use crate::policy::ledger::Failure;
use crate::policy::{Class, JobBody, JobSpec, Ledger};
use crate::policy::{Piece, guard};
use crate::stage::{PipelineStep, Stage, Steps};
use crate::stage_graph::StageGraph;
use crate::step_cx::{Role, StepCx, Watch};

/// Work for a pipeline executor: stages, each cut into slots that run in parallel.
///
/// Made by [`Job::from_steps`] or [`Job::builder`], run by [`PipelineExecutor::submit`](crate::PipelineExecutor::submit).
pub struct Job {
    /// What it is about; for people.
    pub table_name: String,
    /// Its name in messages and logs: `pipe-` and sixteen hexadecimal digits.
    pub id: String,
    /// Estimated work, in a unit that all jobs of an executor share: best the bytes to read, times a factor. 0 means not
    /// known; then the number of slots of the stages that start with it stands for it.
    pub cost: u64,
    class: Class,
    deadline: Option<Duration>,
    /// `u32::MAX`: no limit. Narrow, so that a job that comes back in an error is a small one.
    workers_max: u32,
    stages: StageGraph,
    /// What was claimed by hand, once somebody does so: the first stages have been asked for their slots.
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
            stages: StageGraph::default(),
        }
    }

    /// Claims the next free slot and runs it here, by hand and without an executor: for tests of stages, and to see how claims
    /// work. Any number of threads may do so. Whoever runs the last slot of a stage finishes it, and starts those that have waited for it.
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
    /// How the slot failed, or its stage's `finish`, or the `slots` of a stage behind it.
    pub fn get_next(&self) -> Option<Result<usize, JobError>> {
        let mut failure = None;
        let claims = self.by_hand.get_or_init(|| {
            let claims = Claims::new(self.stages.counts(), NativeWord::new);
            failure = finish::begin(&Native, &claims, &self.stages).err();
            Box::new(claims)
        });
        if let Some(failure) = failure {
            return Some(Err(close(claims, failure)));
        }
        loop {
            // By hand nothing is given back.
            let Claim::Slots { piece, .. } = claims.claim(&Native, |_stage, _left| 1) else {
                return None;
            };
            let Piece { stage, slots } = piece;
            let cx = StepCx::new(0, Role::Main, &self.id, self);
            let ran = slots
                .clone()
                .try_for_each(|slot| guard::run(self.stages.stage(stage), stage, slot, &cx));
            let mut ran = ran.map_err(|failure| close(claims, failure));
            if claims.account(&Native, stage, slots.len()) {
                let finished = finish::finish(&Native, claims, &self.stages, stage, &cx, || {}, |_, _| {});
                // After a failure nothing is finished.
                ran = ran.and(finished.map_err(|failure| close(claims, failure)));
                claims.finished(&Native);
            }
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
            stages: self.stages,
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
            stages,
        }
    }
}

/// Closes a job that failed by hand.
fn close(claims: &Claims<NativeWord>, failure: Failure) -> JobError {
    if let Some(left) = claims.close(&Native) {
        claims.give_up(&Native, &left.stages);
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
    stages: StageGraph,
}

impl JobBuilder {
    /// Adds a stage, which starts when all those are finished that were added before and that nothing follows yet. So stages that are added by
    /// this alone run one after another.
    pub fn stage(mut self, stage: Arc<dyn Stage>) -> Self {
        self.stages.then(stage);
        self
    }

    /// Adds a stage, which starts when those with the numbers `before` are finished; if there are none, with the job. Stages are numbered
    /// from 0 in the order in which they are added. The slots of stages that do not wait for one another run at the same time.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use pipeline_exec::{Job, PipelineExecutor, Stage, StepCx, StepError};
    ///
    /// /// Says its name.
    /// struct Says(&'static str, Arc<Mutex<Vec<&'static str>>>);
    ///
    /// impl Stage for Says {
    ///     fn slots(&self) -> usize { 1 }
    ///     fn run(&self, _slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
    ///         self.1.lock().unwrap().push(self.0);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let said = Arc::default();
    /// let says = |name| Arc::new(Says(name, Arc::clone(&said)));
    /// let diamond = Job::builder("orders")
    ///     .stage(says("read")) // 0
    ///     .stage_after(&[0], says("sum by price")) // 1
    ///     .stage_after(&[0], says("sum by city")) // 2, beside 1
    ///     .stage(says("compare")) // 3: after 1 and 2, which nothing follows yet
    ///     .build();
    /// PipelineExecutor::new(2)?.submit(diamond)?.wait()?;
    /// let said = said.lock().unwrap();
    /// assert_eq!((said[0], said[3]), ("read", "compare"));
    /// assert!(said[1..3].contains(&"sum by price") && said[1..3].contains(&"sum by city"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a number is not that of a stage that was added before, so that stages cannot wait for each other in a circle; or if it
    /// stands there twice.
    pub fn stage_after(mut self, before: &[usize], stage: Arc<dyn Stage>) -> Self {
        self.stages.after(before, stage);
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
    /// [`DeadlineExceeded`](crate::JobErrorKind::DeadlineExceeded). The boundary is when a worker looks at the job: nobody watches the clock in between.
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
            self.stages.then(Arc::new(Steps(Vec::new())));
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
