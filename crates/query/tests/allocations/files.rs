//! The same rows as files of several kinds.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use query::{Catalog, Work, source};

const ROWS: i64 = 300_000;

pub(crate) struct Files {
    _folder: tempfile::TempDir,
    files: Vec<TestFile>,
}

pub(crate) struct TestFile {
    pub(crate) name: &'static str,
    path: PathBuf,
}

impl Files {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rows = rows();
        let mut files = Vec::new();
        let mut add = |name: &'static str, write: &dyn Fn(BufWriter<File>)| {
            let path = folder.path().join(name);
            write(BufWriter::new(
                File::create(&path).expect("the folder can be written to"),
            ));
            files.push(TestFile { name, path });
        };
        let plain = || WriterProperties::builder().set_statistics_enabled(EnabledStatistics::Chunk);
        // Strings of pages that are not compressed share the fetched bytes.
        add("plain.parquet", &|file| {
            parquet(
                file,
                &rows,
                plain()
                    .set_max_row_group_row_count(Some(50_000))
                    .set_dictionary_enabled(false)
                    .build(),
            )
        });
        add("snappy.parquet", &|file| {
            parquet(
                file,
                &rows,
                plain()
                    .set_max_row_group_row_count(Some(50_000))
                    .set_compression(Compression::SNAPPY)
                    .build(),
            )
        });
        add("indexed.parquet", &|file| {
            parquet(
                file,
                &rows,
                WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .build(),
            )
        });
        add("rows.csv", &|mut file| {
            writeln!(file, "id,n,kind,name").expect("room");
            for id in 0..ROWS {
                let (n, kind, name) = row(id);
                writeln!(file, "{id},{n},{kind},{name}").expect("room");
            }
        });
        Self {
            _folder: folder,
            files,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &TestFile> {
        self.files.iter()
    }
}

impl TestFile {
    pub(crate) fn open(&self, work: &Work) -> Catalog {
        let mut tables = Catalog::new();
        let table = source::open("t", &self.path, work).expect("a table");
        tables.register(table).expect("the only table");
        tables
    }
}

fn row(id: i64) -> (i64, String, String) {
    let mixed = id.wrapping_mul(0x9e37_79b9).rem_euclid(1_000_003);
    (
        mixed % 1_000,
        format!("a kind of thing with number {}", mixed % 7),
        format!("{mixed:07} is in the name of row {id:07}"),
    )
}

fn rows() -> RecordBatch {
    let all = || (0..ROWS).map(row);
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS))),
        (
            "n",
            Arc::new(Int64Array::from_iter_values(all().map(|row| row.0))),
        ),
        (
            "kind",
            Arc::new(StringArray::from_iter_values(all().map(|row| row.1))),
        ),
        (
            "name",
            Arc::new(StringArray::from_iter_values(all().map(|row| row.2))),
        ),
    ];
    RecordBatch::try_from_iter(columns).expect("four columns")
}

fn parquet(file: BufWriter<File>, rows: &RecordBatch, properties: WriterProperties) {
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).expect("a writer");
    writer.write(rows).expect("room");
    writer.close().expect("a footer");
}
