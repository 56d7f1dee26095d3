//! The eight tables of TPC-H, in memory or as Parquet files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::datasource::MemTable;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

const BATCH_ROWS: usize = 8_192;

const NAMES: [&str; 8] = [
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
];

#[derive(Clone, Debug)]
pub(crate) enum Tables {
    Memory(Vec<(&'static str, SchemaRef, Vec<RecordBatch>)>),
    Parquet(PathBuf),
}

impl Tables {
    pub(crate) fn in_memory(scale: f64) -> anyhow::Result<Self> {
        let table = |name| {
            let rows = rows(name, scale);
            let schema = rows.schema();
            anyhow::Ok((name, schema, rows.collect::<Result<_, _>>()?))
        };
        Ok(Self::Memory(
            NAMES.into_iter().map(table).collect::<Result<_, _>>()?,
        ))
    }

    pub(crate) async fn in_files(folder: &Path, scale: f64) -> anyhow::Result<Self> {
        let folder = folder.join(format!("tpch-{scale}"));
        fs::create_dir_all(&folder)?;
        let session = SessionContext::new();
        for name in NAMES {
            let file = folder.join(format!("{name}.parquet"));
            if file.exists() {
                continue;
            }
            let rows = rows(name, scale);
            let schema = rows.schema();
            let table = MemTable::try_new(schema, vec![rows.collect::<Result<_, _>>()?])?;
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
                for (name, schema, batches) in tables {
                    let part = batches.len().div_ceil(partitions).max(1);
                    let parts = batches.chunks(part).map(<[_]>::to_vec).collect();
                    let table = MemTable::try_new(Arc::clone(schema), parts)?;
                    session.register_table(*name, Arc::new(table))?;
                }
            }
            Self::Parquet(folder) => {
                for name in NAMES {
                    let file = folder.join(format!("{name}.parquet"));
                    let file = file.to_str().context("a folder whose name is no text")?;
                    session
                        .register_parquet(name, file, ParquetReadOptions::default())
                        .await?;
                }
            }
        }
        Ok(())
    }
}

fn rows(name: &str, scale: f64) -> Box<dyn RecordBatchReader> {
    macro_rules! rows {
        ($arrow:ident, $generator:ident) => {
            Box::new($arrow::new($generator::new(scale, 1, 1)).with_batch_size(BATCH_ROWS))
        };
    }
    match name {
        "customer" => rows!(CustomerArrow, CustomerGenerator),
        "lineitem" => rows!(LineItemArrow, LineItemGenerator),
        "nation" => rows!(NationArrow, NationGenerator),
        "orders" => rows!(OrderArrow, OrderGenerator),
        "part" => rows!(PartArrow, PartGenerator),
        "partsupp" => rows!(PartSuppArrow, PartSuppGenerator),
        "region" => rows!(RegionArrow, RegionGenerator),
        _ => rows!(SupplierArrow, SupplierGenerator),
    }
}
