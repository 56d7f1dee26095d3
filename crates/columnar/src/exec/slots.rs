//! How a scan is cut into slots.
//!
//! ```text
//!   morsels      │      0      │      1      │  …      a reader decodes a morsel as a whole
//!   slots, cheap │      0      │      1      │
//!   slots, dear  │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ … │         columns in memory can be begun anywhere
//! ```
//!
//! A worker leaves a job only at the end of a slot, so a slot should take less than a millisecond.
//! An encoded morsel stays whole: each slot would decode it again.
//!
//! Only the query and the table decide the cut, so no result depends on threads. Extra slots cost
//! time, because each slot's groups are merged.

use std::ops::Range;

use super::morsel::CHUNK_ROWS;
use crate::table::TableSource;

/// Cost units of a slot at most; one compares two integers, in about 0.6 ns in Q1 of TPC-H.
const SLOT_COST: f64 = 1_000_000.0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotRange {
    pub(super) morsel: usize,
    /// The rows within the morsel.
    pub(super) rows: Range<usize>,
}

pub(super) fn cut(table: &dyn TableSource, projection: &[usize], cost_per_row: f64) -> Vec<SlotRange> {
    let rows_max = if table.is_loaded(projection) {
        let chunks = SLOT_COST / cost_per_row.max(1.0) / CHUNK_ROWS as f64;
        (chunks as usize).max(1).saturating_mul(CHUNK_ROWS)
    } else {
        usize::MAX
    };
    let slots = (0..table.morsels()).flat_map(|morsel| {
        let rows = table.rows(morsel);
        // A morsel without rows has a slot too: its reader may find it broken.
        let starts = (0..rows.max(1)).step_by(rows_max);
        starts.map(move |start| SlotRange {
            morsel,
            rows: start..rows.min(start.saturating_add(rows_max)),
        })
    });
    slots.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use arrow::datatypes::SchemaRef;

    use super::*;
    use crate::table::{MORSEL_ROWS, MemoryTable, MorselReader, ReadError};

    fn table(rows: usize) -> MemoryTable {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
        let batch = RecordBatch::try_from_iter([("n", values)]).unwrap();
        MemoryTable::try_new("t", batch.schema(), [batch]).unwrap()
    }

    #[derive(Debug)]
    struct Encoded(MemoryTable);

    impl TableSource for Encoded {
        fn name(&self) -> &str {
            self.0.name()
        }

        fn schema(&self) -> SchemaRef {
            self.0.schema()
        }

        fn morsels(&self) -> usize {
            self.0.morsels()
        }

        fn rows(&self, morsel: usize) -> usize {
            self.0.rows(morsel)
        }

        fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
            self.0.open(morsel, projection)
        }
    }

    #[test]
    fn slots_cover_each_row_once_and_the_dearer_a_row_the_fewer_are_in_a_slot() {
        let rows = MORSEL_ROWS + 40_000;
        let table = table(rows);
        let mut slots_before = 0;
        for cost in [0.0, 10.0, 30.0, 1_000.0, f64::INFINITY] {
            let slots = cut(&table, &[0], cost);
            let numbers = slots.iter().flat_map(|slot| {
                let first = slot.morsel * MORSEL_ROWS;
                first + slot.rows.start..first + slot.rows.end
            });
            assert_eq!(
                numbers.collect::<Vec<_>>(),
                (0..rows).collect::<Vec<_>>(),
                "{cost}"
            );
            assert!(slots.iter().all(|slot| slot.rows.start % CHUNK_ROWS == 0));
            assert!(slots.len() >= slots_before, "{cost}");
            slots_before = slots.len();
        }
        assert_eq!(cut(&table, &[0], 10.0).len(), 2, "a slot for each morsel");
        assert_eq!(slots_before, 4 + 3, "a slot for each chunk");
    }

    #[test]
    fn a_morsel_that_has_to_be_decoded_is_one_slot() {
        assert_eq!(cut(&Encoded(table(2 * MORSEL_ROWS)), &[0], 1_000.0).len(), 2);
        assert_eq!(cut(&table(0), &[0], 1_000.0), []);
    }
}
