//! The aggregate functions by name.

use std::fmt;

use super::average::Average;
use super::count::Count;
use super::definition::Definition;
use super::distinct::CountDistinct;
use super::median::Median;
use super::min_max::MinMax;
use super::sum::Sum;
use super::variance::{StandardDeviation, Variance};

/// Which aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregateFunction {
    /// The number of rows, or of values that are not NULL.
    Count,
    /// The number of different values that are not NULL.
    CountDistinct,
    /// The sum of the values that are not NULL; NULL if there is none.
    Sum,
    /// The smallest value; NULL if there is none.
    Min,
    /// The largest value; NULL if there is none.
    Max,
    /// The exact sum divided by the count, as a double; NULL if there is no value.
    Avg,
    /// The middle value, or the mean of the two in the middle, as a double; NULL if there is no
    /// value.
    Median,
    /// The variance of a sample, from exact sums, as a double; NULL if there are fewer than two
    /// values.
    VarSamp,
    /// The square root of [`VarSamp`](Self::VarSamp).
    StddevSamp,
}

/// Each function's name in SQL, whether it is that name's DISTINCT form, and its definition.
const FUNCTIONS: &[(AggregateFunction, &str, bool, &dyn Definition)] = &[
    (AggregateFunction::Sum, "sum", false, &Sum),
    (AggregateFunction::Count, "count", false, &Count),
    (AggregateFunction::Min, "min", false, &MinMax { smallest: true }),
    (AggregateFunction::Max, "max", false, &MinMax { smallest: false }),
    (AggregateFunction::Avg, "avg", false, &Average),
    (AggregateFunction::CountDistinct, "count", true, &CountDistinct),
    (AggregateFunction::Median, "median", false, &Median),
    (AggregateFunction::VarSamp, "var_samp", false, &Variance),
    (
        AggregateFunction::StddevSamp,
        "stddev_samp",
        false,
        &StandardDeviation,
    ),
];

impl AggregateFunction {
    /// The function that SQL calls `name`, in lower case, with or without DISTINCT before its
    /// argument.
    ///
    /// ```
    /// use columnar::AggregateFunction;
    ///
    /// assert_eq!(AggregateFunction::by_name("avg", false), Some(AggregateFunction::Avg));
    /// assert_eq!(AggregateFunction::by_name("avg", true), None);
    /// ```
    pub fn by_name(name: &str, distinct: bool) -> Option<Self> {
        let is_it = |row: &&(Self, &str, bool, &dyn Definition)| row.1 == name && row.2 == distinct;
        FUNCTIONS.iter().find(is_it).map(|row| row.0)
    }

    /// The names of all functions in SQL, each once.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FUNCTIONS.iter().filter(|row| !row.2).map(|row| row.1)
    }

    /// The name in SQL.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Whether the argument is written behind DISTINCT.
    pub fn is_distinct(self) -> bool {
        self.row().2
    }

    pub(super) fn definition(self) -> &'static dyn Definition {
        self.row().3
    }

    fn row(self) -> &'static (Self, &'static str, bool, &'static dyn Definition) {
        let row = FUNCTIONS.iter().find(|row| row.0 == self);
        row.expect("every function has a row")
    }
}

impl fmt::Display for AggregateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
