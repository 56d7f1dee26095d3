//! A job, before an executor has it and after.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use executor_core::ports::{Native, NativeWord};

use crate::detached::by_hand_here;
use crate::error::{JobError, JobErrorKind, StepError};
use crate::job_id::{JobId, JobIds, next_id};
use crate::native::NativeBody;
use crate::output::{Make, Output};
use crate::policy::job::by_hand::{self, Work};
use crate::policy::job::claim::STAGES_MAX;
use crate::policy::job::ledger::Failure;
use crate::policy::job::{finish, nested};
use crate::policy::{Claims, Class, JobBody, JobSpec, Ledger, Terms};
use crate::report::{JobEnd, JobReport};
use crate::stage::{PipelineStep, Stage};
use crate::stage_graph::StageGraph;
use crate::step_cx::{Nest, Role, StepCx, Watch};

/// Stages of slots that run in parallel on a pipeline executor. `T` is the job's output
/// ([`JobBuilder::output`]).
pub struct Job<T = ()> {
    /// The job's subject, for people.
    pub table_name: Cow<'static, str>,
    /// Name in messages and logs.
    pub id: JobId,
    cost: Option<NonZeroU64>,
    /// The box keeps a job inside an error small.
    terms: Option<Box<Terms>>,
    stages: StageGraph,
    by_hand: OnceLock<Box<Claims<NativeWord>>>,
    output: Output<T>,
}

impl Job {
    /// Makes a job of one stage with a slot per step.
    #[must_use]
    pub fn from_steps(table_name: impl Into<Cow<'static, str>>, steps: Vec<Box<dyn PipelineStep>>) -> Self {
        let mut builder = Self::builder(table_name);
        builder.stages = StageGraph::of_steps(steps);
        builder.build()
    }

    /// Starts a job without stages.
    pub fn builder(table_name: impl Into<Cow<'static, str>>) -> JobBuilder {
        JobBuilder {
            table_name: table_name.into(),
            id: None,
            cost: None,
            terms: Terms::default(),
            stages: StageGraph::default(),
            output: Making::Nothing(()),
        }
    }

    /// Restores the output type of a job from [`shutdown`](crate::PipelineExecutor::shutdown), so
    /// that its ticket returns the output.
    ///
    /// ```
    /// use pipeline_exec::{Job, JobStatus, PipelineExecutor, step};
    ///
    /// let executor = PipelineExecutor::new(1)?;
    /// let until_told_to_stop = step(|cx| { while !cx.is_cancelled() { std::thread::yield_now() } Ok(()) });
    /// let busy = executor.submit(Job::from_steps("busy", vec![until_told_to_stop, step(|_cx| Ok(()))]))?;
    /// while busy.status() == JobStatus::Queued { std::thread::yield_now() }
    /// let ticket = executor.submit(Job::builder("sum").output(|_cx| Ok(1 + 2)).build())?;
    ///
    /// let mut handed_back = executor.shutdown();
    /// assert!(ticket.wait().is_err());
    /// let job = handed_back.remove(0).downcast::<i32>().map_err(|_| "it gives something else")?;
    /// assert_eq!(PipelineExecutor::new(1)?.submit(job)?.wait()?.output, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the unchanged job if it has no output of type `T`.
    pub fn downcast<T: Send + 'static>(self) -> Result<Job<T>, Self> {
        match self.output.remember() {
            Some(output) => Ok(self.giving(output).0),
            None => Err(self),
        }
    }

    pub(crate) fn from_spec(mut spec: JobSpec) -> Self {
        let output = Output::forgotten(spec.output.take());
        Self::from_parts(spec, output)
    }
}

impl<T> Job<T> {
    /// Claims and runs the next slot on this thread, for tests of stages. Returns `None` if every
    /// slot is claimed or the job has failed.
    ///
    /// Many threads may call it. A partly run job may be submitted.
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
    /// Why the slot, its stage's `finish`, a later stage's `slots`, or the output failed.
    pub fn get_next(&self) -> Option<Result<usize, JobError>> {
        let mut failure = None;
        let claims = self.by_hand.get_or_init(|| {
            let claims = Claims::new(self.stages.counts(), NativeWord::new);
            failure = finish::begin(&Native, &claims, &self.stages).err();
            Box::new(claims)
        });
        if let Some(failure) = failure {
            by_hand::abandon_rest(&Native, claims);
            return Some(Err(failure.into_error()));
        }
        let work = Work {
            stages: &self.stages,
            output: self.output.maker().map(|maker| &**maker),
        };
        let cx = StepCx::new(0, Role::Main, Some(&self.id), self);
        let ran = by_hand::next(&Native, claims, work, &cx)?;
        Some(ran.map_err(Failure::into_error))
    }

    fn run_inside(self, cx: &StepCx<'_>) -> Result<JobReport<T>, JobError> {
        if self.by_hand.get().is_some() {
            return self.run_rest(cx);
        }
        let (spec, output) = self.into_spec();
        let report = nested::run(cx, spec)?;
        Ok(report.with(output.into_place().take()))
    }

    fn run_rest(self, cx: &StepCx<'_>) -> Result<JobReport<T>, JobError> {
        let began = Instant::now();
        let mut slots = 0;
        loop {
            if cx.is_cancelled() {
                return Err(JobError::plain(JobErrorKind::Cancelled));
            }
            match self.get_next() {
                Some(ran) => ran?,
                None => break,
            };
            slots += 1;
        }
        let (done, total) = self.progress();
        if self.is_cancelled() || done < total {
            return Err(JobError::plain(JobErrorKind::Failed));
        }
        let mut slots_per_worker = vec![0; cx.worker_id() + 1];
        slots_per_worker[cx.worker_id()] = slots;
        Ok(JobReport {
            output: self.output.into_place().take(),
            id: self.id,
            slots,
            wait: Duration::ZERO,
            run: began.elapsed(),
            slots_per_worker,
        })
    }

    /// Returns the estimated work from the builder.
    pub fn cost(&self) -> Option<u64> {
        self.cost.map(NonZeroU64::get)
    }

    /// Returns the finished and all slots of stages started by hand.
    #[must_use]
    pub fn progress(&self) -> (usize, usize) {
        self.by_hand
            .get()
            .map_or((0, 0), |claims| claims.progress(&Native))
    }

    pub(crate) fn into_body(mut self, workers: usize) -> (NativeBody, Output<T>) {
        let begun = self.by_hand.take();
        let (spec, output) = self.into_spec();
        let ledger = Mutex::new(Ledger::default());
        let body = match begun {
            Some(claims) => JobBody::resume(spec, *claims, true, workers, ledger, NativeWord::new),
            None => JobBody::new(spec, workers, ledger, NativeWord::new),
        };
        (body, output)
    }

    fn into_spec(self) -> (JobSpec, Output<T>) {
        let spec = JobSpec {
            table_name: self.table_name,
            id: self.id,
            cost: self.cost.map(NonZeroU64::get),
            terms: self.terms,
            stages: self.stages,
            output: self.output.maker().cloned(),
        };
        (spec, self.output)
    }

    pub(crate) fn from_body(body: NativeBody, output: Output<T>) -> Self {
        let (spec, claims, begun) = body.into_parts();
        let mut job = Self::from_parts(spec, output);
        if begun {
            job.by_hand = OnceLock::from(Box::new(claims));
        }
        job
    }

    pub(crate) fn from_parts(spec: JobSpec, output: Output<T>) -> Self {
        let JobSpec {
            table_name,
            id,
            cost,
            terms,
            stages,
            output: _,
        } = spec;
        Self {
            by_hand: OnceLock::new(),
            table_name,
            id,
            cost: cost.and_then(NonZeroU64::new),
            terms,
            stages,
            output,
        }
    }

    fn giving<U>(self, output: Output<U>) -> (Job<U>, Output<T>) {
        let Self {
            table_name,
            id,
            cost,
            terms,
            stages,
            by_hand,
            output: before,
        } = self;
        let job = Job {
            table_name,
            id,
            cost,
            terms,
            stages,
            by_hand,
            output,
        };
        (job, before)
    }
}

impl<'a> StepCx<'a> {
    /// Runs a job inside this slot and returns its end.
    ///
    /// Idle workers join in, because the job goes to the same executor. Meanwhile this worker runs
    /// slots of that job alone, as a [helper](crate::PipelineExecutor::run_until), so nested waits
    /// cannot deadlock. If the executor is full or closed, the whole job runs here by hand.
    ///
    /// If this slot's job is closed, the inner job ends as
    /// [`Cancelled`](crate::JobErrorKind::Cancelled) at its next slot boundaries.
    /// ```
    /// use pipeline_exec::{Job, PipelineExecutor, step, steps};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let executor = PipelineExecutor::new(1)?;
    /// let sum = Arc::new(AtomicUsize::new(0));
    /// let total = Arc::clone(&sum);
    /// let outer = step(move |cx| {
    ///     let parts = (1..=10).map(|n| {
    ///         let sum = Arc::clone(&sum);
    ///         step(move |_cx| { sum.fetch_add(n, Ordering::Relaxed); Ok(()) })
    ///     });
    ///     assert_eq!(cx.run(Job::from_steps("parts", parts.collect()))?.slots, 10);
    ///     Ok(())
    /// });
    /// executor.submit(Job::from_steps("whole", vec![outer]))?.wait()?;
    /// assert_eq!(total.load(Ordering::Relaxed), 55);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Why the inner job did not complete.
    pub fn run<T>(&self, job: Job<T>) -> Result<JobReport<T>, JobError> {
        job.run_inside(self)
    }
}

impl<T> Watch for Job<T> {
    fn is_cancelled(&self) -> bool {
        self.by_hand.get().is_some_and(|claims| claims.is_closed(&Native))
    }

    fn should_yield(&self) -> bool {
        false
    }
}

impl<T> Nest for Job<T> {
    fn nest(&self, cx: &StepCx<'_>, job: &mut dyn Any) -> JobEnd {
        by_hand_here(cx, &nested::taken(job))
    }
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("table_name", &self.table_name)
            .field("id", &self.id)
            .field("cost", &self.cost)
            .field("stages", &self.stages.len())
            .finish_non_exhaustive()
    }
}

/// Builds a [`Job`].
#[derive(Clone)]
#[must_use = "`build` makes the job"]
pub struct JobBuilder<T = ()> {
    table_name: Cow<'static, str>,
    id: Option<JobId>,
    cost: Option<NonZeroU64>,
    terms: Terms,
    stages: StageGraph,
    output: Making<T>,
}

#[derive(Clone)]
enum Making<T> {
    Nothing(T),
    By(Arc<Make<T>>),
}

impl<T> JobBuilder<T> {
    /// Sets the job's output. `make` runs once, on the last stage's finisher, and sees what all
    /// stages wrote. Its error or panic fails the job. It does not run if the job ends early.
    ///
    /// ```
    /// use pipeline_exec::{Job, PipelineExecutor, Stage, StepCx, StepError};
    /// use std::sync::{Arc, Mutex};
    ///
    /// /// Squares numbers, each in a slot.
    /// struct Square(Vec<Mutex<u64>>);
    ///
    /// impl Stage for Square {
    ///     fn slots(&self) -> usize { self.0.len() }
    ///     fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
    ///         let mut number = self.0[slot].lock().map_err(|_| "a slot panicked")?;
    ///         *number *= *number;
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let squares = Arc::new(Square((1..=4).map(Mutex::new).collect()));
    /// let job = Job::builder("numbers")
    ///     .stage(squares.clone())
    ///     .output(move |_cx| Ok(squares.0.iter().map(|n| *n.lock().unwrap()).collect::<Vec<_>>()))
    ///     .build();
    /// let executor = PipelineExecutor::new(2)?;
    /// assert_eq!(executor.submit(job)?.wait()?.output, [1, 4, 9, 16]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn output<U: Send + 'static>(
        self,
        make: impl Fn(&StepCx<'_>) -> Result<U, StepError> + Send + Sync + 'static,
    ) -> JobBuilder<U> {
        JobBuilder {
            table_name: self.table_name,
            id: self.id,
            cost: self.cost,
            terms: self.terms,
            stages: self.stages,
            output: Making::By(Arc::new(make)),
        }
    }

    /// Adds a stage after all stages without a follower.
    pub fn stage(mut self, stage: Arc<dyn Stage>) -> Self {
        self.stages.then(stage);
        self
    }

    /// Replaces the stages and their order.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use pipeline_exec::{Job, PipelineExecutor, Stage, StageGraph, StepCx, StepError};
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
    /// let mut diamond = StageGraph::default();
    /// let read = diamond.then(says("read"));
    /// diamond.after(&[read], says("sum by price"));
    /// diamond.after(&[read], says("sum by city"));
    /// diamond.then(says("compare"));
    /// PipelineExecutor::new(2)?.submit(Job::builder("orders").stages(diamond).build())?.wait()?;
    /// let said = said.lock().unwrap();
    /// assert_eq!((said[0], said[3]), ("read", "compare"));
    /// assert!(said[1..3].contains(&"sum by price") && said[1..3].contains(&"sum by city"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stages(mut self, stages: StageGraph) -> Self {
        self.stages = stages;
        self
    }

    /// Takes the job's name from `ids` instead of the process's generator.
    pub fn id_from(mut self, ids: &mut JobIds) -> Self {
        self.id = Some(ids.next_id());
        self
    }

    /// Estimated work, 1 or more, in a unit that all jobs of an executor share, such as bytes.
    /// Default: the number of slots that start with the job.
    pub fn cost(mut self, cost: u64) -> Self {
        self.cost = NonZeroU64::new(cost.max(1));
        self
    }

    /// The job's urgency. Default [`Class::Normal`].
    pub fn class(mut self, class: Class) -> Self {
        self.terms.class = class;
        self
    }

    /// Closes the job this long after submission, with
    /// [`DeadlineExceeded`](crate::JobErrorKind::DeadlineExceeded). Workers compare it with the
    /// clock: of a running job at each slot boundary and before each claim; of a waiting one when
    /// they look at the board, within five quanta and a slot while any worker works. No worker
    /// looks while none has work:
    /// [`JobControl::enforce_deadline`](crate::JobControl::enforce_deadline).
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.terms.deadline = Some(deadline);
        self
    }

    /// Largest number of workers in the job at once. Default: all.
    ///
    /// # Panics
    ///
    /// If it is 0.
    pub fn max_workers(mut self, workers: usize) -> Self {
        assert!(
            workers > 0,
            "`max_workers` is 0, but a job that no worker may be in would never end; it must be at least 1"
        );
        self.terms.workers_max = workers;
        self
    }

    /// Builds the job. Without stages it completes when a worker visits it.
    ///
    /// # Panics
    ///
    /// If it has more than [`STAGES_MAX`] stages.
    #[must_use]
    pub fn build(mut self) -> Job<T>
    where
        T: Send + 'static,
    {
        if self.stages.is_empty() {
            self.stages = StageGraph::of_steps(Vec::new());
        }
        assert!(
            self.stages.len() <= STAGES_MAX,
            "a job can have at most {STAGES_MAX} stages, not {}",
            self.stages.len()
        );
        let output = match self.output {
            Making::Nothing(nothing) => Output::Given(nothing),
            Making::By(make) => Output::made_by(make),
        };
        Job {
            table_name: self.table_name,
            id: self.id.unwrap_or_else(next_id),
            cost: self.cost,
            terms: self.terms.boxed(),
            stages: self.stages,
            by_hand: OnceLock::new(),
            output,
        }
    }
}

impl<T> fmt::Debug for JobBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobBuilder")
            .field("table_name", &self.table_name)
            .field("cost", &self.cost)
            .field("stages", &self.stages.len())
            .finish_non_exhaustive()
    }
}
