//! Results as text: an aligned table, CSV or JSON.
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
//! An error leaves no half result.

mod csv;
mod json;
mod table;
mod values;

use crate::error::QueryError;
use crate::result::QueryResult;

/// How a result is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OutputFormat {
    /// Aligned columns.
    #[default]
    Table,
    /// RFC 4180 with a header.
    Csv,
    /// One array of objects.
    Json,
}

/// Renders a result. The text is empty or ends with a line break.
///
/// # Errors
///
/// [`QueryError::Evaluation`] when a value has no text, such as a timestamp outside the calendar.
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
