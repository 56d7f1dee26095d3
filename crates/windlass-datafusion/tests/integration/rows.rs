//! Rows as text, to compare answers value by value.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::Float64Type;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;

#[derive(Debug)]
pub(crate) struct Rows {
    batches: Vec<RecordBatch>,
}

impl Rows {
    pub(crate) async fn of(session: &SessionContext, sql: &str, what: &str) -> Rows {
        let planned = session.sql(sql).await;
        let frame = planned.unwrap_or_else(|error| panic!("{what}: {error}"));
        let collected = frame.collect().await;
        let batches = collected.unwrap_or_else(|error| panic!("{what}: {error}"));
        Rows { batches }
    }

    pub(crate) fn text(&self) -> Vec<String> {
        self.lines(f64_exactly)
    }

    /// As published answers have it: floats with 12 fractional digits.
    pub(crate) fn text_to_12_digits(&self) -> Vec<String> {
        self.lines(|value| format!("{value:.12}"))
    }

    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        self.batches
            .iter()
            .flat_map(|batch| cells(batch, f64_exactly))
            .collect()
    }

    fn lines(&self, float: fn(f64) -> String) -> Vec<String> {
        self.batches
            .iter()
            .flat_map(|batch| cells(batch, float))
            .map(|row| words(&row.join(" ")))
            .collect()
    }
}

impl From<Vec<RecordBatch>> for Rows {
    fn from(batches: Vec<RecordBatch>) -> Rows {
        Rows { batches }
    }
}

pub(crate) fn assert_same(expected: &[String], found: &[String], what: &str) {
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        assert_eq!(expected, found, "{what}, row {number}");
    }
    assert_eq!(expected.len(), found.len(), "{what}, the number of rows");
}

fn f64_exactly(value: f64) -> String {
    format!("{value:?}")
}

fn cells(batch: &RecordBatch, float: fn(f64) -> String) -> Vec<Vec<String>> {
    let columns: Vec<Vec<String>> = batch
        .columns()
        .iter()
        .map(|column| values(column, float))
        .collect();
    let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
    (0..batch.num_rows()).map(row).collect()
}

fn values(column: &ArrayRef, float: fn(f64) -> String) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formatter = ArrayFormatter::try_new(column, &options).expect("a type that can be shown");
    let floats = column.as_primitive_opt::<Float64Type>();
    let is_fraction = column.data_type().is_decimal() || floats.is_some();
    let value = |row: usize| {
        let text = match floats.filter(|floats| floats.is_valid(row)) {
            Some(floats) => float(floats.value(row)),
            None => formatter.value(row).to_string(),
        };
        if is_fraction && text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    };
    (0..column.len()).map(value).collect()
}

pub(crate) fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
