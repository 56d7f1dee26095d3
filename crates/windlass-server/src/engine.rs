//! DataFusion as every session has it: tables, functions, settings.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::internal_datafusion_err;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{FunctionRegistry, SessionState, SessionStateBuilder};
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Volatility, create_udf};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_pg_catalog::setup_pg_catalog;
use windlass_datafusion::{Windlass, WindlassExt};

use crate::queries::Queries;
use crate::system_tables::{self, SessionUser};
use crate::tables::{CATALOG, SCHEMA, Tables};
use crate::wire::SqlError;

/// Settings that a session may change: names, or their beginnings.
const MAY_SET: &[&str] = &[
    "windlass.",
    "datafusion.execution.batch_size",
    "datafusion.execution.target_partitions",
    "datafusion.execution.time_zone",
    "datafusion.explain.",
    "datafusion.optimizer.",
];

/// Settings whose number has a bound, since memory and tasks grow with it.
const BOUNDS: &[(&str, u64)] = &[
    ("datafusion.execution.batch_size", 65_536),
    ("datafusion.execution.target_partitions", 64),
];

/// What all sessions share.
pub(crate) struct Engine {
    template: SessionState,
}

impl Engine {
    /// Makes the engine over `tables`. `planner` may give its sessions another planner.
    ///
    /// # Errors
    ///
    /// DataFusion's.
    pub(crate) fn new(
        windlass: &Windlass,
        runtime: Arc<RuntimeEnv>,
        partitions: usize,
        tables: &Tables,
        queries: &Arc<Queries>,
        planner: impl FnOnce(SessionStateBuilder) -> Result<SessionStateBuilder, DataFusionError>,
    ) -> Result<Self, DataFusionError> {
        let config = SessionConfig::new()
            .with_target_partitions(partitions)
            .with_information_schema(true)
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_create_default_catalog_and_schema(false);
        let builder = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime)
            .with_default_features();
        let state = planner(builder)?.with_windlass(windlass).build();
        tables.register(&state)?;
        let catalog = state.catalog_list().catalog(CATALOG);
        let catalog = catalog.ok_or_else(|| internal_datafusion_err!("there is no catalog {CATALOG}"))?;
        catalog.register_schema("windlass", system_tables::schema(queries, windlass))?;
        let context = SessionContext::new_with_state(state);
        setup_pg_catalog(&context, CATALOG, EmptyContextProvider).map_err(|error| *error)?;
        context.register_udf(unlock_all());
        Ok(Self {
            template: context.state(),
        })
    }

    /// What every session begins with.
    pub(crate) fn state(&self) -> &SessionState {
        &self.template
    }

    /// A session of its own over the shared tables.
    pub(crate) fn session(&self, user: &Arc<str>) -> SessionContext {
        let mut state = self.template.clone();
        state
            .config_mut()
            .set_extension(Arc::new(SessionUser(Arc::clone(user))));
        // The catalog's own function says `postgres` to all.
        let named = state.register_udf(Arc::new(session_user(user)));
        debug_assert!(named.is_ok(), "functions of a session can be set");
        SessionContext::new_with_state(state)
    }

    /// Checks that a session may set `name` to `value`.
    ///
    /// # Errors
    ///
    /// If the setting is not there, is the server's, or the value is too large.
    pub(crate) fn check_setting(&self, name: &str, value: &str) -> Result<(), SqlError> {
        self.check_reset(name)?;
        if let Some((_, bound)) = BOUNDS.iter().find(|(bounded, _)| *bounded == name) {
            let number = value.parse::<u64>().ok();
            if !number.is_some_and(|number| (1..=*bound).contains(&number)) {
                let what = format!("parameter \"{name}\" takes a number from 1 to {bound}, not \"{value}\"");
                return Err(SqlError::new("22023", what));
            }
        }
        Ok(())
    }

    /// Checks that a session may set `name` to its default.
    ///
    /// # Errors
    ///
    /// If the setting is not there, or is the server's.
    pub(crate) fn check_reset(&self, name: &str) -> Result<(), SqlError> {
        let entries = self.template.config_options().entries();
        if !entries.iter().any(|entry| entry.key == name) {
            return Err(unknown_setting(name));
        }
        if !MAY_SET.iter().any(|allowed| name.starts_with(allowed)) {
            return Err(SqlError::new(
                "42501",
                format!("parameter \"{name}\" is the server's to set"),
            ));
        }
        Ok(())
    }
}

/// `current_user`, which the parser writes as this function as well.
fn session_user(user: &str) -> ScalarUDF {
    let user = ScalarValue::from(user);
    create_udf(
        "session_user",
        Vec::new(),
        DataType::Utf8,
        Volatility::Stable,
        Arc::new(move |_| Ok(ColumnarValue::Scalar(user.clone()))),
    )
}

/// Does nothing, since there are no advisory locks; connection pools call it between two users.
fn unlock_all() -> ScalarUDF {
    create_udf(
        "pg_advisory_unlock_all",
        Vec::new(),
        DataType::Utf8,
        Volatility::Volatile,
        Arc::new(|_| Ok(ColumnarValue::Scalar(ScalarValue::from("")))),
    )
}

pub(crate) fn unknown_setting(name: &str) -> SqlError {
    SqlError::new(
        "42704",
        format!("unrecognized configuration parameter \"{name}\""),
    )
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}
