//! The tables of questions, and the files that they are written to.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use columnar::TableSource;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use query::source::{ScaleFactor, TpchTable, TpchTableKind};

use super::hits;
use super::question::{self, Question};
use crate::engine;
use crate::options::{Knob, Options};
use crate::tpch::{self, indices};

pub(super) const SCALE: Knob = Knob::new("scale", "1", "scale factor of the rows");
pub(super) const ROWS: Knob = Knob::new("rows", "4000000", "number of rows");
const SCALE_QUICK: f64 = 0.02;
const ROWS_QUICK: usize = 20_000;

/// Rows of a row group, as the program tpchgen-cli writes them at scale 1.
const GROUP_ROWS: usize = 113_743;

const COLUMNS: [&str; 13] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Data {
    Lineitem,
    Hits,
}

impl Data {
    pub(super) fn table(self) -> &'static str {
        match self {
            Self::Lineitem => "lineitem",
            Self::Hits => "hits",
        }
    }

    pub(super) fn questions(self) -> &'static [Question] {
        match self {
            Self::Lineitem => &question::KINDS,
            Self::Hits => &question::HITS,
        }
    }

    /// Writes the table's file, and returns the generated rows if they are a table already.
    pub(super) fn write(self, options: &Options, file: &Path) -> Result<Option<Arc<dyn TableSource>>> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        match self {
            Self::Lineitem => {
                let scale = if options.quick {
                    SCALE_QUICK
                } else {
                    options.number(SCALE.name)?
                };
                let table = TpchTable::new(TpchTableKind::Lineitem, ScaleFactor::new(scale)?);
                table.load(&indices(&table.schema(), &COLUMNS)?, &engine::work()?)?;
                tpch::write(&table, &COLUMNS, Some(properties), file)?;
                Ok(Some(Arc::new(table)))
            }
            Self::Hits => {
                let rows = if options.quick {
                    ROWS_QUICK
                } else {
                    options.number(ROWS.name)?
                };
                hits::write(rows, properties, file)?;
                Ok(None)
            }
        }
    }
}
