//! The eight tables of TPC-H, in memory and as Parquet files.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::datasource::MemTable;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use tempfile::TempDir;
use tpch_tables::Table;

const PARTITIONS: usize = 8;

const ROW_GROUP_ROWS: usize = 65_536;

#[derive(Debug)]
pub(crate) struct Tables {
    tables: Vec<Generated>,
}

#[derive(Debug)]
struct Generated {
    name: &'static str,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Tables {
    pub(crate) fn generate(scale: f64) -> Tables {
        Tables {
            tables: Table::ALL.map(|table| Generated::of(table, scale)).into(),
        }
    }

    pub(crate) fn register_in(&self, session: &SessionContext) {
        for table in &self.tables {
            let provider = MemTable::try_new(table.schema.clone(), table.partitions());
            let provider = provider.expect("batches of the table's schema");
            let before = session.register_table(table.name, Arc::new(provider));
            assert!(
                before.expect("a session takes tables").is_none(),
                "{}",
                table.name
            );
        }
    }
}

impl Generated {
    fn of(table: Table, scale: f64) -> Generated {
        let (schema, batches) = table.whole(scale).expect("columns of one length");
        Generated {
            name: table.name(),
            schema,
            batches,
        }
    }

    fn partitions(&self) -> Vec<Vec<RecordBatch>> {
        let mut partitions = vec![Vec::new(); PARTITIONS.min(self.batches.len())];
        for (number, batch) in self.batches.iter().enumerate() {
            let partition = number % partitions.len();
            partitions[partition].push(batch.clone());
        }
        partitions
    }
}

#[derive(Debug)]
pub(crate) struct Parquet {
    files: Vec<(&'static str, PathBuf)>,
    _folder: TempDir,
}

impl Parquet {
    pub(crate) fn write(tables: &Tables) -> Parquet {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |table: &Generated| {
            let path = folder.path().join(format!("{}.parquet", table.name));
            let properties = WriterProperties::builder()
                .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
                .build();
            let file = File::create(&path).expect("a file");
            let mut writer = ArrowWriter::try_new(file, table.schema.clone(), Some(properties))
                .expect("types that Parquet has");
            for batch in &table.batches {
                writer.write(batch).expect("a disk with room");
            }
            writer.close().expect("a disk with room");
            (table.name, path)
        };
        Parquet {
            files: tables.tables.iter().map(write).collect(),
            _folder: folder,
        }
    }

    pub(crate) async fn register_in(&self, session: &SessionContext) {
        for (name, path) in &self.files {
            let path = path.to_str().expect("a path in plain text");
            let registered = session
                .register_parquet(*name, path, ParquetReadOptions::default())
                .await;
            registered.unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}
