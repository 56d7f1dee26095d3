//! Results as text: an aligned table for people, CSV and JSON for programs.
//!
//! | | table | CSV | JSON |
//! |---|---|---|---|
//! | shape | aligned columns, numbers to the right, and the number of rows | RFC 4180 with a header, lines end in LF | one array, an object per row and line |
//! | NULL | `NULL` (a text that says so is shown in quotes) | an empty field (an empty text is `""`) | `null` |
//! | decimal | all its digits | all its digits | a number with all its digits, never through a double |
//! | double | the shortest digits that read back the same | the same | the same; `NaN` and infinities, which JSON lacks, are strings |
//! | date, timestamp | ISO 8601 | ISO 8601 | a string, ISO 8601 |
//! | two columns of one name | both | both | the later ones get `_2`, `_3`, … |
//!
//! A result is rendered as a whole before anybody sees a byte of it, so an error leaves no half result behind.

mod csv;
mod json;
mod table;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::{QueryError, QueryResult};

/// How a result is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    /// Aligned columns, for people.
    #[default]
    Table,
    /// RFC 4180 with a header.
    Csv,
    /// One array of objects.
    Json,
}

/// Renders a whole result; what comes back ends with a line break, or is empty.
///
/// # Errors
///
/// [`QueryError::Evaluation`] when a value has no text: a timestamp outside of the calendar.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{Int64Array, RecordBatch, StringArray};
/// use query::QueryResult;
/// use query::output::{OutputFormat, render};
///
/// let batch = RecordBatch::try_from_iter([
///     ("city", Arc::new(StringArray::from(vec!["Ulm", "Freiburg, Breisgau"])) as _),
///     ("inhabitants", Arc::new(Int64Array::from(vec![Some(128_928), None])) as _),
/// ])?;
/// let result = QueryResult { schema: batch.schema(), batches: vec![batch] };
/// assert_eq!(
///     String::from_utf8(render(&result, OutputFormat::Csv)?)?,
///     "city,inhabitants\nUlm,128928\n\"Freiburg, Breisgau\",\n",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn render(result: &QueryResult, format: OutputFormat) -> Result<Vec<u8>, QueryError> {
    let text = match format {
        OutputFormat::Table => table::render(result),
        OutputFormat::Csv => csv::render(result),
        OutputFormat::Json => json::render(result),
    };
    text.map(String::into_bytes)
        .map_err(|error| QueryError::Evaluation {
            expression: "the text of the result".to_owned(),
            message: error.to_string(),
        })
}

/// What a column's values look like to a program that reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Whole numbers and decimals.
    Exact,
    Float,
    Boolean,
    /// Dates, timestamps, bytes as hexadecimal digits, nested values: no text of the user's.
    Symbol,
    Text,
}

/// The values of a column in a batch, one by one as text.
struct Values<'a> {
    array: &'a ArrayRef,
    formatter: ArrayFormatter<'a>,
    class: Class,
}

impl<'a> Values<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        let options = FormatOptions::new().with_display_error(false);
        Ok(Self {
            array,
            formatter: ArrayFormatter::try_new(array.as_ref(), &options)?,
            class: class(array.data_type()),
        })
    }

    fn class(&self) -> Class {
        self.class
    }

    /// Appends the text of a row to `text`; false, and nothing appended, for NULL.
    fn write(&self, row: usize, text: &mut String) -> Result<bool, ArrowError> {
        // The logical nulls of a dictionary may lie in its values.
        if self.array.is_null(row) || self.array.data_type() == &DataType::Null {
            return Ok(false);
        }
        if let DataType::Dictionary(_, _) = self.array.data_type()
            && self.array.logical_nulls().is_some_and(|nulls| nulls.is_null(row))
        {
            return Ok(false);
        }
        self.formatter.value(row).write(text)?;
        Ok(true)
    }
}

fn class(data_type: &DataType) -> Class {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Class::Float,
        DataType::Boolean => Class::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Class::Text,
        DataType::Dictionary(_, values) => class(values),
        other if other.is_integer() || other.is_decimal() => Class::Exact,
        _ => Class::Symbol,
    }
}

/// The columns of each batch.
fn batches(result: &QueryResult) -> impl Iterator<Item = Result<(usize, Vec<Values<'_>>), ArrowError>> {
    result.batches.iter().map(|batch| {
        let columns = batch
            .columns()
            .iter()
            .map(Values::of)
            .collect::<Result<Vec<_>, _>>()?;
        Ok((batch.num_rows(), columns))
    })
}
