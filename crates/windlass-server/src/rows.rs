//! A statement's rows: one job plans, computes and writes them as messages; the connection takes
//! them.
//!
//! ```text
//!   workers: plan ─► compute ─► 256 rows as messages ─► two chunks at most ─► connection ─► client
//!                                  ▲                           │
//!                                  └─ waits without a worker ◄─┘ while the client does not read
//! ```

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use arrow_pg::datatypes::arrow_schema_to_pg_fields;
use arrow_pg::row_encoder::RowEncoder;
use bytes::{BufMut, Bytes, BytesMut};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Schema;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use futures_util::{FutureExt, StreamExt};
use pgwire::api::portal::Format as Formats;
use pgwire::api::results::{FieldFormat, FieldInfo};
use pgwire::types::format::FormatOptions;
use pipeline_exec::panic_text;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_datafusion::Windlass;
use windlass_datafusion::pools::{AsyncJob, AsyncTask, JobOptions, TaskError};

use crate::admission::Admitted;
use crate::memory;
use crate::nodes::{Failed, RemoteStatement, Trouble};
use crate::plan::{self, Planned};
use crate::queries::OpenQuery;
use crate::wire::{Column, Format, SqlError};

const CHUNK_ROWS: usize = 256;

/// Ends a chunk, however few rows it has.
const CHUNK_BYTES: usize = 256 * 1024;

/// Chunks that wait for the client.
const CHUNKS: usize = 2;

pub(crate) struct Order {
    pub(crate) planned: Planned,
    pub(crate) formats: Formats,
    pub(crate) format_options: Arc<FormatOptions>,
    pub(crate) memory: memory::StatementMemory,
    /// What other machines get to know of it, if there are any.
    pub(crate) remote: Option<RemoteStatement>,
}

/// Rows of a running statement. Dropping them ends it. Its futures may be dropped at any time.
#[derive(Debug)]
pub(crate) struct Rows {
    pieces: mpsc::Receiver<Piece>,
    columns: Option<Vec<Column>>,
    /// `None` after its end.
    outcome: Option<AsyncTask<Result<(), SqlError>>>,
    /// Taken from the channel, not yet given.
    rest: Chunk,
    open: OpenQuery,
    admitted: Admitted,
    deadline: Option<Instant>,
}

#[derive(Debug)]
enum Piece {
    Columns(Vec<Column>),
    Rows(Chunk),
}

#[derive(Debug, Default)]
struct Chunk {
    bytes: Bytes,
    /// Where each row ends in `bytes`.
    ends: Vec<usize>,
    /// Rows that were given, and bytes that were cut off the front of `bytes`.
    given: usize,
    cut: usize,
}

impl Rows {
    /// The statement's job plans it, too.
    pub(crate) fn begin(
        windlass: &Windlass,
        context: &SessionContext,
        open: OpenQuery,
        admitted: Admitted,
        deadline: Option<Instant>,
        options: JobOptions,
        order: Order,
    ) -> Self {
        let (sender, pieces) = mpsc::channel(CHUNKS);
        let query = Arc::clone(open.query());
        let context = context.clone();
        let outcome = windlass.spawn(options, async move {
            if let Some(job) = AsyncJob::current() {
                query.runs(job, order.memory.pool());
            }
            run(&context, order, sender).await
        });
        Self {
            pieces,
            columns: None,
            outcome: Some(outcome),
            rest: Chunk::default(),
            open,
            admitted,
            deadline,
        }
    }

    /// Notes that further rows are asked for, which `cancelled` ends.
    pub(crate) fn go_on(&mut self, cancelled: CancellationToken) {
        self.open.goes_on(cancelled);
    }

    /// The client takes no rows for now: another statement may run.
    pub(crate) fn pause(&mut self) {
        self.admitted.pause();
    }

    /// Waits until the statement may go on, at most up to its deadline.
    ///
    /// # Errors
    ///
    /// If too many statements wait, or its time is over.
    pub(crate) async fn resume(&mut self) -> Result<(), SqlError> {
        within(self.deadline, self.admitted.resume()).await?
    }

    /// Waits for the columns.
    pub(crate) async fn columns(&mut self) -> Result<&[Column], SqlError> {
        if self.columns.is_none() {
            match self.pieces.recv().await {
                Some(Piece::Columns(columns)) => self.columns = Some(columns),
                Some(Piece::Rows(_)) => return Err(internal("rows came before their columns")),
                None => {
                    self.end().await?;
                    return Err(internal("a statement ended without columns"));
                }
            }
        }
        Ok(self.columns.as_deref().unwrap_or_default())
    }

    /// Returns up to `max` rows as messages, and their number; `None` after the last.
    pub(crate) async fn next(&mut self, max: u64) -> Result<Option<(Bytes, u64)>, SqlError> {
        Ok(if self.is_at_end().await? {
            None
        } else {
            Some(self.rest.give(max))
        })
    }

    /// Waits for the next row or the end.
    pub(crate) async fn is_at_end(&mut self) -> Result<bool, SqlError> {
        self.columns().await?;
        while self.rest.is_empty() {
            match self.pieces.recv().await {
                Some(Piece::Rows(chunk)) => self.rest = chunk,
                Some(Piece::Columns(_)) => return Err(internal("columns came twice")),
                None => return self.end().await.map(|()| true),
            }
        }
        Ok(false)
    }

    /// Drops the rows that are left. The statement has ended well: its client has what it wanted.
    pub(crate) fn enough(mut self) {
        self.open.ended(Ok(()));
    }

    /// Waits for the job; `Ok` if its end was seen before.
    async fn end(&mut self) -> Result<(), SqlError> {
        let Some(outcome) = &mut self.outcome else {
            return Ok(());
        };
        let ended = ended(outcome).await;
        self.outcome = None;
        let outcome = ended.as_ref().copied().map_err(|error| error.code);
        self.open.ended(outcome);
        ended
    }
}

/// Waits for `work`, but not beyond the deadline.
///
/// # Errors
///
/// If the deadline has passed.
pub(crate) async fn within<T>(
    deadline: Option<Instant>,
    work: impl Future<Output = T>,
) -> Result<T, SqlError> {
    match deadline {
        None => Ok(work.await),
        Some(deadline) => {
            let done = tokio::time::timeout_at(deadline.into(), work).await;
            done.map_err(|_elapsed| SqlError::timed_out())
        }
    }
}

/// Waits for the end of a job's first task, and says how it ended.
async fn ended<T>(task: &mut AsyncTask<Result<T, SqlError>>) -> Result<T, SqlError> {
    match AssertUnwindSafe(task).catch_unwind().await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(TaskError::DeadlineExceeded)) => Err(SqlError::timed_out()),
        Ok(Err(TaskError::Cancelled)) => Err(SqlError::cancelled_by_user()),
        Ok(Err(_closed)) => Err(SqlError::shutting_down()),
        Err(panic) => {
            let text = panic_text(panic.as_ref()).map(|text| format!(": {text}"));
            Err(internal(&format!("a panic{}", text.unwrap_or_default())))
        }
    }
}

fn internal(what: &str) -> SqlError {
    SqlError::new("XX000", format!("internal error: {what}"))
}

async fn run(context: &SessionContext, order: Order, pieces: mpsc::Sender<Piece>) -> Result<(), SqlError> {
    let Order {
        planned,
        formats,
        format_options,
        memory,
        remote,
    } = order;
    let logical = planned.plan(context).await?;
    let fields = fields(logical.schema().as_arrow(), &formats, Some(format_options))?;
    let columns = columns(&fields)?;
    if pieces.send(Piece::Columns(columns)).await.is_err() {
        return Ok(());
    }
    let mut attempt = Attempt {
        logical,
        fields: Arc::new(fields),
        memory,
        pieces,
        has_sent: false,
    };
    let mut state = context.state();
    let Some(remote) = remote else {
        return attempt.run(&state, None).await.map_err(Failed::into_error);
    };
    let trouble = remote.attempt(0, &mut state)?;
    match attempt.run(&state, Some(&trouble)).await {
        // No row was sent, so the others may compute them all again.
        Err(Failed::Worker(failure)) if !attempt.has_sent && remote.leave_out(&failure) => {
            tracing::warn!(statement = remote.number, %failure, "tried again");
            let trouble = remote.attempt(1, &mut state)?;
            attempt
                .run(&state, Some(&trouble))
                .await
                .map_err(Failed::into_error)
        }
        done => done.map_err(Failed::into_error),
    }
}

/// One try at computing and sending all rows.
struct Attempt {
    logical: LogicalPlan,
    fields: Arc<Vec<FieldInfo>>,
    memory: memory::StatementMemory,
    pieces: mpsc::Sender<Piece>,
    has_sent: bool,
}

impl Attempt {
    async fn run(&mut self, state: &SessionState, trouble: Option<&Trouble>) -> Result<(), Failed> {
        let physical = state.create_physical_plan(&self.logical).await?;
        let task = TaskContext::from(state).with_runtime(self.memory.runtime(state.runtime_env()));
        let mut batches = execute_stream(physical, Arc::new(task))?;
        let failed = async {
            match trouble {
                Some(trouble) => trouble.failed().await,
                None => std::future::pending().await,
            }
        };
        let mut failed = std::pin::pin!(failed);
        loop {
            let batch = tokio::select! {
                biased;
                failed = &mut failed => return Err(failed),
                batch = batches.next() => batch,
            };
            let Some(batch) = batch else {
                return Ok(());
            };
            // The first trouble is the cause, where the error may be what followed from it.
            let batch = batch.map_err(|error| {
                let first = trouble.and_then(Trouble::first);
                first.unwrap_or_else(|| error.into())
            })?;
            if !self.send(batch).await? {
                return Ok(());
            }
        }
    }

    /// Sends a batch's rows. Returns `false` if the connection has no further use for them.
    async fn send(&mut self, batch: RecordBatch) -> Result<bool, Failed> {
        if batch.num_columns() != self.fields.len() {
            return Err(internal("a batch has other columns than its plan").into());
        }
        let mut rows = RowEncoder::new(batch, Arc::clone(&self.fields));
        while let Some(chunk) = next_chunk(&mut rows)? {
            self.has_sent = true;
            if self.pieces.send(Piece::Rows(chunk)).await.is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

pub(crate) fn fields(
    schema: &Schema,
    formats: &Formats,
    options: Option<Arc<FormatOptions>>,
) -> Result<Vec<FieldInfo>, SqlError> {
    Ok(arrow_schema_to_pg_fields(schema, formats, options)?)
}

pub(crate) fn columns(fields: &[FieldInfo]) -> Result<Vec<Column>, SqlError> {
    if fields.len() > i16::MAX as usize {
        let what = format!("a result has at most {} columns", i16::MAX);
        return Err(SqlError::new("54011", what));
    }
    let column = |field: &FieldInfo| Column {
        name: field.name().to_owned(),
        type_oid: field.datatype().oid(),
        type_size: plan::type_size(field.datatype()),
        format: match field.format() {
            FieldFormat::Text => Format::Text,
            FieldFormat::Binary => Format::Binary,
        },
    };
    Ok(fields.iter().map(column).collect())
}

/// `None` after the last row.
fn next_chunk(rows: &mut RowEncoder) -> Result<Option<Chunk>, SqlError> {
    let mut bytes = BytesMut::new();
    let mut ends = Vec::new();
    while ends.len() < CHUNK_ROWS && bytes.len() < CHUNK_BYTES {
        let Some(row) = rows.next_row() else {
            break;
        };
        let row = row?;
        let length = u32::try_from(row.data.len() + 6);
        let length = length.map_err(|_| SqlError::new("54000", "a row has more than 4 GiB"))?;
        bytes.put_u8(b'D');
        bytes.put_u32(length);
        bytes.put_i16(row.field_count);
        bytes.put_slice(&row.data);
        ends.push(bytes.len());
    }
    let chunk = Chunk {
        bytes: bytes.freeze(),
        ends,
        ..Chunk::default()
    };
    Ok((!chunk.is_empty()).then_some(chunk))
}

impl Chunk {
    fn is_empty(&self) -> bool {
        self.given >= self.ends.len()
    }

    /// At most `max` rows of a chunk that is not empty.
    fn give(&mut self, max: u64) -> (Bytes, u64) {
        let left = self.ends.len() - self.given;
        let rows = usize::try_from(max).map_or(left, |max| max.min(left));
        if rows == 0 {
            return (Bytes::new(), 0);
        }
        self.given += rows;
        let end = self.ends[self.given - 1];
        let bytes = self.bytes.split_to(end - self.cut);
        self.cut = end;
        (bytes, rows as u64)
    }
}

/// Runs `work` as a job, such as the planning that Describe asks for.
pub(crate) async fn in_job<T: Send + 'static>(
    windlass: &Windlass,
    options: JobOptions,
    work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
) -> Result<T, SqlError> {
    ended(&mut windlass.spawn(options, work)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_given_in_parts_at_the_ends_of_rows() {
        let mut chunk = Chunk {
            bytes: Bytes::from_static(b"aabccc"),
            ends: vec![2, 3, 6],
            ..Chunk::default()
        };
        assert_eq!(chunk.give(1), (Bytes::from_static(b"aa"), 1));
        assert_eq!(chunk.give(0), (Bytes::new(), 0));
        assert_eq!(chunk.give(u64::MAX), (Bytes::from_static(b"bccc"), 2));
        assert!(chunk.is_empty());
    }
}
