//! What a file's columns are.

use datafusion::arrow::datatypes::SchemaRef;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Columns {
    pub(crate) schema: SchemaRef,
    /// CSV: a value in the first rows has a line break.
    pub(crate) line_breaks: bool,
}
