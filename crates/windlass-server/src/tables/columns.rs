//! The columns of a file, read from its beginning or its end.

mod csv;
mod merge;
mod parquet;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bytes::Bytes;

use super::error::TablesError;
use super::listing::Format;
use super::root::{OpenFile, Root, is_absent};
use super::version::Version;

pub(crate) use super::shape::{Columns, Part};
pub(crate) use merge::merge;

/// `None` if the regular file is gone.
pub(crate) fn read(
    root: &Root,
    in_root: &str,
    format: Format,
) -> Result<Option<(Version, Columns)>, TablesError> {
    let path = root.join(in_root);
    let unreadable = |error: io::Error| TablesError::io(&path, &error);
    let file = match root.open(Path::new(in_root)) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let version = file.version().map_err(unreadable)?;
    let columns = read_open(&file, version.len(), format);
    if file.version().map_err(unreadable)? != version {
        return Err(TablesError::unreadable(path, "it is being written to"));
    }
    let columns = columns.map_err(|reason| TablesError::unreadable(&path, reason))?;
    Ok(Some((version, columns)))
}

/// From a part of a file of `len` bytes: the end of a Parquet file, the beginning of a CSV file.
pub(crate) fn read_part(part: &Bytes, len: u64, format: Format) -> Result<Part, String> {
    let read = guarded(format, || match format {
        Format::Parquet => parquet::read_end(part, len),
        Format::Csv => csv::read_beginning(part, len),
    })?;
    match read {
        Part::Columns(columns) => unrepeated(columns).map(Part::Columns),
        needs => Ok(needs),
    }
}

fn read_open(file: &OpenFile, len: u64, format: Format) -> Result<Columns, String> {
    if len == 0 {
        return Err("it is empty".to_owned());
    }
    let columns = guarded(format, || match format {
        Format::Parquet => parquet::read(file.file()),
        Format::Csv => csv::read(file.file()),
    })?;
    unrepeated(columns)
}

/// The readers may panic on broken files; one file must not end the others' tables.
fn guarded<T>(format: Format, read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let read = catch_unwind(AssertUnwindSafe(read));
    read.unwrap_or_else(|_| Err(format!("it is no {format} file that can be read")))
}

fn unrepeated(columns: Columns) -> Result<Columns, String> {
    match repeated(&columns) {
        Some(name) => Err(format!("it has two columns \"{name}\"")),
        None => Ok(columns),
    }
}

fn repeated(columns: &Columns) -> Option<&str> {
    let fields = columns.schema.fields();
    let mut names: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    names
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
}

#[cfg(test)]
mod tests;
