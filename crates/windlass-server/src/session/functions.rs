//! SQL functions over a session's settings: `current_setting` and `set_config`.
//!
//! `current_setting` is computed with the plan where its name is a constant, so it does not see
//! what a `set_config` of the same statement sets.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::cast::{as_boolean_array, as_string_array};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr_fn::SimpleScalarUDF;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Signature, TypeSignature, Volatility};
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;

use super::variables::Variables;
use crate::settings::Scope;
use crate::wire::SqlError;

const UNKNOWN: &str = "42704";

/// Gives a session's context its functions.
pub(super) fn register(context: &SessionContext, variables: &Arc<Variables>) {
    context.register_udf(current_setting(Arc::clone(variables)));
    context.register_udf(set_config(Arc::clone(variables)));
}

/// `current_setting(name [, missing_ok])`.
fn current_setting(variables: Arc<Variables>) -> ScalarUDF {
    let arguments = vec![
        TypeSignature::Exact(vec![DataType::Utf8]),
        TypeSignature::Exact(vec![DataType::Utf8, DataType::Boolean]),
    ];
    let signature = Signature::one_of(arguments, Volatility::Stable);
    let function = move |arguments: &[ColumnarValue]| {
        for_each_row(arguments, |columns, row| {
            let missing_ok = match columns.get(1) {
                None => Some(false),
                Some(column) => boolean(column, row)?,
            };
            // As a strict function of PostgreSQL, it makes NULL of NULL.
            let (Some(name), Some(missing_ok)) = (text(&columns[0], row)?, missing_ok) else {
                return Ok(None);
            };
            match variables.show(&name.to_lowercase()) {
                Ok((_, value)) => Ok(Some(value)),
                Err(error) if missing_ok && error.code == UNKNOWN => Ok(None),
                Err(error) => Err(external(error)),
            }
        })
    };
    let function =
        SimpleScalarUDF::new_with_signature("current_setting", signature, DataType::Utf8, Arc::new(function));
    ScalarUDF::from(function)
}

/// `set_config(name, value, is_local)`.
fn set_config(variables: Arc<Variables>) -> ScalarUDF {
    let arguments = vec![DataType::Utf8, DataType::Utf8, DataType::Boolean];
    let signature = Signature::exact(arguments, Volatility::Volatile);
    let function = move |arguments: &[ColumnarValue]| {
        for_each_row(arguments, |columns, row| {
            let Some(name) = text(&columns[0], row)? else {
                let what = "SET requires parameter name";
                return Err(external(SqlError::new("22004", what)));
            };
            let name = name.to_lowercase();
            // As in PostgreSQL, no value is the default, and NULL is not local.
            let value = text(&columns[1], row)?.unwrap_or_else(|| "default".to_owned());
            let scope = match boolean(&columns[2], row)? {
                Some(true) => Scope::Transaction,
                _ => Scope::Session,
            };
            variables.set(&name, &value, scope).map_err(external)?;
            let (_, value) = variables.show(&name).map_err(external)?;
            Ok(Some(value))
        })
    };
    let function =
        SimpleScalarUDF::new_with_signature("set_config", signature, DataType::Utf8, Arc::new(function));
    ScalarUDF::from(function)
}

/// Computes one text for each row of the arguments; one for all if they are constants.
fn for_each_row(
    arguments: &[ColumnarValue],
    of_row: impl Fn(&[ArrayRef], usize) -> Result<Option<String>>,
) -> Result<ColumnarValue> {
    let are_constants = arguments
        .iter()
        .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    let columns = ColumnarValue::values_to_arrays(arguments)?;
    let rows = columns.first().map_or(0, Array::len);
    let texts = (0..rows).map(|row| of_row(&columns, row));
    let texts = texts.collect::<Result<StringArray>>()?;
    Ok(if are_constants {
        ColumnarValue::Scalar(ScalarValue::try_from_array(&texts, 0)?)
    } else {
        ColumnarValue::Array(Arc::new(texts))
    })
}

fn text(column: &ArrayRef, row: usize) -> Result<Option<String>> {
    let column: &StringArray = as_string_array(column)?;
    Ok(column.is_valid(row).then(|| column.value(row).to_owned()))
}

fn boolean(column: &ArrayRef, row: usize) -> Result<Option<bool>> {
    let column: &BooleanArray = as_boolean_array(column)?;
    Ok(column.is_valid(row).then(|| column.value(row)))
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
