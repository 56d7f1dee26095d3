//! The aggregate functions by name.

use std::fmt;

use super::average::Average;
use super::bool_and::BoolAnd;
use super::count::Count;
use super::definition::Definition;
use super::distinct::CountDistinct;
use super::median::Median;
use super::min_max::MinMax;
use super::sum::Sum;
use super::variance::{StandardDeviation, Variance};

/// An aggregate function. All but the counts are NULL without values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregateFunction {
    /// The number of rows, or of non-NULL values.
    Count,
    /// The number of distinct non-NULL values.
    CountDistinct,
    /// The sum of the non-NULL values.
    Sum,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The exact sum divided by the count, as a double.
    Avg,
    /// Whether all booleans are true.
    BoolAnd,
    /// The median as a double, of an even count the mean of the middle two.
    Median,
    /// The variance of a sample, from exact sums, as a double; NULL for fewer than two values.
    VarSamp,
    /// The square root of [`VarSamp`](Self::VarSamp).
    StddevSamp,
}

/// The `bool` marks the DISTINCT form.
const FUNCTIONS: &[(AggregateFunction, &str, bool, &dyn Definition)] = &[
    (AggregateFunction::Sum, "sum", false, &Sum),
    (AggregateFunction::Count, "count", false, &Count),
    (AggregateFunction::Min, "min", false, &MinMax { smallest: true }),
    (AggregateFunction::Max, "max", false, &MinMax { smallest: false }),
    (AggregateFunction::Avg, "avg", false, &Average),
    (AggregateFunction::CountDistinct, "count", true, &CountDistinct),
    (AggregateFunction::BoolAnd, "bool_and", false, &BoolAnd),
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
    /// The function of the lower-case SQL `name`, with or without DISTINCT.
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

    /// The SQL names of all functions, each once.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FUNCTIONS.iter().filter(|row| !row.2).map(|row| row.1)
    }

    /// The SQL name.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Whether the argument follows DISTINCT.
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
