//! Runs queries through the public API, and turns results into rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, UInt64Type};
use columnar::TableSource;
use query::pipeline_exec::PipelineExecutor;
use query::{Catalog, Query, QueryError, QueryPlanner, QueryResult, Session, Work};

#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Decimal(i128, u32),
    Float(f64),
    Text(String),
    Date(i32),
}

/// All NaN are equal; decimals are equal by value.
impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Decimal(a, scale), Self::Decimal(b, other)) => {
                let common = (*scale).max(*other);
                a * 10i128.pow(common - scale) == b * 10i128.pow(common - other)
            }
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Date(a), Self::Date(b)) => a == b,
            _ => false,
        }
    }
}

pub(crate) type Row = Vec<Cell>;

pub(crate) fn executor(threads: usize) -> Work {
    Work::from(PipelineExecutor::new(threads).expect("threads start"))
}

pub(crate) fn executors() -> Vec<Work> {
    [1, 2, 3, 8].map(executor).into()
}

pub(crate) fn catalog(table: Arc<dyn TableSource>) -> Catalog {
    let mut catalog = Catalog::new();
    catalog.register(table).expect("the only table");
    catalog
}

pub(crate) fn query(sql: &str, tables: &Catalog, work: &Work) -> Result<QueryResult, QueryError> {
    Ok(planned(sql, tables, work)?.run()?.rows)
}

pub(crate) fn planned(sql: &str, tables: &Catalog, work: &Work) -> Result<Query, QueryError> {
    Ok(Session::new(work.clone()).query(QueryPlanner::plan(sql, tables)?))
}

pub(crate) fn rows(result: &QueryResult) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in &result.batches {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|column| cell(column, row)).collect());
        }
    }
    rows
}

fn cell(array: &ArrayRef, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Null;
    }
    match array.data_type() {
        DataType::Boolean => Cell::Bool(array.as_boolean().value(row)),
        DataType::Int32 => Cell::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => {
            Cell::Int(i64::try_from(array.as_primitive::<UInt64Type>().value(row)).expect("small numbers"))
        }
        DataType::Decimal128(_, scale) => Cell::Decimal(
            array.as_primitive::<Decimal128Type>().value(row),
            u32::try_from(*scale).expect("no negative scales here"),
        ),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Utf8View => Cell::Text(array.as_string_view().value(row).to_owned()),
        DataType::Date32 => Cell::Date(array.as_primitive::<Date32Type>().value(row)),
        other => panic!("no test expects a column of {other}"),
    }
}

pub(crate) fn assert_same_bits(a: &QueryResult, b: &QueryResult, what: &str) {
    assert_eq!(a.schema, b.schema, "{what}: schema");
    let concat = |result: &QueryResult| {
        arrow::compute::concat_batches(&result.schema, &result.batches).expect("batches of one schema")
    };
    // `ArrayData` compares floats by value, so NaN needs the bits.
    let (a, b) = (concat(a), concat(b));
    assert_eq!(a.num_rows(), b.num_rows(), "{what}: rows");
    for (index, (left, right)) in a.columns().iter().zip(b.columns()).enumerate() {
        if left.data_type() == &DataType::Float64 {
            let bits = |array: &ArrayRef| -> Vec<Option<u64>> {
                array
                    .as_primitive::<Float64Type>()
                    .iter()
                    .map(|value| value.map(f64::to_bits))
                    .collect()
            };
            assert_eq!(bits(left), bits(right), "{what}: column {index}");
        } else {
            assert_eq!(left, right, "{what}: column {index}");
        }
    }
}
