//! The few rows of a morsel that a filter has left. A reader may have a column's values in these rows
//! sooner than the whole column.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::take;

use crate::error::ExecError;

pub(super) struct FewRows {
    rows: Vec<usize>,
    /// The values of a column in these rows; `None` if the reader does not have them alone.
    columns: BTreeMap<usize, Option<ArrayRef>>,
}

impl FewRows {
    /// `rows` ascend, and there are some.
    pub(super) fn new(rows: Vec<usize>) -> Self {
        let columns = BTreeMap::new();
        Self { rows, columns }
    }

    pub(super) fn has(&self, column: usize) -> bool {
        self.columns.get(&column).is_some_and(Option::is_some)
    }

    /// The columns that were read, and from which row to which.
    pub(super) fn columns_read(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let all = self.rows[0]..self.rows[self.rows.len() - 1] + 1;
        let read = self.columns.iter().filter(|(_, values)| values.is_some());
        read.map(move |(column, _)| (*column, all.clone()))
    }

    /// The values of `column` in those of `rows` whose places are `kept`. `None` if there are others
    /// among them, or if `read` does not have the column's values in these rows alone.
    pub(super) fn values(
        &mut self,
        column: usize,
        rows: &Range<usize>,
        kept: impl Iterator<Item = usize>,
        read: impl FnOnce(&[usize]) -> Result<Option<ArrayRef>, ExecError>,
    ) -> Result<Option<ArrayRef>, ExecError> {
        if matches!(self.columns.get(&column), Some(None)) {
            return Ok(None);
        }
        let before = |end: usize| self.rows.partition_point(|row| *row < end);
        let all = before(rows.start)..before(rows.end);
        let mut places = Vec::with_capacity(all.len());
        let mut known = self.rows[all.clone()].iter().zip(all.clone());
        for row in kept.map(|place| rows.start + place) {
            match known.find(|(known, _)| **known >= row) {
                Some((known, place)) if *known == row => places.push(place as u64),
                _ => return Ok(None),
            }
        }
        if !self.columns.contains_key(&column) {
            let values = read(&self.rows)?;
            self.columns.insert(column, values);
        }
        let Some(values) = &self.columns[&column] else {
            return Ok(None);
        };
        if places.len() == all.len() {
            return Ok(Some(values.slice(all.start, all.len())));
        }
        let some = take(values, &UInt64Array::from(places), None);
        some.map(Some)
            .map_err(|error| ExecError::of(format!("column {column}"), error))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray as _, Int64Array};
    use arrow::datatypes::Int64Type;

    use super::*;

    /// A row's value is ten times its number.
    fn of_ten(rows: &[usize]) -> Result<Option<ArrayRef>, ExecError> {
        let values = rows.iter().map(|row| 10 * *row as i64);
        Ok(Some(Arc::new(Int64Array::from_iter_values(values))))
    }

    fn is_not_read(_rows: &[usize]) -> Result<Option<ArrayRef>, ExecError> {
        panic!("the column was read before, or need not be")
    }

    #[test]
    fn values_are_those_of_the_rows_that_are_kept() {
        let mut few = FewRows::new(vec![2, 3, 7, 9]);
        let all = few.values(0, &(0..10), [2, 3, 7, 9].into_iter(), of_ten).unwrap();
        assert_eq!(
            all.unwrap().as_primitive::<Int64Type>().values(),
            &[20, 30, 70, 90]
        );
        let mut of = |rows: Range<usize>, kept: &[usize]| {
            let values = few.values(0, &rows, kept.iter().copied(), is_not_read).unwrap();
            values.map(|values| values.as_primitive::<Int64Type>().values().to_vec())
        };
        assert_eq!(of(3..8, &[0, 4]), Some(vec![30, 70]), "all rows of a chunk");
        assert_eq!(of(3..8, &[4]), Some(vec![70]), "some of them");
        assert_eq!(of(3..8, &[]), Some(vec![]));
        assert_eq!(of(4..7, &[]), Some(vec![]), "a chunk without rows");
        assert_eq!(of(0..10, &[2, 4]), None, "a row that was not left");
        assert_eq!(of(0..10, &[9, 9]), None);
        assert_eq!(few.columns_read().collect::<Vec<_>>(), [(0, 2..10)]);
        assert_eq!((few.has(0), few.has(1)), (true, false));
    }

    #[test]
    fn a_column_is_asked_for_once() {
        let mut few = FewRows::new(vec![1]);
        let mut of = |kept: usize, read: fn(&[usize]) -> Result<Option<ArrayRef>, ExecError>| {
            few.values(3, &(0..5), std::iter::once(kept), read).unwrap()
        };
        assert!(of(0, is_not_read).is_none(), "another row");
        assert!(of(1, |_| Ok(None)).is_none());
        assert!(of(1, is_not_read).is_none());
        assert_eq!((few.columns_read().count(), few.has(3)), (0, false));
    }
}
