//! Computes over a stream of batches while it is read, with a job for each window.
//!
//! ```text
//!   batches, read ahead within a bound         │ 6 │ 5 │
//!   windows: a job each, two at a time         │ 4 3 │ 2 1 │      slots run when their bytes are there
//!   what the slots leave, by the slot                    ──► the same, whatever the windows were
//! ```
//!
//! A job's slots must not wait, and a stage needs their number at its start. So the batches that
//! have arrived become a window, and the next one gathers meanwhile. Two jobs run at a time, so
//! idle workers find slots while the first ends; more if they have fewer slots than workers.
//! Windows of normal work are [`Class::Batch`] after the first, so that a long query does not pass
//! new short ones.
//!
//! A query fails with its first failure in the order of the input, which closes the stream and
//! cancels later windows.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pipeline_exec::{Class, Job, JobError, JobReport, Stage};
use pools::stream::{BatchStream, StreamError, Weigh};

use crate::error::QueryError;
use crate::run::{Run, RunningJob};

const WINDOWS_AT_ONCE: usize = 2;
/// Several slots for each worker keep the others busy beside one long slot.
const SLOTS_PER_WORKER: usize = 8;

pub(crate) struct Windows<'a> {
    pub(crate) table: String,
    pub(crate) run: &'a Run,
    /// Bytes of a window, unless a single batch has more.
    pub(crate) bytes_max: usize,
}

pub(crate) type Item<B, E> = Option<Result<B, StreamError<E>>>;

pub(crate) trait Batches {
    type Batch: Weigh;
    type Error: Into<QueryError>;

    /// An error is the last item.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Item<Self::Batch, Self::Error>>;

    fn close(&mut self);
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
}

pub(crate) struct Window {
    pub(crate) stage: Arc<dyn Stage>,
    /// In the whole table, for messages.
    pub(crate) first_slot: usize,
    pub(crate) cost: u64,
}

enum Next<B, E> {
    Ended(Result<JobReport, JobError>),
    Batch(Item<B, E>),
}

struct Running {
    job: RunningJob,
    first_slot: usize,
    slots: usize,
}

impl Windows<'_> {
    /// Dropping the future closes the stream and cancels running windows.
    pub(crate) async fn run<S: Batches>(
        &self,
        mut stream: S,
        slots_of: impl Fn(&S::Batch) -> usize,
        mut make: impl FnMut(Vec<S::Batch>) -> Window,
        is_enough: impl Fn() -> bool,
    ) -> Result<Effort, QueryError> {
        let stop = &self.run.stop;
        let slots_max = SLOTS_PER_WORKER * self.run.executor.workers();
        let mut running: VecDeque<Running> = VecDeque::with_capacity(WINDOWS_AT_ONCE);
        let mut effort = Effort::default();
        let mut class = self.run.class;
        let mut end = Ok(());
        // Whether the end stands whatever running windows return.
        let mut abandoned = false;
        while end.is_ok() && !is_enough() {
            let next = match stop.check() {
                Ok(()) => stop.unless_stopped(self.next(&mut running, &mut stream)).await,
                Err(stopped) => Err(stopped),
            };
            let first = match next {
                Err(stopped) => {
                    end = Err(stopped);
                    abandoned = true;
                    break;
                }
                Ok(Next::Ended(ended)) => {
                    end = self.ended(&mut running, ended, &mut effort);
                    abandoned = end.is_err();
                    continue;
                }
                Ok(Next::Batch(None)) => break,
                Ok(Next::Batch(Some(Err(error)))) => {
                    end = Err(self.failed(error));
                    break;
                }
                Ok(Next::Batch(Some(Ok(batch)))) => batch,
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
            match self.run.submit(self.job(&window, class)).await {
                Ok(job) => running.push_back(Running {
                    job,
                    first_slot: window.first_slot,
                    slots,
                }),
                Err(error) => end = Err(error),
            }
            if class == Class::Normal {
                class = Class::Batch;
            }
        }
        stream.close();
        while !abandoned && let Some(oldest) = running.front_mut() {
            // A window that fails precedes the known end in the order of the input.
            let failed = match stop.unless_stopped(&mut oldest.job).await {
                Ok(ended) => self.ended(&mut running, ended, &mut effort),
                Err(stopped) => Err(stopped),
            };
            if failed.is_err() {
                end = failed;
                abandoned = true;
            }
        }
        for later in &running {
            self.run.cancel(&later.job);
        }
        while let Some(later) = running.pop_front() {
            let _outcome_is_known = later.job.await;
        }
        end.map(|()| effort)
    }

    fn job(&self, window: &Window, class: Class) -> Job {
        let job = Job::builder(self.table.clone())
            .stage(Arc::clone(&window.stage))
            .cost(window.cost);
        self.run.limited(job).class(class).build()
    }

    async fn next<S: Batches>(
        &self,
        running: &mut VecDeque<Running>,
        stream: &mut S,
    ) -> Next<S::Batch, S::Error> {
        let slots: usize = running.iter().map(|window| window.slots).sum();
        let full = running.len() >= WINDOWS_AT_ONCE && slots >= self.run.executor.workers();
        poll_fn(|cx: &mut Context<'_>| {
            if let Some(oldest) = running.front_mut()
                && let Poll::Ready(ended) = Pin::new(&mut oldest.job).poll(cx)
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

    fn ended(
        &self,
        running: &mut VecDeque<Running>,
        ended: Result<JobReport, JobError>,
        effort: &mut Effort,
    ) -> Result<(), QueryError> {
        let Some(oldest) = running.pop_front() else {
            return Ok(());
        };
        match ended {
            Ok(report) => {
                effort.add(&report);
                Ok(())
            }
            Err(mut error) => {
                error.slot = error.slot.map(|slot| slot + oldest.first_slot);
                Err(self.run.failed(error))
            }
        }
    }

    fn failed<E: Into<QueryError>>(&self, error: StreamError<E>) -> QueryError {
        if let Err(stopped) = self.run.stop.check() {
            return stopped;
        }
        let message = match error {
            StreamError::Source(error) => return error.into(),
            StreamError::Closed => return QueryError::Cancelled,
            // `StreamError` implements `Display` only for sources whose errors do.
            StreamError::Panicked { message } => {
                return QueryError::Internal {
                    message: format!("reading panicked: {message}"),
                };
            }
            StreamError::PoolsEnded => "the mixed pool ended while a table was read".to_owned(),
            StreamError::Unavailable(error) => format!("the mixed pool cannot be started: {error}"),
            StreamError::WrongPool(error) => error.to_string(),
            _ => {
                return QueryError::Internal {
                    message: "a table's stream ended without a reason".to_owned(),
                };
            }
        };
        QueryError::Unavailable { message }
    }
}

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
