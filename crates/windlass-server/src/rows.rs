//! A statement's rows: planned, computed and written as messages by one job, and taken by its
//! connection.
//!
//! ```text
//!   workers: plan ─► compute ─► write 256 rows as messages ─► two chunks at most ─► connection ─► client
//!                                    ▲                              │
//!                                    └── waits without a worker ◄───┘ while the client does not read
//! ```

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use arrow_pg::datatypes::arrow_schema_to_pg_fields;
use arrow_pg::row_encoder::RowEncoder;
use bytes::{BufMut, Bytes, BytesMut};
use datafusion::arrow::datatypes::Schema;
use datafusion::execution::TaskContext;
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
use crate::plan::{self, Planned};
use crate::queries::OpenQuery;
use crate::wire::{Column, Format, SqlError};

/// Number of rows in a chunk.
const CHUNK_ROWS: usize = 256;

/// Bytes after which a chunk ends, however few rows it has.
const CHUNK_BYTES: usize = 256 * 1024;

/// The code of an error that is the server's fault.
const INTERNAL: &str = "XX000";

/// Number of chunks that wait for the client.
const CHUNKS: usize = 2;

/// What a statement runs with.
pub(crate) struct Order {
    pub(crate) planned: Planned,
    pub(crate) formats: Formats,
    pub(crate) format_options: Arc<FormatOptions>,
    pub(crate) memory: memory::StatementMemory,
    pub(crate) deadline: Option<Instant>,
}

/// The rows of a statement that runs. Dropping it ends the statement.
#[derive(Debug)]
pub(crate) struct Rows {
    pieces: mpsc::Receiver<Piece>,
    columns: Option<Vec<Column>>,
    /// `None` once its end was seen.
    outcome: Option<AsyncTask<Result<(), SqlError>>>,
    deadline: Option<Instant>,
    /// What was taken, and not given yet.
    rest: Chunk,
    open: OpenQuery,
    _admitted: Admitted,
}

#[derive(Debug)]
enum Piece {
    Columns(Vec<Column>),
    Rows(Chunk),
}

/// Rows as messages.
#[derive(Debug, Default)]
struct Chunk {
    bytes: Bytes,
    /// Where each row ends in `bytes`, from the first to the last.
    ends: Vec<usize>,
    /// Number of rows that are given, and bytes of theirs that are cut off the front of `bytes`.
    given: usize,
    cut: usize,
}

impl Rows {
    /// Begins a statement. Its job plans it, too.
    pub(crate) fn begin(
        windlass: &Windlass,
        context: &SessionContext,
        open: OpenQuery,
        admitted: Admitted,
        options: JobOptions,
        order: Order,
    ) -> Self {
        let (sender, pieces) = mpsc::channel(CHUNKS);
        let query = Arc::clone(open.query());
        let deadline = order.deadline;
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
            deadline,
            rest: Chunk::default(),
            open,
            _admitted: admitted,
        }
    }

    /// Notes that further rows are asked for, which `cancelled` ends.
    pub(crate) fn go_on(&mut self, cancelled: CancellationToken) {
        self.open.goes_on(cancelled);
    }

    /// Waits for the columns. May be dropped at any time.
    ///
    /// # Errors
    ///
    /// The statement's, if it fails before.
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

    /// Waits for up to `max` further rows: messages and their number; `None` after the last. May be
    /// dropped at any time.
    ///
    /// # Errors
    ///
    /// The statement's.
    pub(crate) async fn next(&mut self, max: u64) -> Result<Option<(Bytes, u64)>, SqlError> {
        Ok(if self.is_at_end().await? {
            None
        } else {
            Some(self.rest.give(max))
        })
    }

    /// Whether every row was given. Waits for the next row, or the end. May be dropped at any time.
    ///
    /// # Errors
    ///
    /// The statement's.
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

    /// Waits for the job's end, and says how it ended; well, if that was said before.
    async fn end(&mut self) -> Result<(), SqlError> {
        let Some(outcome) = &mut self.outcome else {
            return Ok(());
        };
        let ended = ended(outcome, self.deadline).await;
        self.outcome = None;
        let outcome = ended.as_ref().copied().map_err(|error| error.code);
        self.open.ended(outcome);
        ended
    }
}

/// Waits for the end of a job's first task, and says how it ended. May be dropped at any time.
async fn ended<T>(
    task: &mut AsyncTask<Result<T, SqlError>>,
    deadline: Option<Instant>,
) -> Result<T, SqlError> {
    let ended = first_task_ended(task).await;
    ended.map_err(|error| with_its_cause(error, deadline, Instant::now()))
}

/// At its deadline any task of a job may be the first to end, and the others then miss it: a panic of
/// DataFusion's, or an internal error.
fn with_its_cause(error: SqlError, deadline: Option<Instant>, now: Instant) -> SqlError {
    if error.code == INTERNAL && deadline.is_some_and(|deadline| now >= deadline) {
        SqlError::timed_out()
    } else {
        error
    }
}

async fn first_task_ended<T>(task: &mut AsyncTask<Result<T, SqlError>>) -> Result<T, SqlError> {
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
    SqlError::new(INTERNAL, format!("internal error: {what}"))
}

async fn run(context: &SessionContext, order: Order, pieces: mpsc::Sender<Piece>) -> Result<(), SqlError> {
    let Order {
        planned,
        formats,
        format_options,
        memory,
        deadline: _,
    } = order;
    let logical = planned.plan(context).await?;
    let fields = fields(logical.schema().as_arrow(), &formats, Some(format_options))?;
    let columns = columns(&fields)?;
    if pieces.send(Piece::Columns(columns)).await.is_err() {
        return Ok(());
    }
    let state = context.state();
    let physical = state.create_physical_plan(&logical).await?;
    let task = TaskContext::from(&state).with_runtime(memory.runtime(state.runtime_env()));
    let mut batches = execute_stream(physical, Arc::new(task))?;
    let fields = Arc::new(fields);
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        if batch.num_columns() != fields.len() {
            return Err(internal("a batch has other columns than its plan"));
        }
        let mut rows = RowEncoder::new(batch, Arc::clone(&fields));
        while let Some(chunk) = next_chunk(&mut rows)? {
            // The connection has no further use for them.
            if pieces.send(Piece::Rows(chunk)).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
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

/// The next rows as messages; `None` after the last.
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

    /// Gives its next rows, `max` at most. It is not empty.
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

/// Runs `work` as a job of its own, such as the planning that a client asks about.
///
/// # Errors
///
/// Those of `work`, or why it ended early.
pub(crate) async fn in_job<T: Send + 'static>(
    windlass: &Windlass,
    options: JobOptions,
    deadline: Option<Instant>,
    work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
) -> Result<T, SqlError> {
    ended(&mut windlass.spawn(options, work), deadline).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_a_missed_deadline_has_broken_failed_by_the_deadline() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let cause = |error, deadline| with_its_cause(error, deadline, now).code;
        assert_eq!(cause(internal("a panic"), Some(now)), "57014");
        assert_eq!(cause(internal("a panic"), Some(now + second)), INTERNAL);
        assert_eq!(cause(internal("a panic"), None), INTERNAL);
        assert_eq!(cause(SqlError::new("22012", "divided"), Some(now)), "22012");
    }

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
