//! What a connection has made: its settings, prepared statements, portals and cursors.

mod functions;
mod portal;
mod reply;
mod variables;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::Statement;
use pgwire::api::portal::Format as Formats;
use postgres_types::Type;
use tokio_util::sync::CancellationToken;
use windlass_datafusion::WindlassOptions;
use windlass_datafusion::pools::JobOptions;

use crate::admission::Admitted;
use crate::connections::Connected;
use crate::nodes::RemoteStatement;
use crate::parameters::Parameters;
use crate::plan::{self, Planned};
use crate::queries::OpenQuery;
use crate::rows::{self, Order, Rows, within};
use crate::savepoints::Savepoints;
use crate::settings::{Scope, Settings};
use crate::shared::Shared;
use crate::statement::{self, Action};
use crate::wire::{Bind, Column, Format, SqlError, TransactionStatus};

pub(crate) use portal::PortalState;
use portal::{Portal, Prepared};
pub(crate) use reply::Reply;
use reply::{done, done_with};
use variables::Variables;

/// Number of prepared statements, and of portals, that a session keeps.
const KEPT_MAX: usize = 10_000;

/// Bytes of a statement that the connection's thread reads itself: a millisecond's work.
const READ_HERE_MAX: usize = 16 * 1024;

/// A logged-in connection's state.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    pub(crate) connected: Connected,
    pub(crate) user: Arc<str>,
    pub(crate) variables: Arc<Variables>,
    pub(crate) transaction: TransactionStatus,
    savepoints: Savepoints,
    /// Made with the first statement that needs it: its tables of functions take a third of a login's
    /// time, and a connection that a pool keeps in reserve has no use for them.
    context: OnceLock<SessionContext>,
    statements: HashMap<String, Arc<Prepared>>,
    portals: HashMap<String, Portal>,
}

/// A statement that may run.
struct Begun {
    open: OpenQuery,
    admitted: Admitted,
    deadline: Option<Instant>,
    options: JobOptions,
    /// Bytes that the session allows its statements.
    memory: Option<usize>,
    /// What other machines get to know of it.
    remote: Option<RemoteStatement>,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>, connected: Connected, user: Arc<str>) -> Self {
        let variables = Variables::new(&shared);
        Self {
            shared,
            connected,
            user,
            variables,
            transaction: TransactionStatus::Idle,
            savepoints: Savepoints::default(),
            context: OnceLock::new(),
            statements: HashMap::new(),
            portals: HashMap::new(),
        }
    }

    /// Reads the statements of `sql`. A long text is a worker's to read, so that the sockets of
    /// others do not wait for it.
    pub(crate) async fn parse(&self, sql: &str) -> Result<Vec<Statement>, SqlError> {
        if sql.len() <= READ_HERE_MAX {
            return statement::parse(sql, &self.shared.parser);
        }
        let (shared, sql) = (Arc::clone(&self.shared), sql.to_owned());
        let options = self.windlass_options().job("reading a long statement".to_owned());
        let work = async move { statement::parse(&sql, &shared.parser) };
        rows::in_job(&self.shared.windlass, options, work).await
    }

    /// Begins a statement for those who want to cancel it.
    pub(crate) fn cancel_token(&self) -> CancellationToken {
        self.connected.begin()
    }

    pub(crate) fn statement_over(&self) {
        self.connected.end();
    }

    /// Does what `action` asks for, or begins to. `text` is for those who look at what runs.
    pub(crate) async fn begin(
        &mut self,
        action: Action,
        text: &str,
        parameters: Option<Arc<Parameters>>,
        formats: Formats,
    ) -> Result<Reply, SqlError> {
        if self.transaction == TransactionStatus::Failed
            && !matches!(action, Action::Commit | Action::Rollback | Action::RollbackTo(_))
        {
            let what = "current transaction is aborted, commands ignored until end of transaction block";
            return Err(SqlError::new("25P02", what));
        }
        match action {
            Action::Rows(statement) => {
                let planned = Planned {
                    parameters,
                    ..Planned::new(statement)
                };
                let rows = self.run(planned, text, formats).await?;
                Ok(Reply::Rows(Box::new(rows)))
            }
            Action::Set { name, value, scope } => {
                self.variables.set(&name, &value, scope)?;
                let is_lost = scope == Scope::Transaction && self.transaction == TransactionStatus::Idle;
                let notice = is_lost.then(|| "SET LOCAL can only be used in transaction blocks".to_owned());
                Ok(done_with("SET", notice))
            }
            Action::Reset(name) => {
                self.variables.reset(name.as_deref())?;
                Ok(done("RESET"))
            }
            Action::Unlisten => Ok(done("UNLISTEN")),
            Action::DiscardCaches => Ok(done("RESET")),
            Action::Show(name) => {
                let (name, value) = self.variables.show(&name)?;
                Ok(Reply::Row { name, value })
            }
            Action::Begin => {
                let notice = (self.transaction == TransactionStatus::Open)
                    .then(|| "there is already a transaction in progress".to_owned());
                self.transaction = TransactionStatus::Open;
                Ok(done_with("BEGIN", notice))
            }
            Action::Commit | Action::Rollback => Ok(self.end_transaction(matches!(action, Action::Commit))),
            Action::Savepoint(name) => {
                self.in_transaction("SAVEPOINT")?;
                self.savepoints.set(name)?;
                self.variables.change(Settings::savepoint);
                Ok(done("SAVEPOINT"))
            }
            Action::Release(name) => {
                self.in_transaction("RELEASE SAVEPOINT")?;
                let depth = self.savepoints.release(&name)?;
                self.variables.change(|settings| settings.release(depth));
                for portal in self.portals.values_mut() {
                    portal.depth = portal.depth.min(depth);
                }
                Ok(done("RELEASE"))
            }
            Action::RollbackTo(name) => {
                self.in_transaction("ROLLBACK TO SAVEPOINT")?;
                let depth = self.savepoints.back_to(&name)?;
                self.variables.change(|settings| settings.back_to(depth));
                self.portals.retain(|_, portal| portal.depth <= depth);
                self.transaction = TransactionStatus::Open;
                Ok(done("ROLLBACK"))
            }
            Action::Declare { cursor, query } => self.declare(cursor, query, parameters, text).await,
            Action::Fetch { cursor, rows } => Ok(Reply::Fetch { cursor, rows }),
            Action::CloseCursor(Some(name)) => match self.portals.remove(&name) {
                Some(_) => Ok(done("CLOSE CURSOR")),
                None => Err(no_portal(&name)),
            },
            Action::CloseCursor(None) => {
                self.portals.clear();
                Ok(done("CLOSE CURSOR ALL"))
            }
            Action::Deallocate(Some(name)) => match self.statements.remove(&name) {
                Some(_) => Ok(done("DEALLOCATE")),
                None => Err(no_statement(&name)),
            },
            Action::Deallocate(None) => {
                self.statements.clear();
                Ok(done("DEALLOCATE ALL"))
            }
            Action::DiscardAll => {
                if self.transaction != TransactionStatus::Idle {
                    let what = "DISCARD ALL cannot run inside a transaction block";
                    return Err(SqlError::new("25001", what));
                }
                self.statements.clear();
                self.portals.clear();
                self.context = OnceLock::new();
                self.variables.discard();
                Ok(done("DISCARD ALL"))
            }
        }
    }

    /// A statement's failure makes the transaction around it fail.
    pub(crate) fn fail(&mut self) {
        match self.transaction {
            TransactionStatus::Open => self.transaction = TransactionStatus::Failed,
            TransactionStatus::Idle => self.variables.change(Settings::rollback),
            TransactionStatus::Failed => {}
        }
    }

    /// The end of a statement outside of a transaction ends what belongs to transactions.
    pub(crate) fn end_statement(&mut self) {
        if self.transaction == TransactionStatus::Idle {
            self.portals.clear();
            self.variables.change(Settings::commit);
        }
    }

    /// Makes a prepared statement.
    pub(crate) async fn prepare(&mut self, name: String, sql: String, types: &[u32]) -> Result<(), SqlError> {
        if !name.is_empty() && self.statements.contains_key(&name) {
            let what = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new("42P05", what));
        }
        if self.statements.len() >= KEPT_MAX {
            let what = format!("a connection keeps at most {KEPT_MAX} prepared statements");
            return Err(SqlError::new("53400", what));
        }
        let mut parsed = self.parse(&sql).await?;
        if parsed.len() > 1 {
            let what = "cannot insert multiple commands into a prepared statement";
            return Err(SqlError::new("42601", what));
        }
        let action = parsed.pop().map(statement::action).transpose()?;
        // 0 where the server is to infer it.
        let named = types
            .iter()
            .map(|&oid| Type::from_oid(oid).filter(|_| oid != 0))
            .collect::<Vec<_>>();
        let (parameter_types, schema) = match &action {
            Some(Action::Rows(of_rows)) => {
                let described = self
                    .describe(Planned::new(Arc::clone(of_rows)), &sql, named)
                    .await?;
                (described.parameter_types, Some(described.schema))
            }
            Some(Action::Declare { query, .. }) => {
                let described = self
                    .describe(Planned::new(Arc::clone(query)), &sql, named)
                    .await?;
                (described.parameter_types, None)
            }
            Some(Action::Fetch { cursor, .. }) => (Vec::new(), self.cursor_schema(cursor)),
            Some(Action::Show(setting)) => (Vec::new(), Some(one_text(setting))),
            _ => (Vec::new(), None),
        };
        let prepared = Prepared {
            text: sql,
            action,
            parameter_types,
            schema,
        };
        self.statements.insert(name, Arc::new(prepared));
        Ok(())
    }

    /// Makes a portal of a prepared statement and its values.
    pub(crate) fn bind(&mut self, bind: &Bind) -> Result<(), SqlError> {
        let prepared = Arc::clone(self.prepared(&bind.statement)?);
        for &code in &bind.parameter_formats {
            Format::from_code(code)?;
        }
        if ![0, 1, bind.parameters.len()].contains(&bind.parameter_formats.len()) {
            let what = format!(
                "{} formats are bound for {} parameters",
                bind.parameter_formats.len(),
                bind.parameters.len()
            );
            return Err(SqlError::protocol_in_statement(what));
        }
        if bind.parameters.len() != prepared.parameter_types.len() {
            let what = format!(
                "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
                bind.parameters.len(),
                bind.statement,
                prepared.parameter_types.len()
            );
            return Err(SqlError::protocol_in_statement(what));
        }
        let schema = match &prepared.action {
            Some(Action::Fetch { cursor, .. }) => self.cursor_schema(cursor),
            _ => prepared.schema.clone(),
        };
        if let Some(schema) = &schema
            && ![0, 1, schema.fields().len()].contains(&bind.result_formats.len())
        {
            let what = format!(
                "{} formats are bound for {} columns",
                bind.result_formats.len(),
                schema.fields().len()
            );
            return Err(SqlError::protocol_in_statement(what));
        }
        let formats = plan::formats(&bind.result_formats)?;
        let parameters = Arc::new(Parameters::new(prepared.parameter_types.clone(), bind));
        let portal = Portal {
            parameters: Some(parameters),
            formats,
            prepared,
            depth: self.savepoints.depth(),
            state: PortalState::Fresh,
        };
        self.insert_portal(bind.portal.clone(), portal)
    }

    fn insert_portal(&mut self, name: String, portal: Portal) -> Result<(), SqlError> {
        if !name.is_empty() && self.portals.contains_key(&name) {
            return Err(SqlError::new(
                "42P03",
                format!("cursor \"{name}\" already exists"),
            ));
        }
        if self.portals.len() >= KEPT_MAX {
            let what = format!("a connection keeps at most {KEPT_MAX} portals");
            return Err(SqlError::new("53400", what));
        }
        self.portals.insert(name, portal);
        Ok(())
    }

    pub(crate) fn prepared(&self, name: &str) -> Result<&Arc<Prepared>, SqlError> {
        self.statements.get(name).ok_or_else(|| no_statement(name))
    }

    pub(crate) fn portal(&mut self, name: &str) -> Result<&mut Portal, SqlError> {
        self.portals.get_mut(name).ok_or_else(|| no_portal(name))
    }

    /// The columns of a prepared statement as text; `None` if it gives no rows.
    pub(crate) fn statement_columns(&self, prepared: &Prepared) -> Result<Option<Vec<Column>>, SqlError> {
        self.columns(prepared, &Formats::UnifiedText)
    }

    /// The columns of a portal; `None` if it gives no rows.
    pub(crate) fn portal_columns(&self, name: &str) -> Result<Option<Vec<Column>>, SqlError> {
        let portal = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        self.columns(&portal.prepared, &portal.formats)
    }

    /// A FETCH has its cursor's columns.
    fn columns(&self, prepared: &Prepared, formats: &Formats) -> Result<Option<Vec<Column>>, SqlError> {
        match &prepared.action {
            Some(Action::Fetch { cursor, .. }) => match self.portals.get(cursor) {
                Some(cursor) => cursor.prepared.columns(formats),
                None => Ok(None),
            },
            _ => prepared.columns(formats),
        }
    }

    fn cursor_schema(&self, cursor: &str) -> Option<Arc<Schema>> {
        self.portals.get(cursor)?.prepared.schema.clone()
    }

    pub(crate) fn forget_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    pub(crate) fn forget_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    /// Begins a statement that gives rows.
    async fn run(&self, planned: Planned, text: &str, formats: Formats) -> Result<Rows, SqlError> {
        let Begun {
            open,
            admitted,
            deadline,
            options,
            memory,
            remote,
        } = self.begin_query(text).await?;
        let order = Order {
            planned,
            formats,
            format_options: self.variables.format_options(),
            memory: self.shared.memory.statement(&self.user, memory),
            remote,
        };
        let windlass = &self.shared.windlass;
        Ok(Rows::begin(
            windlass,
            self.context(),
            open,
            admitted,
            deadline,
            options,
            order,
        ))
    }

    async fn describe(
        &self,
        planned: Planned,
        text: &str,
        named: Vec<Option<Type>>,
    ) -> Result<plan::Described, SqlError> {
        let mut begun = self.begin_query(text).await?;
        let context = self.context().clone();
        let work = async move { planned.describe(&context, &named).await };
        let described = tokio::select! {
            biased;
            described = rows::in_job(&self.shared.windlass, begun.options, work) => described,
            () = begun.open.query().cancelled() => Err(SqlError::cancelled_by_user()),
        };
        begun
            .open
            .ended(described.as_ref().map(|_| ()).map_err(|error| error.code));
        described
    }

    /// Waits until a statement may run, by the session's settings.
    async fn begin_query(&self, text: &str) -> Result<Begun, SqlError> {
        let mut settings = self.windlass_options();
        let timeouts = [
            self.variables.statement_timeout(),
            settings.deadline,
            self.shared.statement_time_max,
        ];
        let shortest = timeouts.into_iter().flatten().min();
        let deadline = shortest.and_then(|timeout| Instant::now().checked_add(timeout));
        let process = self.connected.key().process;
        let open = self.shared.queries.enter(
            process,
            &self.user,
            text,
            settings.class,
            self.connected.statement(),
        );
        let query = open.query();
        let admitted = tokio::select! {
            biased;
            () = query.cancelled() => return Err(SqlError::cancelled_by_user()),
            admitted = within(deadline, self.shared.admission.enter(&self.user)) => admitted??,
        };
        settings.deadline = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let name = format!("statement {} of {}", query.number, query.user);
        let mut options = settings.job(name);
        if let Some(turns) = &self.shared.turns {
            options = options.observer(turns.of(query.number));
        }
        let nodes = self.shared.nodes.as_ref();
        let remote = nodes.map(|nodes| nodes.statement(query.number, &self.user, settings.clone(), deadline));
        Ok(Begun {
            options,
            memory: settings.memory,
            remote,
            open,
            admitted,
            deadline,
        })
    }

    fn context(&self) -> &SessionContext {
        self.context.get_or_init(|| {
            let context = self.shared.engine.session(&self.user);
            functions::register(&context, &self.variables);
            self.variables.attach(&context);
            context
        })
    }

    fn windlass_options(&self) -> WindlassOptions {
        WindlassOptions::of(&self.variables.options())
    }

    /// Sets `name`, which is in lower case, for the session.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        self.variables.set(name, value, Scope::Session)
    }

    fn end_transaction(&mut self, is_commit: bool) -> Reply {
        let before = std::mem::take(&mut self.transaction);
        self.portals.clear();
        self.savepoints.clear();
        let notice =
            (before == TransactionStatus::Idle).then(|| "there is no transaction in progress".to_owned());
        // A failed transaction cannot be committed.
        let tag = if is_commit && before != TransactionStatus::Failed {
            self.variables.change(Settings::commit);
            "COMMIT"
        } else {
            self.variables.change(Settings::rollback);
            "ROLLBACK"
        };
        done_with(tag, notice)
    }

    fn in_transaction(&self, statement: &str) -> Result<(), SqlError> {
        if self.transaction == TransactionStatus::Idle {
            let what = format!("{statement} can only be used in transaction blocks");
            return Err(SqlError::new("25P01", what));
        }
        Ok(())
    }

    /// Makes a cursor, which begins to run with the first FETCH.
    async fn declare(
        &mut self,
        cursor: String,
        query: Arc<Statement>,
        parameters: Option<Arc<Parameters>>,
        text: &str,
    ) -> Result<Reply, SqlError> {
        self.in_transaction("DECLARE CURSOR")?;
        let named = (parameters.as_ref()).map_or_else(Vec::new, |parameters| {
            parameters.types.iter().cloned().map(Some).collect()
        });
        let planned = Planned::new(Arc::clone(&query));
        let described = self.describe(planned, text, named).await?;
        let prepared = Prepared {
            text: text.to_owned(),
            action: Some(Action::Rows(query)),
            parameter_types: described.parameter_types,
            schema: Some(described.schema),
        };
        let portal = Portal {
            prepared: Arc::new(prepared),
            parameters,
            formats: Formats::UnifiedText,
            depth: self.savepoints.depth(),
            state: PortalState::Fresh,
        };
        self.insert_portal(cursor, portal)?;
        Ok(done("DECLARE CURSOR"))
    }
}

fn one_text(name: &str) -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new(name, DataType::Utf8, false)]))
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}

fn no_statement(name: &str) -> SqlError {
    SqlError::new("26000", format!("prepared statement \"{name}\" does not exist"))
}
