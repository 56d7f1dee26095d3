//! The header and the first rows of a CSV file.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::{Field, Schema};

use crate::tables::shape::{Columns, Part};

/// Types are inferred from these rows below the header.
const ROWS: usize = 1_000;

/// Bounds the header and these rows together.
const BYTES_MAX: usize = 16 << 20;

const CHUNK: u64 = 64 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) fn read(file: &File) -> Result<Columns, String> {
    let sample = Sample::read(file).map_err(|error| error.to_string())?;
    columns(&sample)
}

/// From the beginning of a file of `len` bytes.
pub(super) fn read_beginning(beginning: &Bytes, len: u64) -> Result<Part, String> {
    let read = beginning.len() as u64;
    let sample = Sample::read(&**beginning).map_err(|error| error.to_string())?;
    if sample.is_to_the_end && read < len {
        return Ok(Part::Needs(len.min(4 * read)));
    }
    columns(&sample).map(Part::Columns)
}

fn columns(sample: &Sample) -> Result<Columns, String> {
    let rows = &sample.bytes[..sample.whole_rows];
    if rows.is_empty() {
        return Err(format!("its first row is longer than {} MiB", BYTES_MAX >> 20));
    }
    // Not a part of the first column's name. Readers of rows skip the header.
    let rows = rows.strip_prefix(BYTE_ORDER_MARK).unwrap_or(rows);
    let (schema, _) = Format::default()
        .with_header(true)
        .infer_schema(rows, Some(ROWS))
        .map_err(|error| error.to_string())?;
    let fields = schema.fields().iter().enumerate();
    let fields = fields.map(|(index, field)| {
        let name = match field.name().as_str() {
            // Data frames are written with a nameless index.
            "" => format!("column_{}", index + 1),
            name => name.to_owned(),
        };
        // `Null` if all its values were missing.
        Field::new(name, field.data_type().clone(), true)
    });
    Ok(Columns {
        schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        line_breaks: sample.line_breaks,
    })
}

struct Sample {
    bytes: Vec<u8>,
    /// Bytes up to the end of the last complete row.
    whole_rows: usize,
    line_breaks: bool,
    /// There are no more bytes.
    is_to_the_end: bool,
}

impl Sample {
    fn read(mut file: impl Read) -> io::Result<Self> {
        let mut sample = Self {
            bytes: Vec::new(),
            whole_rows: 0,
            line_breaks: false,
            is_to_the_end: false,
        };
        let mut scanned = 0;
        let mut rows = 0;
        let mut place = At::FieldStart;
        while sample.bytes.len() < BYTES_MAX {
            let read = Read::by_ref(&mut file)
                .take(CHUNK)
                .read_to_end(&mut sample.bytes)?;
            if read == 0 {
                sample.whole_rows = sample.bytes.len();
                sample.is_to_the_end = true;
                return Ok(sample);
            }
            for index in scanned..sample.bytes.len() {
                let byte = sample.bytes[index];
                place = place.after(byte);
                if byte == b'\n' {
                    if place == At::Quoted {
                        sample.line_breaks = true;
                        continue;
                    }
                    sample.whole_rows = index + 1;
                    rows += 1;
                    // One more, for the header.
                    if rows > ROWS {
                        return Ok(sample);
                    }
                }
            }
            scanned = sample.bytes.len();
        }
        Ok(sample)
    }
}

/// A reader's place in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    FieldStart,
    Field,
    Quoted,
    /// A quote within quotes: ends them unless another follows.
    Quote,
}

impl At {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::FieldStart | Self::Quote, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::Quote,
            (Self::Quoted, _) => Self::Quoted,
            (_, b',' | b'\n' | b'\r') => Self::FieldStart,
            _ => Self::Field,
        }
    }
}
