//! What a file's columns are.

use datafusion::arrow::datatypes::SchemaRef;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Columns {
    pub(crate) schema: SchemaRef,
    /// CSV: a value in the first rows has a line break.
    pub(crate) line_breaks: bool,
}

/// What a part of a file says.
#[derive(Debug)]
pub(crate) enum Part {
    Columns(Columns),
    /// Nothing yet: the part has to have this number of bytes.
    Needs(u64),
}
