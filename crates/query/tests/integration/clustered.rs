//! Rows that lie together in a file: columns are read where rows are left.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use columnar::MemoryTable;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use query::Catalog;
use query::source::ParquetTable;

use crate::folder::Folder;
use crate::run::{catalog, executors, planned, query, rows};

const ROWS: i32 = 150_000;

/// In the order of `day`; `few` and `word` have few values, `n` and `text` have many.
fn batch() -> RecordBatch {
    let numbers = || 0..ROWS;
    let is_null = |n: i32, every: i32| n % every == 0;
    let words = numbers().map(|n| ["red", "green", "a longer word than twelve", ""][n as usize % 4]);
    let texts = numbers().map(|n| (!is_null(n, 7)).then(|| format!("{n} and a text of its own")));
    let prices = Decimal128Array::from_iter(numbers().map(|n| (!is_null(n, 11)).then(|| i128::from(n) * 37)));
    let columns: [(&str, ArrayRef); 6] = [
        (
            "day",
            Arc::new(Date32Array::from_iter_values(numbers().map(|n| 9_000 + n / 500))),
        ),
        (
            "few",
            Arc::new(Int32Array::from_iter(
                numbers().map(|n| (!is_null(n, 13)).then_some(n % 5)),
            )),
        ),
        (
            "n",
            Arc::new(Int64Array::from_iter_values(
                numbers().map(|n| i64::from(n) << 20),
            )),
        ),
        ("price", Arc::new(prices.with_precision_and_scale(15, 2).unwrap())),
        ("word", Arc::new(StringArray::from_iter_values(words))),
        ("text", Arc::new(StringArray::from_iter(texts))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true))).unwrap()
}

fn write(path: &Path, batch: &RecordBatch, properties: WriterPropertiesBuilder) -> Catalog {
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    catalog(Arc::new(ParquetTable::open("t", path).unwrap()))
}

/// The n-th day of rows, of 300.
fn day(number: i32) -> String {
    let day = Date32Array::from(vec![9_000 + number]).value_as_date(0);
    format!("date '{}'", day.expect("a day"))
}

fn files(folder: &Folder, batch: &RecordBatch) -> Vec<(&'static str, Catalog)> {
    let pages = |rows: usize| {
        let properties = WriterProperties::builder().set_data_page_row_count_limit(rows);
        properties.set_write_batch_size(rows.min(1_000))
    };
    let full = |properties: WriterPropertiesBuilder| properties.set_dictionary_page_size_limit(40_000);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    [
        ("one group", pages(7_000)),
        ("plain behind codes", full(pages(3_000)).set_compression(zstd)),
        (
            "short groups",
            pages(5_000).set_max_row_group_row_count(Some(40_000)),
        ),
        ("no page index", pages(5_000).set_offset_index_disabled(true)),
        (
            "second version",
            full(pages(6_000)).set_writer_version(WriterVersion::PARQUET_2_0),
        ),
        ("without dictionaries", pages(4_000).set_dictionary_enabled(false)),
    ]
    .into_iter()
    .map(|(what, properties)| {
        (
            what,
            write(&folder.path(&format!("{what}.parquet")), batch, properties),
        )
    })
    .collect()
}

#[test]
fn rows_that_lie_together_are_those_of_a_table_in_memory() {
    let folder = Folder::new();
    let batch = batch();
    let files = files(&folder, &batch);
    let memory = catalog(Arc::new(
        MemoryTable::try_new("t", batch.schema(), [batch]).unwrap(),
    ));
    let executors = executors();
    for (from, to) in [(0, 1), (40, 47), (133, 140), (150, 240), (299, 300), (0, 300)] {
        let days = format!("day >= {} and day < {}", day(from), day(to));
        for sql in [
            format!("select * from t where {days} and few = 3 and n % 100 < 50"),
            format!(
                "select few, word, count(*), sum(price), min(text), max(n) from t where {days} group by few, word"
            ),
            format!("select text, price from t where text like '%9 and%' and {days} and word <> ''"),
            format!("select n from t where {days} and 1000 / (few + 1) > 300 and price is not null"),
            format!("select n, text from t where {days} order by price desc, n limit 9"),
            format!("select n, text from t where {days} limit 7"),
            format!("select sum(price * (1 - price)), count(text) from t where {days} and text > '2'"),
        ] {
            let expected = rows(&query(&sql, &memory, &executors[0]).unwrap());
            for (what, file) in &files {
                for work in &executors {
                    let found = rows(&query(&sql, file, work).unwrap());
                    assert!(
                        found == expected,
                        "{what}: {sql}: {} and {} rows",
                        found.len(),
                        expected.len()
                    );
                }
            }
        }
    }
}

/// Pages that were decoded, and all there are.
fn pages(sql: &str, file: &Catalog) -> (usize, usize) {
    let query = planned(sql, file, &executors()[0]).unwrap();
    let explain = query.explain();
    query.run().unwrap();
    let text = explain.to_string();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("decoded "));
    let line = line.unwrap_or_else(|| panic!("no pages in {text}"));
    let numbers: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    (numbers[0], numbers[1])
}

#[test]
fn pages_without_a_row_that_passes_are_not_decoded() {
    let folder = Folder::new();
    let file = write(
        &folder.path("t.parquet"),
        &batch(),
        WriterProperties::builder()
            .set_data_page_row_count_limit(5_000)
            .set_write_batch_size(1_000)
            .set_dictionary_enabled(false),
    );
    let days = |from, to| format!("day >= {} and day < {}", day(from), day(to));
    // A column has 30 pages. Of `day` all are looked at, of the others those with 16,384 rows.
    let (few, all) = pages(
        &format!("select price, text from t where {}", days(20, 25)),
        &file,
    );
    assert_eq!((few, all), (30 + 2 * 4, 3 * 30));
    let (few, _) = pages(
        &format!("select price, text from t where {}", days(60, 70)),
        &file,
    );
    assert_eq!(few, 30 + 2 * 7, "in two chunks");
    // The numbers of few rows are read alone, if none is NULL.
    let (few, _) = pages(&format!("select n, text from t where {}", days(20, 25)), &file);
    assert_eq!(few, 30 + 1 + 4);
    let (most, all) = pages("select n, text from t where few = 3", &file);
    assert_eq!(most, all);
}
