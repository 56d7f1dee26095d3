//! The eight tables of TPC-H as batches of Arrow, generated whole or in pieces.
//!
//! Rows depend on the scale alone: the pieces of a table, one after another, are the whole.
//!
//! ```
//! use tpch_tables::Table;
//!
//! let (schema, batches) = Table::Nation.whole(1.0)?;
//! assert_eq!(schema.field(1).name(), "n_name");
//! assert_eq!(batches[0].num_rows(), Table::Nation.rows_at_1());
//! # Ok::<(), arrow::error::ArrowError>(())
//! ```

#![forbid(unsafe_code)]

mod piece;

use std::num::NonZeroUsize;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

pub use piece::Piece;

/// Rows of a batch: DataFusion's own number.
pub const BATCH_ROWS: usize = 8_192;

/// A table of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the specification says what they are")]
pub enum Table {
    Lineitem,
    Orders,
    Partsupp,
    Part,
    Customer,
    Supplier,
    Nation,
    Region,
}

impl Table {
    /// The largest is first, so that threads that take pieces in turn end together.
    pub const ALL: [Self; 8] = [
        Self::Lineitem,
        Self::Orders,
        Self::Partsupp,
        Self::Part,
        Self::Customer,
        Self::Supplier,
        Self::Nation,
        Self::Region,
    ];

    /// The name in the specification's queries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lineitem => "lineitem",
            Self::Orders => "orders",
            Self::Partsupp => "partsupp",
            Self::Part => "part",
            Self::Customer => "customer",
            Self::Supplier => "supplier",
            Self::Nation => "nation",
            Self::Region => "region",
        }
    }

    /// Number of rows at scale 1. The rows of `nation` and `region` are as many at every scale.
    #[must_use]
    pub fn rows_at_1(self) -> usize {
        match self {
            Self::Lineitem => 6_001_215,
            Self::Orders => 1_500_000,
            Self::Partsupp => 800_000,
            Self::Part => 200_000,
            Self::Customer => 150_000,
            Self::Supplier => 10_000,
            Self::Nation => 25,
            Self::Region => 5,
        }
    }

    /// Generates all rows, on the caller's thread.
    ///
    /// # Errors
    ///
    /// If a batch cannot be made.
    pub fn whole(self, scale: f64) -> Result<(SchemaRef, Vec<RecordBatch>), ArrowError> {
        let rows = Piece::whole(self, scale).rows();
        Ok((rows.schema(), rows.collect::<Result<_, _>>()?))
    }

    /// Cuts the table into at most `pieces_max` pieces. A small table has fewer, so that each has a
    /// batch or more.
    pub fn pieces(self, scale: f64, pieces_max: NonZeroUsize) -> impl Iterator<Item = Piece> {
        let is_scaled = !matches!(self, Self::Nation | Self::Region);
        let rows = if is_scaled {
            self.rows_at_1() as f64 * scale
        } else {
            1.0
        };
        let batches = (rows / BATCH_ROWS as f64).ceil().max(1.0) as usize;
        let count = i32::try_from(batches.min(pieces_max.get())).unwrap_or(i32::MAX);
        (1..=count).map(move |number| Piece {
            table: self,
            scale,
            number,
            count,
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow::compute::concat_batches;

    use super::*;

    #[test]
    fn a_large_table_has_the_pieces_and_a_small_one_fewer() {
        let four = NonZeroUsize::new(4).unwrap();
        let count = |table: Table, scale| table.pieces(scale, four).count();
        assert_eq!(count(Table::Lineitem, 0.1), 4);
        assert_eq!(count(Table::Supplier, 0.1), 1);
        assert_eq!(count(Table::Supplier, 1.0), 2);
        assert_eq!(count(Table::Nation, 100.0), 1);
    }

    #[test]
    fn the_pieces_are_the_whole_table() {
        for table in Table::ALL {
            let (schema, whole) = table.whole(0.01).unwrap();
            let pieces = table.pieces(0.01, NonZeroUsize::new(3).unwrap());
            let rows: Result<Vec<_>, _> = pieces.flat_map(|piece| piece.rows()).collect();
            assert_eq!(
                concat_batches(&schema, &whole).unwrap(),
                concat_batches(&schema, &rows.unwrap()).unwrap(),
                "{table:?}"
            );
        }
    }

    #[test]
    fn a_table_has_the_columns_of_its_name() {
        for (table, first) in [
            (Table::Lineitem, "l_orderkey"),
            (Table::Orders, "o_orderkey"),
            (Table::Partsupp, "ps_partkey"),
            (Table::Part, "p_partkey"),
            (Table::Customer, "c_custkey"),
            (Table::Supplier, "s_suppkey"),
            (Table::Nation, "n_nationkey"),
            (Table::Region, "r_regionkey"),
        ] {
            let rows = Piece::whole(table, 0.001).rows();
            assert_eq!(rows.schema().field(0).name(), first, "{}", table.name());
        }
    }
}
