//! One list of columns for the files of a table.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::tables::error::TablesError;
use crate::tables::listing::Format;
use crate::tables::shape::Columns;

/// The common columns of a table's files, at least one.
///
/// Parquet: a column has one type in all files; rows of files without it have no value. CSV: all
/// headers are the same, since rows are read by position; types that differ become text, or
/// floating point if all are numbers.
pub(crate) fn merge(files: &[(PathBuf, &Columns)], format: Format) -> Result<SchemaRef, TablesError> {
    match format {
        Format::Parquet => merge_parquet(files),
        Format::Csv => merge_csv(files),
    }
}

/// Writers' metadata may differ where rows do not.
pub(super) fn without_metadata(schema: &Schema) -> Schema {
    let plain = |field: &FieldRef| Arc::new(field.as_ref().clone().with_metadata(Default::default()));
    Schema::new(schema.fields().iter().map(plain).collect::<Fields>())
}

struct Merged<'a> {
    field: Field,
    /// The first file with it.
    path: &'a Path,
    /// Files with it.
    files: usize,
}

fn merge_parquet(files: &[(PathBuf, &Columns)]) -> Result<SchemaRef, TablesError> {
    let mut merged: Vec<Merged<'_>> = Vec::new();
    let mut last: Option<&SchemaRef> = None;
    for (path, columns) in files {
        // The same columns as in the file before: no search.
        if last.is_some_and(|last| *last == columns.schema) {
            for column in merged
                .iter_mut()
                .filter(|column| columns.schema.index_of(column.field.name()).is_ok())
            {
                column.files += 1;
            }
            continue;
        }
        last = Some(&columns.schema);
        for field in columns.schema.fields() {
            let same = merged
                .iter_mut()
                .find(|column| column.field.name() == field.name());
            let Some(column) = same else {
                merged.push(Merged {
                    field: field.as_ref().clone(),
                    path,
                    files: 1,
                });
                continue;
            };
            let before = column.field.data_type().clone();
            column
                .field
                .try_merge(field)
                .map_err(|_| TablesError::PartsDiffer {
                    first: column.path.to_owned(),
                    second: path.clone(),
                    reason: format!(
                        "the column \"{}\" is {before} in one and {} in the other",
                        field.name(),
                        field.data_type()
                    ),
                })?;
            column.files += 1;
        }
    }
    let fields = merged.into_iter().map(|column| {
        let lacking = column.files < files.len();
        let nullable = lacking || column.field.is_nullable();
        column.field.with_nullable(nullable)
    });
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

fn merge_csv(files: &[(PathBuf, &Columns)]) -> Result<SchemaRef, TablesError> {
    let Some(((first_path, first), others)) = files.split_first() else {
        return Ok(Arc::new(Schema::empty()));
    };
    let mut fields: Vec<Field> = first
        .schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone())
        .collect();
    for (path, columns) in others {
        let differ = |reason| TablesError::PartsDiffer {
            first: first_path.clone(),
            second: path.clone(),
            reason,
        };
        let others = columns.schema.fields();
        for (index, (field, other)) in fields.iter_mut().zip(others).enumerate() {
            if field.name() != other.name() {
                return Err(differ(format!(
                    "their column {} is \"{}\" in one and \"{}\" in the other",
                    index + 1,
                    field.name(),
                    other.name()
                )));
            }
            let both = common_type(field.data_type(), other.data_type());
            field.set_data_type(both);
        }
        if fields.len() != others.len() {
            let longer = if fields.len() > others.len() {
                &first.schema
            } else {
                &columns.schema
            };
            let name = longer.field(fields.len().min(others.len())).name();
            return Err(differ(format!(
                "one has {} columns and the other {}: only one has \"{name}\"",
                fields.len(),
                others.len(),
            )));
        }
    }
    for field in &mut fields {
        if field.data_type().is_null() {
            field.set_data_type(DataType::Utf8);
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// As CSV's reader infers it among the values of one file.
fn common_type(a: &DataType, b: &DataType) -> DataType {
    use DataType::{Date32, Float64, Int64, Null, Timestamp, Utf8};
    match (a, b) {
        (a, b) if a == b => a.clone(),
        (Null, known) | (known, Null) => known.clone(),
        (Int64, Float64) | (Float64, Int64) => Float64,
        (Date32, time @ Timestamp(..)) | (time @ Timestamp(..), Date32) => time.clone(),
        (Timestamp(a, None), Timestamp(b, None)) => Timestamp(*a.max(b), None),
        _ => Utf8,
    }
}
