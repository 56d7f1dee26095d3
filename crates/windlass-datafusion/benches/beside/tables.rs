//! The eight tables of TPC-H, in memory or as Parquet files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::datasource::MemTable;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use tpch_tables::Table;

#[derive(Clone, Debug)]
pub(crate) enum Tables {
    Memory(Vec<(Table, SchemaRef, Vec<RecordBatch>)>),
    Parquet(PathBuf),
}

impl Tables {
    pub(crate) fn in_memory(scale: f64) -> anyhow::Result<Self> {
        let whole = |table: Table| {
            let (schema, batches) = table.whole(scale)?;
            anyhow::Ok((table, schema, batches))
        };
        let tables = Table::ALL.into_iter().map(whole);
        Ok(Self::Memory(tables.collect::<Result<_, _>>()?))
    }

    pub(crate) async fn in_files(folder: &Path, scale: f64) -> anyhow::Result<Self> {
        let folder = folder.join(format!("tpch-{scale}"));
        fs::create_dir_all(&folder)?;
        let session = SessionContext::new();
        for table in Table::ALL {
            let file = file(&folder, table);
            if file.exists() {
                continue;
            }
            let (schema, batches) = table.whole(scale)?;
            let table = MemTable::try_new(schema, vec![batches])?;
            let part = file.with_extension("part.parquet");
            let path = part.to_str().context("a folder whose name is no text")?;
            let options = DataFrameWriteOptions::new().with_single_file_output(true);
            let rows = session.read_table(Arc::new(table))?;
            rows.write_parquet(path, options, None).await?;
            fs::rename(&part, &file)?;
        }
        Ok(Self::Parquet(folder))
    }

    pub(crate) async fn register(&self, session: &SessionContext, partitions: usize) -> anyhow::Result<()> {
        match self {
            Self::Memory(tables) => {
                for (table, schema, batches) in tables {
                    let part = batches.len().div_ceil(partitions).max(1);
                    let parts = batches.chunks(part).map(<[_]>::to_vec).collect();
                    let memory = MemTable::try_new(Arc::clone(schema), parts)?;
                    session.register_table(table.name(), Arc::new(memory))?;
                }
            }
            Self::Parquet(folder) => {
                for table in Table::ALL {
                    let file = file(folder, table);
                    let file = file.to_str().context("a folder whose name is no text")?;
                    session
                        .register_parquet(table.name(), file, ParquetReadOptions::default())
                        .await?;
                }
            }
        }
        Ok(())
    }
}

fn file(folder: &Path, table: Table) -> PathBuf {
    folder.join(format!("{}.parquet", table.name()))
}
