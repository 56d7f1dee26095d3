//! A run of a table's rows, which one thread generates.

use arrow::array::RecordBatchReader;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use crate::{BATCH_ROWS, Table};

/// The rows of one piece of a [`Table`].
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub(crate) table: Table,
    pub(crate) scale: f64,
    /// From 1.
    pub(crate) number: i32,
    pub(crate) count: i32,
}

impl Piece {
    pub(crate) fn whole(table: Table, scale: f64) -> Self {
        Self {
            table,
            scale,
            number: 1,
            count: 1,
        }
    }

    /// The table of which it is a piece.
    #[must_use]
    pub fn table(&self) -> Table {
        self.table
    }

    /// Generates the rows as they are read, [`BATCH_ROWS`] at a time.
    #[must_use]
    pub fn rows(&self) -> Box<dyn RecordBatchReader> {
        macro_rules! rows {
            ($arrow:ident, $generator:ident) => {{
                let rows = $generator::new(self.scale, self.number, self.count);
                Box::new($arrow::new(rows).with_batch_size(BATCH_ROWS))
            }};
        }
        match self.table {
            Table::Lineitem => rows!(LineItemArrow, LineItemGenerator),
            Table::Orders => rows!(OrderArrow, OrderGenerator),
            Table::Partsupp => rows!(PartSuppArrow, PartSuppGenerator),
            Table::Part => rows!(PartArrow, PartGenerator),
            Table::Customer => rows!(CustomerArrow, CustomerGenerator),
            Table::Supplier => rows!(SupplierArrow, SupplierGenerator),
            Table::Nation => rows!(NationArrow, NationGenerator),
            Table::Region => rows!(RegionArrow, RegionGenerator),
        }
    }
}
