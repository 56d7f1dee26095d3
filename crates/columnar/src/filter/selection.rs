//! The rows of a chunk that one filter step hands to the next.

use arrow::array::{Array, BooleanArray, BooleanBufferBuilder};
use arrow::buffer::BooleanBuffer;

#[derive(Clone, Debug)]
pub(crate) struct Selection {
    rows: usize,
    /// One bit per row; `None` selects all.
    kept: Option<BooleanBuffer>,
    count: usize,
}

impl Selection {
    pub(crate) fn all(rows: usize) -> Self {
        Self {
            rows,
            kept: None,
            count: rows,
        }
    }

    pub(crate) fn none(rows: usize) -> Self {
        Self {
            rows,
            kept: Some(BooleanBuffer::new_unset(rows)),
            count: 0,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn is_all(&self) -> bool {
        self.count == self.rows
    }

    pub(crate) fn mask(&self) -> BooleanArray {
        let bits = self
            .kept
            .clone()
            .unwrap_or_else(|| BooleanBuffer::new_set(self.rows));
        BooleanArray::new(bits, None)
    }

    pub(crate) fn keep_first(&mut self, count: usize) {
        if count >= self.count {
            return;
        }
        let is_in = |row: usize| self.kept.as_ref().is_none_or(|kept| kept.value(row));
        let first_out = (0..self.rows)
            .filter(|&row| is_in(row))
            .nth(count)
            .unwrap_or(self.rows);
        let bits = BooleanBuffer::collect_bool(self.rows, |row| row < first_out && is_in(row));
        self.count = count;
        self.kept = Some(bits);
    }

    /// `condition` is for all rows of the chunk. Only true keeps a row.
    pub(crate) fn and(&mut self, condition: &BooleanArray) {
        assert_eq!(
            condition.len(),
            self.rows,
            "a condition for each row of the chunk"
        );
        let bits = true_bits(condition);
        let kept = match &self.kept {
            Some(kept) => kept & &bits,
            None => bits,
        };
        self.count = kept.count_set_bits();
        self.kept = Some(kept);
    }

    /// `condition` is only for the rows selected.
    pub(crate) fn and_compact(&mut self, condition: &BooleanArray) {
        assert_eq!(condition.len(), self.count, "a condition for each row that is in");
        let Some(kept) = &self.kept else {
            return self.and(condition);
        };
        let bits = true_bits(condition);
        let mut narrowed = BooleanBufferBuilder::new(self.rows);
        narrowed.append_n(self.rows, false);
        for (at, row) in kept.set_indices().enumerate() {
            if bits.value(at) {
                narrowed.set_bit(row, true);
            }
        }
        self.count = bits.count_set_bits();
        self.kept = Some(narrowed.finish());
    }
}

fn true_bits(condition: &BooleanArray) -> BooleanBuffer {
    match condition.nulls() {
        Some(nulls) => condition.values() & nulls.inner(),
        None => condition.values().clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows_in(selection: &Selection) -> Vec<usize> {
        selection.mask().values().set_indices().collect()
    }

    #[test]
    fn null_drops_a_row_as_false_does() {
        let mut selection = Selection::all(3);
        selection.and(&BooleanArray::from(vec![Some(true), None, Some(false)]));
        assert_eq!((rows_in(&selection), selection.count()), (vec![0], 1));
    }

    #[test]
    fn the_first_rows_that_are_in_stay_in() {
        let mut selection = Selection::all(6);
        selection.keep_first(9);
        assert!(selection.is_all());
        selection.and(&BooleanArray::from(vec![false, true, false, true, true, true]));
        selection.keep_first(2);
        assert_eq!((rows_in(&selection), selection.count()), (vec![1, 3], 2));
        selection.keep_first(0);
        assert_eq!((rows_in(&selection), selection.count()), (vec![], 0));
    }

    proptest! {
        #[test]
        fn compact_and_whole_conditions_select_the_same(
            rows in proptest::collection::vec((any::<bool>(), proptest::option::of(any::<bool>())), 0..200),
        ) {
            let first = BooleanArray::from_iter(rows.iter().map(|row| Some(row.0)));
            let second = BooleanArray::from_iter(rows.iter().map(|row| row.1));
            let survivors = BooleanArray::from_iter(rows.iter().filter(|row| row.0).map(|row| row.1));

            let mut whole = Selection::all(rows.len());
            whole.and(&first);
            let mut compact = whole.clone();
            whole.and(&second);
            compact.and_compact(&survivors);
            prop_assert_eq!(rows_in(&whole), rows_in(&compact));
            prop_assert_eq!(whole.count(), compact.count());
        }
    }
}
