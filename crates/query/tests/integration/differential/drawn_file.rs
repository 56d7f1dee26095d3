//! Parquet files as writers differ: versions, codecs, encodings, lengths of groups and pages.

use std::fs::File;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

use super::generator::Random;

/// Short enough that some dictionaries do not fit, and their columns go on without one.
const DICTIONARY_BYTES: [usize; 3] = [8, 40, 1 << 20];

pub(crate) fn write(path: &Path, batch: &RecordBatch, mut random: Random) {
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
    ];
    let statistics = [
        EnabledStatistics::None,
        EnabledStatistics::Chunk,
        EnabledStatistics::Page,
    ];
    let batch_rows = 1 + random.below(40);
    let mut properties = WriterProperties::builder()
        .set_writer_version(versions[random.below(2)])
        .set_compression(codecs[random.below(codecs.len())])
        .set_statistics_enabled(statistics[random.below(3)])
        .set_max_row_group_row_count(Some(1 + random.below(250)))
        .set_data_page_row_count_limit(1 + random.below(60))
        .set_write_batch_size(batch_rows)
        .set_dictionary_page_size_limit(DICTIONARY_BYTES[random.below(3)]);
    for field in batch.schema().fields() {
        let column = ColumnPath::from(field.name().as_str());
        let has_dictionary = !random.chance(4);
        properties = properties.set_column_dictionary_enabled(column.clone(), has_dictionary);
        if random.chance(3) {
            let encoding = match field.data_type() {
                DataType::Int32 | DataType::Int64 | DataType::Date32 => Encoding::DELTA_BINARY_PACKED,
                DataType::Utf8 => Encoding::DELTA_BYTE_ARRAY,
                DataType::Float64 => Encoding::BYTE_STREAM_SPLIT,
                _ => Encoding::PLAIN,
            };
            properties = properties.set_column_encoding(column, encoding);
        }
    }
    let file = File::create(path).expect("the folder can be written to");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).expect("known types");
    writer.write(batch).expect("the disk has room");
    writer.close().expect("the disk has room");
}
