//! Computing over what is read meanwhile: a stream of batches, and jobs over windows of it.
//!
//! ```text
//!   BatchStream, read ahead within a bound     │ 6 │ 5 │
//!   windows: a job each, two at a time         │ 4 3 │ 2 1 │      slots run when their bytes are there
//!   what the slots leave, by the slot                    ──► the same, whatever the windows were
//! ```
//!
//! A job's slots must not wait, and their number is known when a stage of it starts. So what has been read by the time somebody looks becomes a
//! window, a job over it computes, and the next window gathers meanwhile. Two jobs are there at a time: while the one comes to its last slots, the other has more for the workers that would be
//! idle. Only where they have fewer slots than there are workers, since morsels are large, there are more.
//!
//! The first window is a job like any other; those that follow are [`Class::Batch`], old from the beginning, so that a long query does not pass for ever
//! new short ones.
//!
//! The end is the first one in the order of the input: a window that failed before one that comes later, and before the source, if that failed behind
//! it. Then the stream is closed, what runs is cancelled, and nothing of it is given out.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pipeline_exec::{Class, Job, JobError, JobReport, JobTicket, PipelineHandle, Stage};
use pools::stream::{BatchStream, StreamError, Weigh};

use crate::work_control::not_taken;
use crate::{QueryError, WorkControl};

/// Windows that run at the same time, unless they have fewer slots than there are workers.
const WINDOWS_AT_ONCE: usize = 2;
/// Slots that a window has for each worker, at most: enough that one that takes longer does not leave the others idle.
const SLOTS_PER_WORKER: usize = 8;

/// What windows run on, and how large they get.
pub(crate) struct Windows<'a> {
    pub(crate) table: String,
    pub(crate) executor: PipelineHandle,
    pub(crate) control: &'a WorkControl,
    /// The bytes of a window, unless a single batch has more.
    pub(crate) bytes_max: usize,
}

/// What comes next; nothing at the end.
pub(crate) type Item<B, E> = Option<Result<B, StreamError<E>>>;

/// What windows are made of, as it comes and in its order.
pub(crate) trait Batches {
    type Batch: Weigh;
    type Error: Into<QueryError>;

    /// The next one. An error is the last item.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Item<Self::Batch, Self::Error>>;

    /// Wants nothing more.
    fn close(&mut self);

    /// To close it from elsewhere.
    fn closer(&self) -> Box<dyn FnOnce() + Send>;
}

impl<B: Weigh + Send + 'static, E: Into<QueryError> + Send + 'static> Batches for BatchStream<B, E> {
    type Batch = B;
    type Error = E;

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Item<B, E>> {
        Self::poll_next(self, cx)
    }

    fn close(&mut self) {
        Self::close(self);
    }

    fn closer(&self) -> Box<dyn FnOnce() + Send> {
        let handle = self.handle();
        Box::new(move || handle.close())
    }
}

/// A window as a job runs it.
pub(crate) struct Window {
    /// Its slots.
    pub(crate) stage: Arc<dyn Stage>,
    /// What comes before them in the whole, for messages.
    pub(crate) first_slot: usize,
    pub(crate) cost: u64,
}

/// What comes next for whoever waits for both.
enum Next<B, E> {
    /// The oldest window has ended.
    Ended(Result<JobReport, JobError>),
    /// The stream has something, or nothing more.
    Batch(Option<Result<B, StreamError<E>>>),
}

struct Running {
    ticket: JobTicket,
    first_slot: usize,
    slots: usize,
}

impl Windows<'_> {
    /// Computes all that `stream` gives, until nothing more is wanted. Of each window `make` makes the job's stage. Gives what the jobs took.
    ///
    /// Dropping the future closes the stream and cancels the windows that run.
    pub(crate) async fn run<S: Batches>(
        &self,
        mut stream: S,
        slots_of: impl Fn(&S::Batch) -> usize,
        mut make: impl FnMut(Vec<S::Batch>) -> Window,
        is_enough: impl Fn() -> bool,
    ) -> Result<Effort, QueryError> {
        self.control.on_stop(stream.closer());
        let slots_max = SLOTS_PER_WORKER * self.executor.workers();
        let mut running: VecDeque<Running> = VecDeque::with_capacity(WINDOWS_AT_ONCE);
        let mut effort = Effort::default();
        let mut class = Class::Normal;
        let mut end = Ok(());
        // Whether it was a window that failed: those behind it do not matter then.
        let mut window_failed = false;
        while end.is_ok() && !is_enough() {
            // A deadline that has passed is seen here, should its alarm be late.
            end = self.control.check();
            if end.is_err() {
                break;
            }
            let first = match self.next(&mut running, &mut stream).await {
                Next::Ended(ended) => {
                    end = self.ended(&mut running, ended, &mut effort);
                    window_failed = end.is_err();
                    continue;
                }
                Next::Batch(None) => break,
                Next::Batch(Some(Err(error))) => {
                    end = Err(self.failed(error));
                    break;
                }
                Next::Batch(Some(Ok(batch))) => batch,
            };
            let (mut bytes, mut slots) = (first.bytes(), slots_of(&first));
            let mut batches = vec![first];
            while bytes < self.bytes_max && slots < slots_max {
                match poll_fn(|cx| Poll::Ready(stream.poll_next(cx))).await {
                    Poll::Ready(Some(Ok(batch))) => {
                        bytes = bytes.saturating_add(batch.bytes());
                        slots += slots_of(&batch);
                        batches.push(batch);
                    }
                    Poll::Ready(Some(Err(error))) => {
                        end = Err(self.failed(error));
                        break;
                    }
                    Poll::Ready(None) | Poll::Pending => break,
                }
            }
            let window = make(batches);
            let job = Job::builder(self.table.clone())
                .stage(window.stage)
                .class(class)
                .cost(window.cost)
                .build();
            class = Class::Batch;
            // Room for it may not come soon.
            match self.control.unless_stopped(self.executor.submit_async(job)).await {
                Ok(Ok(ticket)) => running.push_back(Running {
                    ticket: self.control.running(ticket).cancel_on_drop(),
                    first_slot: window.first_slot,
                    slots,
                }),
                Ok(Err(error)) => end = Err(not_taken(error)),
                Err(stopped) => end = Err(stopped),
            }
        }
        // Nothing more is read, whatever the end was.
        stream.close();
        self.control.forget_close();
        while !window_failed && let Some(oldest) = running.front_mut() {
            let ended = (&mut oldest.ticket).await;
            // What failed before the end that is known came before it in the input.
            if let Err(error) = self.ended(&mut running, ended, &mut effort) {
                end = Err(error);
                window_failed = true;
            }
        }
        // Those behind a failure do not matter; but nothing of them runs any more when the failure is told.
        for later in &running {
            later.ticket.control().cancel();
        }
        while let Some(later) = running.pop_front() {
            let control = later.ticket.control();
            // Cancelled, or ended in another way: the failure before it is the end.
            let _no_matter = later.ticket.await;
            self.control.ended(&control);
        }
        end.map(|()| effort)
    }

    /// Waits for the oldest window, and for a batch if another window may begin.
    async fn next<S: Batches>(
        &self,
        running: &mut VecDeque<Running>,
        stream: &mut S,
    ) -> Next<S::Batch, S::Error> {
        let slots: usize = running.iter().map(|window| window.slots).sum();
        let full = running.len() >= WINDOWS_AT_ONCE && slots >= self.executor.workers();
        poll_fn(|cx: &mut Context<'_>| {
            if let Some(oldest) = running.front_mut()
                && let Poll::Ready(ended) = Pin::new(&mut oldest.ticket).poll(cx)
            {
                return Poll::Ready(Next::Ended(ended));
            }
            if full {
                return Poll::Pending;
            }
            stream.poll_next(cx).map(Next::Batch)
        })
        .await
    }

    /// Takes note of the end of the oldest window.
    fn ended(
        &self,
        running: &mut VecDeque<Running>,
        ended: Result<JobReport, JobError>,
        effort: &mut Effort,
    ) -> Result<(), QueryError> {
        let Some(oldest) = running.pop_front() else {
            return Ok(());
        };
        self.control.ended(&oldest.ticket.control());
        match ended {
            Ok(report) => {
                effort.add(&report);
                Ok(())
            }
            Err(mut error) => {
                error.slot = error.slot.map(|slot| slot + oldest.first_slot);
                Err(self.control.failed(error))
            }
        }
    }

    fn failed<E: Into<QueryError>>(&self, error: StreamError<E>) -> QueryError {
        if let Err(stopped) = self.control.check() {
            return stopped;
        }
        let message = match error {
            StreamError::Source(error) => return error.into(),
            // Its text would need a source that can be shown, and has none here.
            StreamError::Panicked { message } => format!("reading panicked: {message}"),
            StreamError::Closed => return QueryError::Cancelled,
            StreamError::PoolsEnded => "the mixed pool ended while a table was read".to_owned(),
            StreamError::Unavailable(error) => format!("the mixed pool cannot be started: {error}"),
            StreamError::WrongPool(error) => error.to_string(),
            _ => "a table's stream ended without a reason".to_owned(),
        };
        QueryError::Internal { message }
    }
}

/// What the jobs of some work took together.
#[derive(Debug)]
pub(crate) struct Effort {
    began: Instant,
    wait: Option<Duration>,
    slots: usize,
    slots_per_worker: Vec<usize>,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            wait: None,
            slots: 0,
            slots_per_worker: Vec::new(),
        }
    }
}

impl Effort {
    fn add<T>(&mut self, report: &JobReport<T>) {
        self.wait.get_or_insert(report.wait);
        self.slots += report.slots;
        if self.slots_per_worker.len() < report.slots_per_worker.len() {
            self.slots_per_worker.resize(report.slots_per_worker.len(), 0);
        }
        for (sum, slots) in self.slots_per_worker.iter_mut().zip(&report.slots_per_worker) {
            *sum += slots;
        }
    }

    /// The report of the last job, as that of all.
    pub(crate) fn report<T>(mut self, last: JobReport<T>) -> JobReport<T> {
        self.add(&last);
        let wait = self.wait.unwrap_or(last.wait);
        JobReport {
            wait,
            run: self.began.elapsed().saturating_sub(wait),
            slots: self.slots,
            slots_per_worker: self.slots_per_worker,
            ..last
        }
    }
}
