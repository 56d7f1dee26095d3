//! Rows on their way from the job to their consumer.
//!
//! ```text
//!   task of the job: polls the plan ──► batches, at most AHEAD ──► consumer, on any runtime
//! ```
//!
//! The task begins when the first row is requested, and rests while batches are not taken. Dropping
//! the stream cancels the task; dropping a query's last stream cancels its job.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_common::{DataFusionError, Result};
use datafusion_execution::{RecordBatchStream, SendableRecordBatchStream};
use futures_channel::mpsc::{self, Receiver, Sender};
use futures_util::{Stream, StreamExt};
use pools::{AsyncTask, TaskError};

use super::query::Query;

/// Besides the sender's own batch.
const AHEAD: usize = 1;

/// Why a query stopped early: the source of DataFusion's `External` error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueryEnded {
    /// The job was cancelled.
    Cancelled,
    /// Its deadline passed: [`WindlassOptions::deadline`](crate::WindlassOptions::deadline).
    DeadlineExceeded,
    /// The pools were shut down.
    Closed,
}

impl fmt::Display for QueryEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "the query was cancelled",
            Self::DeadlineExceeded => "the query took longer than its deadline allows",
            Self::Closed => "the CPU pool ended while the query ran",
        })
    }
}

impl Error for QueryEnded {}

pub(super) fn from_job(query: Arc<Query>, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
    Box::pin(FromJob {
        schema: rows.schema(),
        state: State::Fresh(rows, query),
    })
}

struct FromJob {
    schema: SchemaRef,
    state: State,
}

enum State {
    Fresh(SendableRecordBatchStream, Arc<Query>),
    /// Dropped in this order: the rows before the query.
    Running {
        making: Making,
        made: Receiver<Result<RecordBatch>>,
        query: Arc<Query>,
    },
    Ended,
}

enum Making {
    Task(AsyncTask<()>),
    /// The job cannot run it, so the consumer polls it.
    Here(Pin<Box<dyn Future<Output = ()> + Send>>),
    /// The last rows may still be on their way.
    Done(Option<QueryEnded>),
}

impl Making {
    /// Ready if it has ended or moved: there may be new rows.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Task(task) => match Pin::new(task).poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => *self = Self::Done(None),
                Poll::Ready(Err(TaskError::NotRun(future))) => *self = Self::Here(future.into_future()),
                Poll::Ready(Err(TaskError::DeadlineExceeded)) => {
                    *self = Self::Done(Some(QueryEnded::DeadlineExceeded));
                }
                Poll::Ready(Err(TaskError::Closed)) => *self = Self::Done(Some(QueryEnded::Closed)),
                Poll::Ready(Err(_)) => *self = Self::Done(Some(QueryEnded::Cancelled)),
            },
            Self::Here(future) => match future.as_mut().poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => *self = Self::Done(None),
            },
            Self::Done(_) => return Poll::Pending,
        }
        Poll::Ready(())
    }
}

impl Stream for FromJob {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let state = &mut self.get_mut().state;
        if let State::Fresh(..) = state
            && let State::Fresh(rows, query) = mem::replace(state, State::Ended)
        {
            let (sender, made) = mpsc::channel(AHEAD);
            *state = State::Running {
                making: Making::Task(query.spawn(make(rows, sender))),
                made,
                query,
            };
        }
        let State::Running { making, made, .. } = state else {
            return Poll::Ready(None);
        };
        loop {
            match made.poll_next_unpin(cx) {
                Poll::Ready(Some(batch)) => return Poll::Ready(Some(batch)),
                Poll::Ready(None) if let Making::Done(ended) = making => {
                    let ended = ended.take();
                    *state = State::Ended;
                    return Poll::Ready(ended.map(|ended| Err(DataFusionError::External(Box::new(ended)))));
                }
                // The sender goes shortly before its task ends.
                Poll::Ready(None) | Poll::Pending => ready!(making.poll(cx)),
            }
        }
    }
}

impl Drop for FromJob {
    fn drop(&mut self) {
        if let State::Running { query, .. } = &self.state {
            query.drop_early();
        }
    }
}

impl RecordBatchStream for FromJob {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

async fn make(mut rows: SendableRecordBatchStream, mut to: Sender<Result<RecordBatch>>) {
    while poll_fn(|cx| to.poll_ready(cx)).await.is_ok() {
        let Some(batch) = rows.next().await else {
            return;
        };
        let is_last = batch.is_err();
        if to.start_send(batch).is_err() || is_last {
            return;
        }
    }
}
