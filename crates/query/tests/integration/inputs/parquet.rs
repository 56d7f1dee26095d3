//! Whole and broken Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Float64Type, Int64Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::properties::WriterProperties;

use crate::folder::Folder;
use crate::inputs::{open, read};
use crate::run::Cell;

/// `n` counts, `x` is NaN for multiples of 10, `s` is NULL for multiples of 3.
fn batch(start: i64, rows: i64) -> RecordBatch {
    let numbers = start..start + rows;
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers.clone()));
    let float = |n: i64| if n % 10 == 0 { f64::NAN } else { n as f64 };
    let x: ArrayRef = Arc::new(Float64Array::from_iter_values(numbers.clone().map(float)));
    let s: ArrayRef = Arc::new(StringArray::from_iter(
        numbers.map(|n| (n % 3 != 0).then(|| format!("text {n}"))),
    ));
    RecordBatch::try_from_iter_with_nullable([("n", n, true), ("x", x, true), ("s", s, true)]).unwrap()
}

fn write(path: &Path, batch: &RecordBatch, row_group_rows: usize) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(row_group_rows))
        .build();
    write_with(path, batch, properties);
}

fn write_with(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn row_groups_are_morsels_and_their_statistics_zone_maps() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    write(&path, &batch(0, 2_500), 1_000);
    let table = open(&path).unwrap();
    assert_eq!(
        (0..table.morsels())
            .map(|morsel| table.rows(morsel))
            .collect::<Vec<_>>(),
        [1000, 1000, 500]
    );
    let statistics = table.statistics(1, 0);
    assert_eq!(
        statistics.min().unwrap().as_primitive::<Int64Type>().value(0),
        1000
    );
    assert_eq!(
        statistics.max().unwrap().as_primitive::<Int64Type>().value(0),
        1999
    );
    assert_eq!(statistics.nulls(), Some(0));
    assert_eq!(table.statistics(0, 2).nulls(), Some(334));
    // NaN is the greatest value, but not in the file's maximum.
    assert_eq!(
        table
            .statistics(0, 1)
            .min()
            .unwrap()
            .as_primitive::<Float64Type>()
            .value(0),
        1.0
    );
    assert!(table.statistics(0, 1).max().is_none());

    let (types, rows) = read(&path).unwrap();
    assert_eq!(types, ["Int64", "Float64", "Utf8View"]);
    assert_eq!(rows.len(), 2_500);
    assert_eq!(
        rows[1_000],
        [
            Cell::Int(1000),
            Cell::Float(f64::NAN),
            Cell::Text("text 1000".to_owned())
        ]
    );
    assert_eq!(rows[2_499], [Cell::Int(2499), Cell::Float(2499.0), Cell::Null]);
}

#[test]
fn a_long_row_group_with_a_page_index_is_cut_into_ranges() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    write(&path, &batch(0, 300_000), 1_000_000);
    let table = open(&path).unwrap();
    assert_eq!(
        (0..table.morsels())
            .map(|morsel| table.rows(morsel))
            .collect::<Vec<_>>(),
        [140_000, 160_000]
    );
    assert_eq!(table.statistics(1, 2).nulls(), None);
    assert_eq!(table.statistics(1, 0).nulls(), Some(0));
    assert_eq!(
        table
            .statistics(1, 0)
            .max()
            .unwrap()
            .as_primitive::<Int64Type>()
            .value(0),
        299_999
    );
    let (_, rows) = read(&path).unwrap();
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row[0], Cell::Int(index as i64));
        let expected = if index % 3 == 0 {
            Cell::Null
        } else {
            Cell::Text(format!("text {index}"))
        };
        assert_eq!(row[2], expected);
    }
}

#[test]
fn a_long_row_group_is_cut_where_pages_begin() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    for (page_rows, cuts) in [
        (50_000, vec![150_000, 150_000]),
        (127_000, vec![127_000, 127_000, 46_000]),
        // No page begins near the wished row.
        (1_000_000, vec![131_072, 131_072, 37_856]),
    ] {
        let properties = WriterProperties::builder()
            .set_data_page_row_count_limit(page_rows)
            .set_data_page_size_limit(usize::MAX)
            .set_dictionary_page_size_limit(usize::MAX)
            .set_write_batch_size(1_000)
            .build();
        write_with(&path, &batch(0, 300_000), properties);
        let table = open(&path).unwrap();
        let rows: Vec<_> = (0..table.morsels()).map(|morsel| table.rows(morsel)).collect();
        assert_eq!(rows, cuts, "{page_rows}");
        let (_, rows) = read(&path).unwrap();
        let numbers = rows.iter().map(|row| row[0].clone());
        assert!(numbers.eq((0..300_000).map(Cell::Int)), "{page_rows}");
    }
}

#[test]
fn the_files_of_a_folder_come_by_name() {
    let folder = Folder::new();
    write(&folder.path("b.parquet"), &batch(10, 5), 100);
    write(&folder.path("a.parquet"), &batch(0, 10), 100);
    write(&folder.path("_temporary.parquet"), &batch(99, 5), 100);
    folder.write("README.md", "not data");
    let (_, rows) = read(folder.root()).unwrap();
    let numbers: Vec<Cell> = rows.into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(numbers, (0..15).map(Cell::Int).collect::<Vec<_>>());
}

#[test]
fn the_file_of_a_folder_that_differs_is_named() {
    let folder = Folder::new();
    write(&folder.path("a.parquet"), &batch(0, 10), 100);
    write(
        &folder.path("b.parquet"),
        &batch(0, 10).project(&[0, 2]).unwrap(),
        100,
    );
    let error = read(folder.root()).unwrap_err();
    assert!(error.contains("b.parquet: not the same columns as"), "{error}");
    assert!(error.contains("column 2 is `s` instead of `x`"), "{error}");
}

#[test]
fn folders_without_a_table_are_named() {
    let folder = Folder::new();
    let error = read(folder.root()).unwrap_err();
    assert!(error.contains("holds no file that ends in .parquet"), "{error}");
    std::fs::create_dir(folder.path("year=2024")).unwrap();
    let error = read(folder.root()).unwrap_err();
    assert!(error.contains("holds another folder, `year=2024`"), "{error}");
}

#[test]
fn files_that_are_not_parquet_say_so() {
    let folder = Folder::new();
    let error = read(&folder.write("t.parquet", "n,m\n1,2\n")).unwrap_err();
    assert!(error.contains("t.parquet: not a Parquet file"), "{error}");
    let error = read(&folder.write("t.parquet", "")).unwrap_err();
    assert!(error.contains("t.parquet: not a Parquet file"), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_truncated() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    write(&path, &batch(0, 100), 50);
    let bytes = std::fs::read(&path).unwrap();
    for len in (4..bytes.len()).step_by(7) {
        let cut = folder.write("cut.parquet", &bytes[..len]);
        let error = read(&cut).unwrap_err();
        assert!(
            error.contains("cut.parquet: the Parquet file is truncated"),
            "{len}: {error}"
        );
    }
}

#[test]
fn a_file_with_damaged_bytes_gives_values_or_an_error_but_no_panic() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    write(&path, &batch(0, 100), 50);
    let bytes = std::fs::read(&path).unwrap();
    let mut errors = 0;
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= [0x01, 0x80, 0xff][at % 3];
        if let Err(error) = read(&folder.write("damaged.parquet", &damaged)) {
            assert!(error.contains("damaged.parquet"), "{error}");
            errors += 1;
        }
    }
    assert!(errors > 100, "{errors}");
}

#[test]
fn files_without_rows_or_columns_are_tables() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    write(&path, &batch(0, 0), 100);
    let (types, rows) = read(&path).unwrap();
    assert_eq!((types.len(), rows.len()), (3, 0));
    write(&path, &RecordBatch::new_empty(Arc::new(Schema::empty())), 100);
    let (types, rows) = read(&path).unwrap();
    assert_eq!((types.len(), rows.len()), (0, 0));
}

/// The footer claims `rows` and `values`.
fn write_with_claims(path: &Path, rows: i64, values: i64) {
    let mut bytes = std::fs::read(path).unwrap();
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&File::open(path).unwrap())
        .unwrap();
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(|column| {
            let column = column.clone().into_builder().set_num_values(values);
            column.build().unwrap()
        });
        let group = group.clone().into_builder().set_num_rows(rows);
        group.set_column_metadata(columns.collect()).build().unwrap()
    });
    let groups: Vec<_> = groups.collect();
    let file = metadata.file_metadata();
    let claimed = FileMetaData::new(file.version(), rows, None, None, file.schema_descr_ptr(), None);
    let claimed = ParquetMetaDataBuilder::new(claimed)
        .set_row_groups(groups)
        .build();
    let tail: [u8; 4] = bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap();
    bytes.truncate(bytes.len() - 8 - u32::from_le_bytes(tail) as usize);
    ParquetMetaDataWriter::new(&mut bytes, &claimed).finish().unwrap();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_footer_that_claims_more_rows_than_there_can_be_is_refused_before_memory_is_taken_for_them() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    let claims = |rows, values| {
        write(&path, &batch(0, 100), 50);
        write_with_claims(&path, rows, values);
        read(&path).unwrap_err()
    };
    for (rows, values) in [(1_000_000_000_000, 50), (51, 50), (i64::MAX / 4, i64::MAX / 4)] {
        let error = claims(rows, values);
        assert!(
            error.contains(&format!(
                "t.parquet: the file is damaged: row group 0 claims {rows} rows, but column n has {values} values"
            )),
            "{error}"
        );
    }
    let error = claims(-1, 50);
    assert!(
        error.contains("t.parquet: the file is damaged: row group 0 claims -1 rows"),
        "{error}"
    );
}

#[test]
fn a_footer_that_claims_as_many_rows_as_there_could_be_takes_memory_for_those_that_come() {
    let folder = Folder::new();
    let path = folder.path("t.parquet");
    // A page can hold 2^31 NULLs in a few bytes.
    let rows = 100_000_000_000_000;
    for indexed in [false, true] {
        let properties = WriterProperties::builder()
            .set_offset_index_disabled(!indexed)
            .build();
        write_with(&path, &batch(0, 100_000), properties);
        write_with_claims(&path, rows, rows);
        assert!(open(&path).unwrap().morsels() <= 4_096);
        let error = read(&path).unwrap_err();
        assert!(error.contains("t.parquet, row group 0, column n: "), "{error}");
    }
}
