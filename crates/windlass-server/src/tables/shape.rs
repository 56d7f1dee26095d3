//! What a file holds, as far as its columns tell.

use datafusion::arrow::datatypes::SchemaRef;

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Columns {
    pub(crate) schema: SchemaRef,
    /// Whether a value of the rows that were looked at has a line break in it; of CSV.
    pub(crate) line_breaks: bool,
}
