//! Answers that engines of other types can be compared by.

use std::cmp::Ordering;

use anyhow::{Result, bail, ensure};
use arrow::array::{Array as _, AsArray as _};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int32Type, Int64Type};
use query::QueryResult;
use serde::{Deserialize, Serialize};

/// Numbers of two engines may differ by this part: averages have other digits.
const PRECISION: f64 = 1e-9;

/// Rows in the order of their values.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Answer(Vec<Vec<Value>>);

/// Decimals are numbers.
#[derive(Clone, Debug, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Value {
    Number(f64),
    Text(String),
}

impl Answer {
    pub(crate) fn of(result: &QueryResult) -> Result<Self> {
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for batch in &result.batches {
            let first = rows.len();
            rows.resize(first + batch.num_rows(), Vec::new());
            for column in batch.columns() {
                for (at, row) in rows[first..].iter_mut().enumerate() {
                    ensure!(column.is_valid(at), "a NULL in the answer");
                    row.push(match column.data_type() {
                        DataType::Int32 => Value::Number(column.as_primitive::<Int32Type>().value(at).into()),
                        DataType::Int64 => Value::Number(column.as_primitive::<Int64Type>().value(at) as f64),
                        DataType::Float64 => Value::Number(column.as_primitive::<Float64Type>().value(at)),
                        DataType::Decimal128(_, scale) => {
                            let unscaled = column.as_primitive::<Decimal128Type>().value(at);
                            Value::Number(unscaled as f64 / 10_f64.powi((*scale).into()))
                        }
                        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(at).to_owned()),
                        DataType::Utf8View => Value::Text(column.as_string_view().value(at).to_owned()),
                        other => bail!("{other} in the answer"),
                    });
                }
            }
        }
        Ok(Self::of_rows(rows))
    }

    /// The answer with these rows, in any order.
    pub(crate) fn of_rows(mut rows: Vec<Vec<Value>>) -> Self {
        rows.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
        Self(rows)
    }

    /// Fails if `other` has other rows.
    pub(crate) fn verify(&self, other: &Self) -> Result<()> {
        let (known, rows) = (&self.0, &other.0);
        ensure!(
            rows.len() == known.len(),
            "{} rows, not {}",
            rows.len(),
            known.len()
        );
        for (row, known) in rows.iter().zip(known) {
            let is_same =
                row.len() == known.len() && row.iter().zip(known).all(|(value, known)| value.is(known));
            ensure!(is_same, "{row:?}, not {known:?}");
        }
        Ok(())
    }
}

impl Value {
    fn is(&self, known: &Self) -> bool {
        match (self, known) {
            (Self::Number(value), Self::Number(known)) => (value - known).abs() <= PRECISION * known.abs(),
            (value, known) => value == known,
        }
    }
}
