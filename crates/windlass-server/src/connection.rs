//! One connection: from its login to its end.
//!
//! ```text
//!   read a message ─► do it ─► rows, errors ─► written when the buffer is full, at Sync and Flush
//!                      │
//!                      └── while a statement runs: ends with a cancel request, the client's end,
//!                          or the server's; further messages wait, within a bound
//! ```

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::datatypes::Schema;
use pgwire::api::portal::Format as Formats;
use postgres_types::Type;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::ends::Ends;
use crate::rows::Rows;
use crate::session::{PortalState, Reply, Session};
use crate::shared::Shared;
use crate::statement;
use crate::wire::{Backend, Bind, Column, Format, FrameError, Frames, Message, Severity, SqlError, Target};

/// Bytes that wait to be written before they are written.
const WRITE_AT: usize = 64 * 1024;

/// Bytes of further messages that are read while a statement runs.
const AHEAD_MAX: usize = 64 * 1024;

/// What a connection reads from and writes to.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A client's connection.
pub(crate) struct Connection {
    pub(crate) stream: Box<dyn Stream>,
    pub(crate) frames: Frames,
    pub(crate) out: Backend,
    pub(crate) peer: SocketAddr,
    pub(crate) shared: Arc<Shared>,
}

/// Why a connection ends.
#[derive(Debug)]
pub(crate) enum Gone {
    /// The client has said goodbye, or was told an error that ends its connection.
    Closed,
    Io(io::Error),
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl Connection {
    /// Serves a client that has logged in, up to its end.
    pub(crate) async fn serve(&mut self, session: &mut Session) -> Result<(), Gone> {
        loop {
            for (name, value) in session.variables.untold() {
                self.out.parameter_status(name, &value);
            }
            self.out.ready(session.transaction);
            self.flush().await?;
            loop {
                let message = match self.message(session).await? {
                    Ok(message) => message,
                    Err(error) => return self.fatal(&error).await,
                };
                let is_simple = matches!(message, Message::Query(_));
                match self.handle(session, message).await {
                    Ok(Next::Message) => {}
                    Ok(Next::Ready) => break,
                    Ok(Next::Close) => return Err(Gone::Closed),
                    Err(Failed::Gone(gone)) => return Err(gone),
                    Err(Failed::Sql(error)) => {
                        session.fail();
                        if error.is_fatal() {
                            return self.fatal(&error).await;
                        }
                        self.out.error(&error);
                        if !is_simple {
                            self.skip_to_sync(session).await?;
                        }
                        session.end_statement();
                        break;
                    }
                }
            }
        }
    }

    /// Tells the client why its connection ends, and ends it.
    pub(crate) async fn fatal(&mut self, error: &SqlError) -> Result<(), Gone> {
        let error = SqlError {
            severity: Severity::Fatal,
            ..error.clone()
        };
        self.out.error(&error);
        self.flush().await?;
        Err(Gone::Closed)
    }

    /// Waits for the next message. While none is there, the server's shutdown ends the connection.
    async fn message(&mut self, session: &Session) -> Result<Result<Message, SqlError>, Gone> {
        let shared = Arc::clone(&session.shared);
        let next = self.frames.next(&mut self.stream, shared.message_bytes_max);
        let frame = tokio::select! {
            biased;
            frame = next => frame,
            () = shared.draining.cancelled() => return Ok(Err(SqlError::shutting_down())),
        };
        match frame {
            Ok(Some((kind, body))) => Ok(Message::read(kind, body)),
            Ok(None) => Err(Gone::Closed),
            Err(FrameError::Wrong(error)) => Ok(Err(error)),
            Err(FrameError::Io(error)) => Err(Gone::Io(error)),
        }
    }

    async fn skip_to_sync(&mut self, session: &Session) -> Result<(), Gone> {
        self.flush().await?;
        loop {
            match self.message(session).await? {
                Ok(Message::Sync) => return Ok(()),
                Ok(Message::Terminate) => return Err(Gone::Closed),
                Ok(_) => {}
                Err(error) => return self.fatal(&error).await,
            }
        }
    }

    async fn handle(&mut self, session: &mut Session, message: Message) -> Result<Next, Failed> {
        match message {
            Message::Query(sql) => {
                self.simple(session, &sql).await?;
                session.end_statement();
                return Ok(Next::Ready);
            }
            Message::Parse {
                name,
                sql,
                parameter_types,
            } => {
                // Parse replaces the statement without a name, and its portal.
                if name.is_empty() {
                    session.forget_statement("");
                }
                self.prepare(session, name, sql, &parameter_types).await?;
                self.out.parse_complete();
            }
            Message::Bind(bind) => self.bind(session, &bind)?,
            Message::Describe(Target::Statement(name)) => {
                let prepared = session.prepared(&name)?;
                let types: Vec<_> = prepared.parameter_types.iter().map(Type::oid).collect();
                let columns = session.statement_columns(prepared)?;
                self.out.parameter_description(&types);
                self.describe(columns.as_deref());
            }
            Message::Describe(Target::Portal(name)) => {
                let columns = session.portal_columns(&name)?;
                self.describe(columns.as_deref());
            }
            Message::Execute { portal, rows_max } => self.execute(session, &portal, rows_max).await?,
            Message::Close(target) => {
                match target {
                    Target::Statement(name) => session.forget_statement(&name),
                    Target::Portal(name) => session.forget_portal(&name),
                }
                self.out.close_complete();
            }
            Message::Flush => self.flush().await?,
            Message::Sync => {
                session.end_statement();
                return Ok(Next::Ready);
            }
            Message::Terminate => return Ok(Next::Close),
            // PostgreSQL ignores what is left of a COPY.
            Message::Copy => {}
            Message::Secret(_) => {
                return Err(SqlError::protocol("a password came after the login").into());
            }
        }
        Ok(Next::Message)
    }

    fn bind(&mut self, session: &mut Session, bind: &Bind) -> Result<(), Failed> {
        if bind.portal.is_empty() {
            session.forget_portal("");
        }
        session.bind(bind)?;
        self.out.bind_complete();
        Ok(())
    }

    fn describe(&mut self, columns: Option<&[Column]>) {
        match columns {
            Some(columns) => self.out.row_description(columns),
            None => self.out.no_data(),
        }
    }

    async fn prepare(
        &mut self,
        session: &mut Session,
        name: String,
        sql: String,
        types: &[u32],
    ) -> Result<(), Failed> {
        let ends = Ends::of(session);
        let prepared = self
            .while_connected(&ends, session.prepare(name, sql, types))
            .await;
        session.statement_over();
        prepared
    }

    /// The statements of a simple query, one after another up to the first error.
    async fn simple(&mut self, session: &mut Session, sql: &str) -> Result<(), Failed> {
        let ends = Ends::of(session);
        let parsed = self.while_connected(&ends, session.parse(sql)).await;
        session.statement_over();
        let statements = parsed?;
        if statements.is_empty() {
            self.out.empty_query();
        }
        for parsed in statements {
            let tag = statement::tag_of(&parsed);
            let action = statement::action(parsed)?;
            let ends = Ends::of(session);
            let begun = session.begin(action, sql, None, Formats::UnifiedText);
            let reply = self.while_connected(&ends, begun).await;
            let done = match reply {
                Ok(Reply::Rows(mut rows)) => self.all_rows(&ends, &mut rows, tag).await,
                Ok(Reply::Fetch { cursor, rows }) => {
                    self.fetch(session, &ends, (&cursor, rows), FetchedBy::Simple)
                        .await
                }
                Ok(reply) => {
                    self.small(reply, true);
                    Ok(())
                }
                Err(failed) => Err(failed),
            };
            session.statement_over();
            done?;
        }
        Ok(())
    }

    /// Columns, all rows, and the end of a statement.
    async fn all_rows(&mut self, ends: &Ends, rows: &mut Rows, tag: &str) -> Result<(), Failed> {
        let columns = self.while_connected(ends, rows.columns()).await?;
        self.out.row_description(columns);
        let mut count = 0;
        while let Some((bytes, number)) = self.while_connected(ends, rows.next(u64::MAX)).await? {
            count += number;
            self.write_rows(ends, &bytes).await?;
        }
        self.complete(tag, count);
        Ok(())
    }

    fn complete(&mut self, tag: &str, count: u64) {
        match tag {
            "SELECT" | "FETCH" => self.out.command_complete(&format!("{tag} {count}")),
            other => self.out.command_complete(other),
        }
    }

    /// Rows of a portal: up to `rows_max`, or all.
    async fn execute(&mut self, session: &mut Session, name: &str, rows_max: u32) -> Result<(), Failed> {
        let ends = Ends::of(session);
        let done = self.execute_within(session, &ends, name, rows_max).await;
        session.statement_over();
        done
    }

    async fn execute_within(
        &mut self,
        session: &mut Session,
        ends: &Ends,
        name: &str,
        rows_max: u32,
    ) -> Result<(), Failed> {
        let state = std::mem::replace(&mut session.portal(name)?.state, PortalState::Finished);
        let mut rows = match state {
            PortalState::Running(mut rows) => {
                self.while_connected(ends, rows.resume()).await?;
                rows.go_on(ends.cancelled.clone());
                rows
            }
            // As PostgreSQL says of a portal that has given all.
            PortalState::Finished => {
                self.complete("SELECT", 0);
                return Ok(());
            }
            PortalState::Fresh => {
                let Some((action, text, parameters, formats)) = session.portal(name)?.to_begin() else {
                    self.out.empty_query();
                    return Ok(());
                };
                let described = session.portal_columns(name)?;
                let begun = session.begin(action, &text, parameters, formats);
                match self.while_connected(ends, begun).await? {
                    Reply::Rows(mut rows) => {
                        let columns = self.while_connected(ends, rows.columns()).await?;
                        if described.is_some_and(|described| described != columns) {
                            let what = "cached plan must not change result type";
                            return Err(SqlError::not_supported(what).into());
                        }
                        rows
                    }
                    Reply::Fetch { cursor, rows } => {
                        let portal = session.portal(name)?;
                        let by = FetchedBy::Portal {
                            formats: portal.formats().clone(),
                            known: portal.known().cloned(),
                        };
                        return self.fetch(session, ends, (&cursor, rows), by).await;
                    }
                    reply => {
                        self.small(reply, false);
                        return Ok(());
                    }
                }
            }
        };
        let limit = if rows_max == 0 {
            u64::MAX
        } else {
            u64::from(rows_max)
        };
        let (count, is_at_end) = self.some_rows(ends, &mut rows, limit).await?;
        if is_at_end {
            self.complete("SELECT", count);
        } else {
            rows.pause();
            session.portal(name)?.state = PortalState::Running(rows);
            self.out.portal_suspended();
        }
        Ok(())
    }

    /// Rows of a cursor, `None` for all that are left.
    async fn fetch(
        &mut self,
        session: &mut Session,
        ends: &Ends,
        (cursor, limit): (&str, Option<u64>),
        by: FetchedBy,
    ) -> Result<(), Failed> {
        let portal = session.portal(cursor)?;
        let (formats, is_told) = match by {
            FetchedBy::Simple => (Formats::UnifiedText, false),
            FetchedBy::Portal { formats, known } => {
                if known.is_some() && known.as_ref() != portal.known() {
                    let what = "cached plan must not change result type";
                    return Err(SqlError::not_supported(what).into());
                }
                (formats, true)
            }
        };
        let columns = portal.columns_in(&formats)?.unwrap_or_default();
        if !is_told {
            self.out.row_description(&columns);
        }
        let state = std::mem::replace(&mut session.portal(cursor)?.state, PortalState::Finished);
        let mut rows = match state {
            PortalState::Running(mut rows) => {
                self.while_connected(ends, rows.resume()).await?;
                rows
            }
            PortalState::Fresh => {
                let Some((action, text, parameters, _)) = session.portal(cursor)?.to_begin() else {
                    self.complete("FETCH", 0);
                    return Ok(());
                };
                let begun = session.begin(action, &text, parameters, formats);
                let Reply::Rows(rows) = self.while_connected(ends, begun).await? else {
                    return Err(SqlError::not_supported("a cursor is over a query").into());
                };
                rows
            }
            PortalState::Finished => {
                self.complete("FETCH", 0);
                return Ok(());
            }
        };
        rows.go_on(ends.cancelled.clone());
        if self.while_connected(ends, rows.columns()).await? != columns {
            let what = "a cursor gives its rows in the formats of its first FETCH, \
                        and in the columns of its DECLARE";
            return Err(SqlError::not_supported(what).into());
        }
        let (count, is_at_end) = self.some_rows(ends, &mut rows, limit.unwrap_or(u64::MAX)).await?;
        if !is_at_end {
            rows.pause();
            session.portal(cursor)?.state = PortalState::Running(rows);
        }
        self.complete("FETCH", count);
        Ok(())
    }

    /// Up to `limit` rows. Returns their number, and whether there are no more.
    async fn some_rows(&mut self, ends: &Ends, rows: &mut Rows, limit: u64) -> Result<(u64, bool), Failed> {
        let mut count = 0;
        while count < limit {
            match self.while_connected(ends, rows.next(limit - count)).await? {
                Some((bytes, number)) => {
                    count += number;
                    self.write_rows(ends, &bytes).await?;
                }
                None => return Ok((count, true)),
            }
        }
        let is_at_end = self.while_connected(ends, rows.is_at_end()).await?;
        Ok((count, is_at_end))
    }

    fn small(&mut self, reply: Reply, tells_columns: bool) {
        match reply {
            Reply::Row { name, value } => {
                if tells_columns {
                    self.out.row_description(&[Column {
                        name,
                        type_oid: Type::TEXT.oid(),
                        type_size: -1,
                        format: Format::Text,
                    }]);
                }
                self.out.text_row(&value);
                self.out.command_complete("SHOW");
            }
            Reply::Done { tag, notice } => {
                if let Some(notice) = notice {
                    self.out.notice(&notice);
                }
                self.out.command_complete(tag);
            }
            Reply::Rows(_) | Reply::Fetch { .. } => unreachable!("rows are no small reply"),
        }
    }

    /// Waits for `work` of a statement, as long as the client is there and nothing ends it.
    async fn while_connected<T>(
        &mut self,
        ends: &Ends,
        work: impl Future<Output = Result<T, SqlError>>,
    ) -> Result<T, Failed> {
        tokio::select! {
            biased;
            why = ends.why() => Err(why.into()),
            done = work => Ok(done?),
            error = self.frames.watch(&mut self.stream, AHEAD_MAX) => Err(Failed::Gone(Gone::Io(error))),
        }
    }

    /// Writes rows once enough wait. A client that does not read stops here, and can be ended.
    async fn write_rows(&mut self, ends: &Ends, rows: &Bytes) -> Result<(), Failed> {
        self.out.rows(rows);
        if self.out.len() < WRITE_AT {
            return Ok(());
        }
        tokio::select! {
            biased;
            why = ends.why() => Err(why.into()),
            written = write_all(&mut self.stream, &mut self.out) => written.map_err(|error| Failed::Gone(Gone::Io(error))),
        }
    }

    /// Writes all that waits.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        let written = async {
            write_all(&mut self.stream, &mut self.out).await?;
            self.stream.flush().await
        };
        written.await.map_err(Gone::Io)
    }
}

/// What comes after a message.
enum Next {
    Message,
    /// The server waits for a new statement.
    Ready,
    Close,
}

/// How a client asked for a cursor's rows.
enum FetchedBy {
    /// By a simple query, which is told the columns.
    Simple,
    /// By a portal, whose client may know the columns from its prepared statement.
    Portal {
        formats: Formats,
        known: Option<Arc<Schema>>,
    },
}

enum Failed {
    Sql(SqlError),
    Gone(Gone),
}

impl From<SqlError> for Failed {
    fn from(error: SqlError) -> Self {
        Self::Sql(error)
    }
}

impl From<Gone> for Failed {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}

/// Writes what waits. May be dropped at any time: what was written is off the buffer.
async fn write_all(stream: &mut (impl AsyncWrite + Unpin), out: &mut Backend) -> io::Result<()> {
    while !out.is_empty() {
        if stream.write_buf(out.unwritten()).await? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}
