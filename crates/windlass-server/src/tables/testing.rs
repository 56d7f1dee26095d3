//! Files to read, and sessions that read them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{SessionConfig, SessionContext};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{CATALOG, SCHEMA, Source, Tables};

/// `outside` lies beside the tables, and no table may show it.
#[derive(Debug)]
pub(crate) struct Folders {
    folder: TempDir,
}

impl Folders {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("tables")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("tables").join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join("outside").join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("tables")
    }

    pub(crate) fn csv(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn parquet(&self, name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_parquet(&path, columns);
        path
    }

    pub(crate) fn tables(&self) -> Tables {
        Tables::new(&[Source::Folder(self.root())]).unwrap()
    }
}

pub(crate) fn write_parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// As the server makes sessions.
pub(crate) struct Client {
    pub(crate) runtime: Runtime,
    pub(crate) session: SessionContext,
}

impl Client {
    pub(crate) fn new(tables: &Tables) -> Self {
        let config = SessionConfig::new()
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(true)
            .with_target_partitions(2);
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .build();
        let session = SessionContext::new_with_state(state);
        tables.register(&session.state()).unwrap();
        Self {
            runtime: Runtime::new().unwrap(),
            session,
        }
    }

    pub(crate) fn try_rows(&self, sql: &str) -> Result<Vec<String>> {
        self.runtime.block_on(async {
            let batches = self.session.sql(sql).await?.collect().await?;
            Ok(lines(&batches))
        })
    }

    /// `|` separates values.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        self.try_rows(sql).unwrap()
    }

    pub(crate) fn error(&self, sql: &str) -> String {
        self.try_rows(sql).unwrap_err().to_string()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let catalog = self.session.catalog(CATALOG).unwrap();
        catalog.schema(SCHEMA).unwrap().table_names()
    }
}

pub(crate) fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let rows = batches.iter().flat_map(|batch| {
        (0..batch.num_rows()).map(move |row| {
            let values = batch.columns().iter();
            let values = values.map(|column| array_value_to_string(column, row).unwrap());
            values.collect::<Vec<_>>().join("|")
        })
    });
    rows.collect()
}

pub(crate) fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(datafusion::arrow::array::Int64Array::from(values.to_vec()))
}

pub(crate) fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(datafusion::arrow::array::StringArray::from(values.to_vec()))
}
