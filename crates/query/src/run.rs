//! The jobs of work that has begun; they stop with the work.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use pipeline_exec::{Class, Job, JobBuilder, JobError, JobErrorKind, JobReport, JobTicket, PipelineHandle};
use pools::MixedPool;

use crate::error::QueryError;
use crate::progress::{Counted, Progress};
use crate::stop::Stop;

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) executor: PipelineHandle,
    pub(crate) mixed: MixedPool,
    pub(crate) progress: Progress,
    pub(crate) class: Class,
    pub(crate) max_workers: Option<usize>,
    pub(crate) stop: Stop,
}

impl Run {
    pub(crate) async fn job<T: Send + 'static>(&self, job: Job<T>) -> Result<JobReport<T>, QueryError> {
        let mut running = self.submit(job).await?;
        let ended = match self.stop.unless_stopped(&mut running).await {
            Ok(ended) => ended,
            Err(_stopped) => {
                self.cancel(&running);
                running.await
            }
        };
        let report = ended.map_err(|error| self.failed(error))?;
        // A caller that cancelled gets no result, even if the last slot was faster.
        self.stop.check().map(|()| report)
    }

    /// Waits for room in the executor.
    pub(crate) async fn submit<T: Send + 'static>(&self, job: Job<T>) -> Result<RunningJob<T>, QueryError> {
        let submitted = self.stop.unless_stopped(self.executor.submit_async(job)).await?;
        let ticket = submitted?.cancel_on_drop();
        Ok(RunningJob {
            _counted: self.progress.add(ticket.control()),
            ticket,
        })
    }

    pub(crate) fn cancel<T>(&self, job: &RunningJob<T>) {
        let control = job.ticket.control();
        if matches!(self.stop.why(), QueryError::DeadlineExceeded) {
            control.enforce_deadline();
        }
        control.cancel();
    }

    /// The reason that stopped the run goes before the job's own.
    pub(crate) fn failed(&self, error: JobError) -> QueryError {
        match (error.kind, self.stop.check()) {
            (JobErrorKind::Cancelled | JobErrorKind::DeadlineExceeded, Err(stopped)) => stopped,
            _ => error.into(),
        }
    }

    /// A job with the work's class and limits.
    pub(crate) fn limited<T>(&self, job: JobBuilder<T>) -> JobBuilder<T> {
        let mut job = job.class(self.class);
        if let Some(workers) = self.max_workers {
            job = job.max_workers(workers);
        }
        match self.stop.deadline() {
            Some(deadline) => job.deadline(deadline.saturating_duration_since(Instant::now())),
            None => job,
        }
    }
}

/// Dropping it cancels the job.
#[derive(Debug)]
pub(crate) struct RunningJob<T = ()> {
    ticket: JobTicket<T>,
    _counted: Counted,
}

impl<T> Future for RunningJob<T> {
    type Output = Result<JobReport<T>, JobError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.ticket).poll(cx)
    }
}
