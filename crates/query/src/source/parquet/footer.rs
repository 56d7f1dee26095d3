//! Opens a file: marks, footer, page index, checks for damage.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::DecodeResult;
use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use ::parquet::errors::Result as ParquetResult;
use ::parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};
use arrow::datatypes::{DataType, Field, Schema};
use bytes::Bytes;
use columnar::ReadError;

use super::damage::guarded;
use crate::source::byte_source::ByteSource;
use crate::source::opening::OpeningReads;

const MARK: &[u8; 4] = b"PAR1";
/// The footer's length and the mark.
const TAIL_BYTES: u64 = 8;
/// Most files need no second read.
const FIRST_READ_BYTES: u64 = 64 << 10;
const PAGE_HEADER_BYTES_MIN: u64 = 8;

/// Strings become `Utf8View`.
pub(super) fn load<R: OpeningReads>(
    source: &dyn ByteSource,
    reads: &R,
) -> Result<ArrowReaderMetadata, R::Error> {
    let fail = |message: String| R::Error::from(ReadError::new(source.origin(), message));
    let len = source.bytes();
    if len < 4 {
        return Err(fail(
            "not a Parquet file: it is shorter than the mark that every Parquet file begins with".to_owned(),
        ));
    }
    let end = len.saturating_sub(FIRST_READ_BYTES)..len;
    let ends = reads.read(source, &[0..4, end.clone()])?;
    let [head, tail] =
        <[Bytes; 2]>::try_from(ends).map_err(|_| fail("two ranges were asked for".to_owned()))?;
    check_ends(len, &head, &tail).map_err(|message| fail(message.to_owned()))?;
    let metadata = decode(source, reads, end, tail)?;
    guarded(|| {
        let metadata = with_views(metadata).map_err(|error| error.to_string())?;
        match end_of_data(&metadata) {
            Some(end) if end > len => {
                Err("the Parquet file is truncated: its footer names data behind its end".to_owned())
            }
            _ => check_rows(&metadata).map(|()| metadata),
        }
    })
    .map_err(fail)
}

/// `tail` is the end of the footer.
fn decode<R: OpeningReads>(
    source: &dyn ByteSource,
    reads: &R,
    end: Range<u64>,
    tail: Bytes,
) -> Result<ParquetMetaData, R::Error> {
    let fail = |message: String| R::Error::from(ReadError::new(source.origin(), message));
    let mut decoder = guarded(|| {
        let mut decoder = ParquetMetaDataPushDecoder::try_new(end.end)
            .map_err(|error| error.to_string())?
            .with_offset_index_policy(PageIndexPolicy::Optional)
            .with_column_index_policy(PageIndexPolicy::Skip);
        let pushed = decoder.push_range(end.clone(), tail);
        pushed.map(|()| decoder).map_err(|error| error.to_string())
    })
    .map_err(fail)?;
    loop {
        let decoded = guarded(|| decoder.try_decode().map_err(|error| error.to_string()));
        let wanted = match decoded.map_err(fail)? {
            DecodeResult::Data(metadata) => return Ok(metadata),
            DecodeResult::Finished => return Err(fail("the file is damaged: it has no footer".to_owned())),
            DecodeResult::NeedsData(wanted) => wanted,
        };
        if wanted
            .iter()
            .any(|range| range.start >= range.end || range.end > end.end)
        {
            return Err(fail(
                "the file is damaged: its footer names an index behind its end".to_owned(),
            ));
        }
        let read = reads.read(source, &wanted)?;
        decoder
            .push_ranges(wanted, read)
            .map_err(|error| fail(error.to_string()))?;
    }
}

/// Tells a truncated file from another format.
fn check_ends(len: u64, head: &[u8], tail: &[u8]) -> Result<(), &'static str> {
    if head == b"PARE" {
        return Err("the Parquet file is encrypted");
    }
    if head != MARK {
        return Err("not a Parquet file: it does not begin with PAR1");
    }
    let truncated = "the Parquet file is truncated: it does not end with its footer and PAR1";
    let Some((rest, mark)) = tail.split_last_chunk::<4>() else {
        return Err(truncated);
    };
    if len < 4 + TAIL_BYTES || mark != MARK {
        return Err(truncated);
    }
    let footer = rest
        .last_chunk::<4>()
        .map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if u64::from(footer) > len - TAIL_BYTES {
        return Err("the Parquet file is truncated: its footer is longer than the file");
    }
    Ok(())
}

fn end_of_data(metadata: &ArrowReaderMetadata) -> Option<u64> {
    let groups = metadata.metadata().row_groups().iter();
    let ends = groups.flat_map(|group| group.columns()).map(|column| {
        let (start, bytes) = column.byte_range();
        start.saturating_add(bytes)
    });
    ends.max()
}

/// An impossible count would size memory before the first value is read.
fn check_rows(metadata: &ArrowReaderMetadata) -> Result<(), String> {
    for (index, group) in metadata.metadata().row_groups().iter().enumerate() {
        let claims = format!(
            "the file is damaged: row group {index} claims {} rows",
            group.num_rows()
        );
        let rows = u64::try_from(group.num_rows()).map_err(|_| claims.clone())?;
        for column in group.columns() {
            // NULLs and empty lists count.
            let values = u64::try_from(column.num_values()).unwrap_or(0);
            let (_, bytes) = column.byte_range();
            // A page's value count has 31 bits.
            let most = (bytes / PAGE_HEADER_BYTES_MIN + 1).saturating_mul(i32::MAX as u64);
            if rows > values.min(most) {
                let name = column.column_path().string();
                return Err(format!(
                    "{claims}, but column {name} has {values} values in {bytes} bytes"
                ));
            }
        }
    }
    Ok(())
}

fn with_views(metadata: ParquetMetaData) -> ParquetResult<ArrowReaderMetadata> {
    let metadata = Arc::new(metadata);
    let plain = ArrowReaderMetadata::try_new(Arc::clone(&metadata), ArrowReaderOptions::new())?;
    let fields: Vec<Field> = plain
        .schema()
        .fields()
        .iter()
        .map(|field| match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => field.as_ref().clone().with_data_type(DataType::Utf8View),
            _ => field.as_ref().clone(),
        })
        .collect();
    let schema = Arc::new(Schema::new_with_metadata(
        fields,
        plain.schema().metadata().clone(),
    ));
    ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new().with_schema(schema))
}
