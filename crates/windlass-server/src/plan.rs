//! From a statement and its parameters to a logical plan that only reads.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_pg::datatypes::into_pg_type;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::Statement;
use pgwire::api::portal::Format as Formats;
use pgwire::error::PgWireError;
use postgres_types::Type;

use crate::parameters::{self, Parameters};
use crate::wire::SqlError;

/// A statement that can be planned: again for each execution, since tables come and go.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) statement: Arc<Statement>,
    pub(crate) parameters: Option<Arc<Parameters>>,
}

/// What a client is told of a prepared statement.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) parameter_types: Vec<Type>,
    pub(crate) schema: Arc<datafusion::arrow::datatypes::Schema>,
}

impl Planned {
    pub(crate) fn new(statement: Arc<Statement>) -> Self {
        Self {
            statement,
            parameters: None,
        }
    }

    /// Plans the statement with its parameters.
    ///
    /// # Errors
    ///
    /// If it is wrong, would write, or its parameters do not fit.
    pub(crate) async fn plan(&self, context: &SessionContext) -> Result<LogicalPlan, SqlError> {
        let plan = logical(context, &self.statement).await?;
        let Some(parameters) = &self.parameters else {
            return Ok(plan);
        };
        let types = parameter_types(&plan)?;
        if types.len() != parameters.values.len() {
            let what = format!(
                "{} values are bound, the statement has {} parameters",
                parameters.values.len(),
                types.len()
            );
            return Err(SqlError::protocol_in_statement(what));
        }
        if types.is_empty() {
            return Ok(plan);
        }
        let inferred: Vec<_> = types.iter().map(|(_, inferred)| inferred.as_ref()).collect();
        Ok(plan.replace_params_with_values(&parameters.read(&inferred)?)?)
    }

    /// Says which parameters the statement has, and which columns.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan), apart from values.
    pub(crate) async fn describe(
        &self,
        context: &SessionContext,
        named: &[Option<Type>],
    ) -> Result<Described, SqlError> {
        let plan = logical(context, &self.statement).await?;
        let inferred = parameter_types(&plan)?;
        let types = inferred.iter().enumerate().map(|(at, (_, inferred))| {
            match (named.get(at).cloned().flatten(), inferred) {
                (Some(named), _) => Ok(named),
                (None, Some(inferred)) => into_pg_type(inferred).map_err(SqlError::from),
                (None, None) => Ok(Type::TEXT),
            }
        });
        let parameter_types = types.collect::<Result<Vec<_>, _>>()?;
        let plan = plan.replace_params_with_values(&parameters::nulls(&parameter_types)?)?;
        Ok(Described {
            parameter_types,
            schema: Arc::new(plan.schema().as_arrow().clone()),
        })
    }
}

async fn logical(context: &SessionContext, statement: &Statement) -> Result<LogicalPlan, SqlError> {
    let statement = DfStatement::Statement(Box::new(statement.clone()));
    let plan = context.state().statement_to_plan(statement).await?;
    let only_reads = SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false);
    let checked = only_reads.verify_plan(&plan);
    checked.map_err(|error| SqlError::new("25006", error.strip_backtrace()))?;
    Ok(plan)
}

/// The parameters in the order of their numbers, each with its type if that can be told.
fn parameter_types(plan: &LogicalPlan) -> Result<Vec<(String, Option<DataType>)>, SqlError> {
    let mut types: HashMap<String, Option<DataType>> = plan.get_parameter_types()?;
    if types.values().any(Option::is_none) {
        let cast = cast_types(plan)?;
        for (id, kind) in &mut types {
            if kind.is_none() {
                *kind = cast.get(id).cloned();
            }
        }
    }
    let mut ordered = BTreeMap::new();
    for (id, kind) in types {
        let number = id.strip_prefix('$').and_then(|number| number.parse::<u16>().ok());
        let number = number.filter(|&number| number > 0);
        let number = number.ok_or_else(|| SqlError::new("42P02", format!("there is no parameter {id}")))?;
        ordered.insert(number, (id, kind));
    }
    let last = ordered.keys().last().copied().unwrap_or_default();
    // A number that is left out has a value that no expression uses.
    Ok((1..=last)
        .map(|number| {
            ordered
                .remove(&number)
                .unwrap_or_else(|| (format!("${number}"), None))
        })
        .collect())
}

/// Types of the casts around parameters: `$1::int`.
fn cast_types(plan: &LogicalPlan) -> Result<HashMap<String, DataType>, DataFusionError> {
    let mut types = HashMap::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expression| {
            expression.apply(|part| {
                if let Expr::Cast(cast) = part
                    && let Expr::Placeholder(placeholder) = cast.expr.as_ref()
                {
                    types.insert(placeholder.id.clone(), cast.field.data_type().clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(types)
}

/// Reads the formats of a result: none for text, one for all columns, or one for each.
///
/// # Errors
///
/// If there is no such format.
pub(crate) fn formats(codes: &[i16]) -> Result<Formats, SqlError> {
    for &code in codes {
        crate::wire::Format::from_code(code)?;
    }
    Ok(match codes {
        [] => Formats::UnifiedText,
        &[one] => Formats::from(one),
        many => Formats::Individual(many.to_vec()),
    })
}

impl From<PgWireError> for SqlError {
    fn from(error: PgWireError) -> Self {
        match error {
            PgWireError::UserError(info) => Self::new(known_code(&info.code), info.message),
            PgWireError::FailedToParseParameter(cause) => {
                Self::new("22P02", format!("a parameter does not fit its type: {cause}"))
            }
            other => Self::new("22P03", other.to_string()),
        }
    }
}

/// The code, if the library gives one that clients know.
fn known_code(code: &str) -> &'static str {
    [
        "22003", "22007", "22008", "22023", "22P02", "22P03", "0A000", "42601",
    ]
    .into_iter()
    .find(|known| *known == code)
    .unwrap_or("XX000")
}

/// Bytes of a value as in `pg_type.typlen`: -1 for a type of varying length.
pub(crate) fn type_size(kind: &Type) -> i16 {
    match *kind {
        Type::BOOL | Type::CHAR => 1,
        Type::INT2 => 2,
        Type::INT4 | Type::FLOAT4 | Type::DATE | Type::OID => 4,
        Type::INT8 | Type::FLOAT8 | Type::TIME | Type::TIMESTAMP | Type::TIMESTAMPTZ => 8,
        Type::TIMETZ => 12,
        Type::INTERVAL | Type::UUID => 16,
        Type::NAME => 64,
        _ => -1,
    }
}
