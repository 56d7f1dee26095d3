//! Tests write a batch to a file here, and compare a reader's columns with the `parquet` crate's.

use std::ops::Range;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{cast, concat};
use columnar::TableSource as _;

use super::chunks::{self, Chunks};
use super::pages::FlatColumn;
use super::{ParquetTable, byte_source};

/// Of the second version of the format, or of the first.
pub(super) fn properties(second: bool, page_rows: usize, group_rows: usize) -> WriterPropertiesBuilder {
    let version = match second {
        true => WriterVersion::PARQUET_2_0,
        false => WriterVersion::PARQUET_1_0,
    };
    WriterProperties::builder()
        .set_writer_version(version)
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows)
        .set_max_row_group_row_count(Some(group_rows))
}

/// Reads each column by `read`, in two parts of each row group, the first of at most `cut` rows.
pub(super) fn assert_reads(
    batch: &RecordBatch,
    properties: WriterProperties,
    cut: usize,
    read: impl Fn(&FlatColumn<'_>, &Chunks, &Range<usize>) -> ArrayRef,
) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();

    let table = ParquetTable::open("t", file.path()).unwrap();
    let metadata = &table.files[0].metadata;
    let source = table.files[0].source.as_ref();
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file.reopen().unwrap(), metadata.clone());
    let whole: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    for column in 0..batch.num_columns() {
        let mut parts = Vec::new();
        for group in 0..table.morsels() {
            let rows = table.rows(group);
            let cut = cut.min(rows);
            let flat = FlatColumn::of(metadata, group, column).unwrap();
            for wanted in [0..cut, cut..rows]
                .into_iter()
                .filter(|wanted| !wanted.is_empty())
            {
                let part = (wanted.len() < rows).then(|| wanted.clone());
                let ranges = chunks::ranges(metadata, group, part, &[column], source.bytes()).unwrap();
                let fetched = byte_source::fetch(source, &ranges).unwrap();
                let found = read(&flat, &Chunks::new(source.bytes(), Arc::new(fetched)), &wanted);
                parts.push(cast(&found, table.schema().field(column).data_type()).unwrap());
            }
        }
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        let expected: Vec<_> = whole.iter().map(|batch| batch.column(column).as_ref()).collect();
        assert_eq!(
            &concat(&parts).unwrap(),
            &concat(&expected).unwrap(),
            "column {column}"
        );
    }
}
