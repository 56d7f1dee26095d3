//! How a scan is cut into slots.
//!
//! ```text
//!   morsels      │      0      │      1      │  …      a reader decodes a morsel as a whole
//!   slots, cheap │      0      │      1      │
//!   slots, dear  │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ … │         columns in memory can be begun anywhere
//!
//!   morsels      │ 0 │ 1 │ 2 │ 3 │ …                     short ones in memory: batches of a caller
//!   slots        │      0    │  …                        groups of several are one slot's
//! ```
//!
//! A worker leaves a job only at the end of a slot, so a slot should take less than a millisecond.
//! An encoded morsel stays whole: each slot would decode it again. Morsels in which no row passes have
//! no slot, so that those that are left are shared out among the workers.
//!
//! Only the query and the table decide the cut, so no result depends on threads. Extra slots cost
//! time, because each slot's groups are merged.

use std::ops::{Range, RangeInclusive};

use super::morsel::CHUNK_ROWS;
use crate::table::{MORSEL_ROWS, TableSource};

/// Cost units of a slot at most; one compares two integers, in about 0.6 ns in Q1 of TPC-H.
const SLOT_COST: f64 = 1_000_000.0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotRange {
    /// The first morsel.
    pub(super) morsel: usize,
    /// Whole morsels after the first.
    pub(super) more: usize,
    /// The rows from the beginning of the first morsel.
    pub(super) rows: Range<usize>,
}

impl SlotRange {
    pub(super) fn morsels(&self) -> RangeInclusive<usize> {
        self.morsel..=self.morsel + self.more
    }
}

/// The slots of `morsels`, which ascend. A slot of `joins_morsels` may have several; a slot of rows keeps
/// one morsel's memory.
pub(super) fn cut(
    table: &dyn TableSource,
    morsels: &[usize],
    projection: &[usize],
    cost_per_row: f64,
    joins_morsels: bool,
) -> Vec<SlotRange> {
    let is_loaded = table.is_loaded(projection);
    let rows_max = if is_loaded {
        let chunks = SLOT_COST / cost_per_row.max(1.0) / CHUNK_ROWS as f64;
        (chunks as usize).max(1).saturating_mul(CHUNK_ROWS)
    } else {
        usize::MAX
    };
    let together_max = if is_loaded && joins_morsels {
        rows_max.min(MORSEL_ROWS)
    } else {
        0
    };
    let mut slots: Vec<SlotRange> = Vec::new();
    for &morsel in morsels {
        let rows = table.rows(morsel);
        if let Some(slot) = slots.last_mut()
            && slot.rows.start == 0
            && slot.rows.end + rows <= together_max
            && slot.morsel + slot.more + 1 == morsel
        {
            slot.more += 1;
            slot.rows.end += rows;
            continue;
        }
        // A morsel without rows has a slot too: its reader may find it broken.
        let starts = (0..rows.max(1)).step_by(rows_max);
        slots.extend(starts.map(|start| SlotRange {
            morsel,
            more: 0,
            rows: start..rows.min(start.saturating_add(rows_max)),
        }));
    }
    slots
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use arrow::datatypes::SchemaRef;

    use super::*;
    use crate::table::{MemoryTable, MorselReader, ReadError};

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
            let slots = cut(&table, &[0, 1], &[0], cost, true);
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
        let slots = cut(&table, &[0, 1], &[0], 10.0, true);
        assert_eq!(slots.len(), 2, "a slot for each morsel");
        assert_eq!(slots_before, 4 + 3, "a slot for each chunk");
    }

    #[test]
    fn a_morsel_that_is_left_out_has_no_slot() {
        let table = table(3 * MORSEL_ROWS);
        for morsels in [&[0, 1, 2][..], &[1], &[]] {
            let slots = cut(&table, morsels, &[0], 10.0, true);
            let of_slots: Vec<_> = slots.iter().map(|slot| slot.morsel).collect();
            assert_eq!(of_slots, morsels);
        }
    }

    #[test]
    fn a_morsel_that_has_to_be_decoded_is_one_slot() {
        assert_eq!(
            cut(&Encoded(table(2 * MORSEL_ROWS)), &[0, 1], &[0], 1_000.0, true).len(),
            2
        );
        assert_eq!(
            cut(&Encoded(table(MORSEL_ROWS + 1)), &[0, 1], &[0], 1.0, true).len(),
            2
        );
        assert_eq!(cut(&table(0), &[], &[0], 1_000.0, true), []);
    }

    #[test]
    fn short_morsels_in_memory_are_together_in_a_slot_of_groups() {
        #[derive(Debug)]
        struct Short(usize);

        impl TableSource for Short {
            fn name(&self) -> &str {
                "short"
            }

            fn schema(&self) -> SchemaRef {
                table(1).schema()
            }

            fn morsels(&self) -> usize {
                self.0
            }

            fn rows(&self, _morsel: usize) -> usize {
                8_192
            }

            fn is_loaded(&self, _projection: &[usize]) -> bool {
                true
            }

            fn open(&self, morsel: usize, _: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
                unreachable!("morsel {morsel} is not read here")
            }
        }

        let all: Vec<usize> = (0..20).collect();
        let slots = cut(&Short(20), &all, &[0], 1.0, true);
        let morsels: Vec<_> = slots.iter().map(|slot| (slot.morsel, slot.more)).collect();
        assert_eq!(morsels, [(0, 7), (8, 7), (16, 3)]);
        assert!(slots.iter().all(|slot| slot.rows == (0..(slot.more + 1) * 8_192)));
        let others: Vec<usize> = (0..20).filter(|morsel| *morsel != 3).collect();
        let slots = cut(&Short(20), &others, &[0], 1.0, true);
        let morsels: Vec<_> = slots.iter().map(SlotRange::morsels).collect();
        assert_eq!(morsels, [0..=2, 4..=11, 12..=19]);
        assert_eq!(cut(&Short(20), &all, &[0], 1.0, false).len(), 20);
        assert_eq!(cut(&Short(20), &all, &[0], 1_000.0, true).len(), 10);
    }
}
