//! What is known of a column in one morsel without reading it.

use std::fmt;

use arrow::array::{Array, ArrayRef};

/// Bounds of a column's values and the number of its NULLs, where known.
#[derive(Clone, Default)]
pub struct ColumnStatistics {
    min: Option<ArrayRef>,
    max: Option<ArrayRef>,
    are_values: bool,
    nulls: Option<usize>,
}

impl ColumnStatistics {
    /// Statistics that state nothing.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// States bounds: each value except NULL lies in `min..=max`. Both are arrays of one value of
    /// the column's type. A NULL bound states nothing.
    ///
    /// # Panics
    ///
    /// When an array does not hold exactly one value.
    #[must_use]
    pub fn with_bounds(mut self, min: Option<ArrayRef>, max: Option<ArrayRef>) -> Self {
        let known = |bound: Option<ArrayRef>| {
            bound.filter(|array| {
                assert_eq!(array.len(), 1, "a bound is one value");
                array.is_valid(0)
            })
        };
        self.min = known(min);
        self.max = known(max);
        self.are_values = false;
        self
    }

    /// As [`with_bounds`](Self::with_bounds), with the least and the greatest value of the column.
    /// `min` and `max` of all rows then read no values.
    ///
    /// # Panics
    ///
    /// When an array does not hold exactly one value.
    #[must_use]
    pub fn with_extremes(self, min: Option<ArrayRef>, max: Option<ArrayRef>) -> Self {
        Self {
            are_values: true,
            ..self.with_bounds(min, max)
        }
    }

    /// States the number of NULLs.
    #[must_use]
    pub fn with_nulls(mut self, nulls: usize) -> Self {
        self.nulls = Some(nulls);
        self
    }

    /// The lower bound, an array of one value.
    pub fn min(&self) -> Option<&ArrayRef> {
        self.min.as_ref()
    }

    /// The upper bound, an array of one value.
    pub fn max(&self) -> Option<&ArrayRef> {
        self.max.as_ref()
    }

    /// The least and the greatest value, if the bounds are [known to be values](Self::with_extremes).
    pub(crate) fn extremes(&self) -> Option<[&ArrayRef; 2]> {
        let bounds = [self.min()?, self.max()?];
        self.are_values.then_some(bounds)
    }

    /// The number of NULLs.
    pub fn nulls(&self) -> Option<usize> {
        self.nulls
    }
}

impl fmt::Debug for ColumnStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnStatistics")
            .field("min", &self.min)
            .field("max", &self.max)
            .field("are_values", &self.are_values)
            .field("nulls", &self.nulls)
            .finish()
    }
}
