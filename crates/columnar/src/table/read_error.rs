//! The error of a table that could not be read: its file, part and column.

use std::error::Error;
use std::fmt;

/// A table could not be read.
#[derive(Debug)]
pub struct ReadError {
    origin: String,
    part: Option<String>,
    column: Option<String>,
    source: Box<dyn Error + Send + Sync>,
}

impl ReadError {
    /// An error in `origin`: a file's path, or a table's name if it has no file.
    pub fn new(origin: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            origin: origin.into(),
            part: None,
            column: None,
            source: source.into(),
        }
    }

    /// Sets the part of the file, for example `row group 3` or `line 17`.
    #[must_use]
    pub fn in_part(mut self, part: impl Into<String>) -> Self {
        self.part = Some(part.into());
        self
    }

    /// Sets the column.
    #[must_use]
    pub fn in_column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// The file, or the table if it has no file.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The part of the file, where known.
    pub fn part(&self) -> Option<&str> {
        self.part.as_deref()
    }

    /// The column, where known.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read {}", self.origin)?;
        if let Some(part) = &self.part {
            write!(f, ", {part}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.source)
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_file_part_and_column() {
        let error = ReadError::new("a.parquet", "unexpected end")
            .in_part("row group 3")
            .in_column("l_tax");
        assert_eq!(
            error.to_string(),
            "cannot read a.parquet, row group 3, column l_tax: unexpected end"
        );
    }

    #[test]
    fn says_only_what_it_knows() {
        assert_eq!(ReadError::new("t", "gone").to_string(), "cannot read t: gone");
    }
}
