//! The morsels that can hold a row for which a condition is true, by their statistics alone.
//!
//! The answer may name a morsel too many, never one too few. A comparison of a column with a
//! constant tests the column's bounds: `x < c` can hold only if `min < c`. Bounds pass through the
//! same conversions as values; those that a comparison inserts keep the order.
//!
//! The bounds of all morsels are compared at once, as a column:
//!
//! ```text
//!   morsel   0    1    2    3
//!   min      3    8    -    5      x < 6 can hold in 0 and 3, and in 2, which has no bound
//! ```

use std::cell::LazyCell;
use std::slice;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::BooleanBuffer;
use arrow::compute::concat;

use crate::error::ExecError;
use crate::expr::{ColumnSource, Comparison, Expr, Node};
use crate::table::{ColumnStatistics, TableSource};

/// Those of `morsels` that can hold a row for which `condition` is true.
pub(crate) fn may_hold(condition: &Expr, table: &dyn TableSource, morsels: &[usize]) -> Vec<usize> {
    let may = Morsels { table, morsels }.may_hold(condition);
    may.set_indices().map(|place| morsels[place]).collect()
}

#[derive(Clone, Copy)]
struct Morsels<'a> {
    table: &'a dyn TableSource,
    morsels: &'a [usize],
}

impl Morsels<'_> {
    /// A bit for each morsel.
    fn may_hold(self, condition: &Expr) -> BooleanBuffer {
        match condition.node() {
            Node::And(left, right) => and(self.may_hold(left), || self.may_hold(right)),
            Node::Or(left, right) => or(self.may_hold(left), || self.may_hold(right)),
            Node::Literal(value) => self.each(value.is_valid(0) && value.as_boolean().value(0)),
            Node::Compare { op, left, right } => match (left.literal_value(), right.literal_value()) {
                (None, Some(_)) => self.may_compare(*op, left, slice::from_ref(right)),
                (Some(_), None) => self.may_compare(op.swapped(), right, slice::from_ref(left)),
                _ => self.each(true),
            },
            Node::InList { value, list } => {
                let items = list.items().iter().map(|item| Expr::literal(item.clone()));
                let items: Vec<Expr> = items.collect();
                self.may_compare(Comparison::Equal, value, &items)
            }
            Node::IsNull { value, negated } => match value.as_column() {
                Some(column) => self.bits(|morsel| {
                    let nulls = self.table.statistics(morsel, column).nulls();
                    nulls.is_none_or(|nulls| match negated {
                        false => nulls > 0,
                        true => nulls < self.table.rows(morsel),
                    })
                }),
                None => self.each(true),
            },
            Node::Column { .. }
            | Node::Cast(_)
            | Node::Arithmetic { .. }
            | Node::Not(_)
            | Node::Like { .. } => self.each(true),
        }
    }

    fn each(self, holds: bool) -> BooleanBuffer {
        self.bits(|_morsel| holds)
    }

    fn bits(self, holds: impl Fn(usize) -> bool) -> BooleanBuffer {
        BooleanBuffer::collect_bool(self.morsels.len(), |place| holds(self.morsels[place]))
    }

    /// Whether the comparison of `value` with one of `constants` can hold.
    fn may_compare(self, op: Comparison, value: &Expr, constants: &[Expr]) -> BooleanBuffer {
        let Some(column) = bare_column(value) else {
            return self.each(!constants.is_empty());
        };
        let morsels = self.morsels.iter();
        let known: Vec<ColumnStatistics> = morsels
            .map(|&morsel| self.table.statistics(morsel, column))
            .collect();
        let low = LazyCell::new(|| Bounds::of(&known, ColumnStatistics::min));
        let high = LazyCell::new(|| match value.data_type().is_floating() {
            // NaN is above every bound of a file, so an upper bound of floats proves nothing.
            true => Bounds::unknown(known.len()),
            false => Bounds::of(&known, ColumnStatistics::max),
        });
        let low_may = |op, constant: &Expr| low.may_hold(op, value, constant);
        let high_may = |op, constant: &Expr| high.may_hold(op, value, constant);
        let may_hold = |constant| match op {
            Comparison::Less | Comparison::LessEqual => low_may(op, constant),
            Comparison::Greater | Comparison::GreaterEqual => high_may(op, constant),
            Comparison::Equal => and(low_may(Comparison::LessEqual, constant), || {
                high_may(Comparison::GreaterEqual, constant)
            }),
            Comparison::NotEqual => or(low_may(op, constant), || high_may(op, constant)),
        };
        // Comparisons with NULL never hold.
        let is_null = |constant: &Expr| constant.literal_value().is_some_and(|value| value.is_null(0));
        let constants = constants.iter().filter(|constant| !is_null(constant));
        let may = constants.fold(self.each(false), |may, constant| or(may, || may_hold(constant)));
        let has_values = BooleanBuffer::collect_bool(known.len(), |place| {
            known[place].nulls() != Some(self.table.rows(self.morsels[place]))
        });
        &may & &has_values
    }
}

/// `right` is asked for only if a morsel is left.
fn and(left: BooleanBuffer, right: impl FnOnce() -> BooleanBuffer) -> BooleanBuffer {
    match left.count_set_bits() {
        0 => left,
        _ => &left & &right(),
    }
}

/// `right` is asked for only if a morsel is ruled out.
fn or(left: BooleanBuffer, right: impl FnOnce() -> BooleanBuffer) -> BooleanBuffer {
    match left.count_set_bits() == left.len() {
        true => left,
        false => &left | &right(),
    }
}

/// The lower or the upper bounds of a column in some morsels.
struct Bounds {
    morsels: usize,
    /// Places of the morsels that have one.
    places: Vec<usize>,
    /// `None` if nothing is known.
    values: Option<ArrayRef>,
}

impl Bounds {
    fn unknown(morsels: usize) -> Self {
        Self {
            morsels,
            places: Vec::new(),
            values: None,
        }
    }

    fn of(known: &[ColumnStatistics], bound: fn(&ColumnStatistics) -> Option<&ArrayRef>) -> Self {
        let bounds = known.iter().enumerate();
        let bounds = bounds.filter_map(|(place, known)| Some((place, bound(known)?.as_ref())));
        let (places, bounds): (Vec<usize>, Vec<&dyn Array>) = bounds.unzip();
        Self {
            morsels: known.len(),
            places,
            // Bounds of several types would break the table's promise, and state nothing.
            values: concat(&bounds).ok(),
        }
    }

    /// Whether the comparison with `constant` holds for the bound, of each morsel; true if unknown.
    fn may_hold(&self, op: Comparison, value: &Expr, constant: &Expr) -> BooleanBuffer {
        let all = BooleanBuffer::new_set(self.morsels);
        let Some(values) = &self.values else { return all };
        let Ok(comparison) = Expr::compare(op, value.clone(), constant.clone()) else {
            return all;
        };
        let Ok(truth) = comparison.evaluate_condition(&OnlyColumn(values)) else {
            return all;
        };
        let mut may = vec![true; self.morsels];
        for (at, &place) in self.places.iter().enumerate() {
            may[place] = truth.is_null(at) || truth.value(at);
        }
        may.into()
    }
}

/// Rows in which the only column has the values of bounds.
struct OnlyColumn<'a>(&'a ArrayRef);

impl ColumnSource for OnlyColumn<'_> {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn column(&self, _index: usize) -> Result<ArrayRef, ExecError> {
        Ok(self.0.clone())
    }
}

fn bare_column(value: &Expr) -> Option<usize> {
    match value.node() {
        Node::Column { index, .. } => Some(*index),
        Node::Cast(inner) => bare_column(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float64Array, Int64Array};
    use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
    use proptest::prelude::*;

    use super::*;
    use crate::table::{MorselReader, ReadError};

    /// A table whose morsels are never opened.
    #[derive(Clone, Debug)]
    struct Known {
        morsels: Vec<Rows>,
        statistics: Vec<[ColumnStatistics; 2]>,
    }

    impl TableSource for Known {
        fn name(&self) -> &'static str {
            "known"
        }

        fn schema(&self) -> SchemaRef {
            Arc::new(Schema::new(fields().to_vec()))
        }

        fn morsels(&self) -> usize {
            self.morsels.len()
        }

        fn rows(&self, morsel: usize) -> usize {
            self.morsels[morsel].rows()
        }

        fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
            self.statistics[morsel][column].clone()
        }

        fn open(&self, _morsel: usize, _columns: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
            unreachable!("statistics answer")
        }
    }

    #[derive(Clone, Debug)]
    struct Rows([ArrayRef; 2]);

    impl ColumnSource for Rows {
        fn rows(&self) -> usize {
            self.0[0].len()
        }

        fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
            Ok(self.0[index].clone())
        }
    }

    fn fields() -> [Field; 2] {
        [
            Field::new("whole", DataType::Int64, true),
            Field::new("real", DataType::Float64, true),
        ]
    }

    fn whole(values: &[Option<i64>]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    fn real(values: &[Option<f64>]) -> ArrayRef {
        Arc::new(Float64Array::from(values.to_vec()))
    }

    fn number() -> impl Strategy<Value = Option<i64>> {
        proptest::option::weighted(0.8, -3i64..4)
    }

    /// A number that is no longer one where it is 3.
    fn real_of(number: i64) -> f64 {
        if number == 3 {
            f64::NAN
        } else {
            number as f64 / 2.0
        }
    }

    /// Rows, and whether bounds and the number of NULLs of each column are known.
    fn morsel() -> impl Strategy<Value = (Rows, [ColumnStatistics; 2])> {
        let rows = proptest::collection::vec((number(), number()), 0..5);
        (rows, any::<[[bool; 2]; 2]>()).prop_map(|(rows, are_known)| {
            let (wholes, reals): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            let reals: Vec<Option<f64>> = reals.iter().map(|number| number.map(real_of)).collect();
            let numbers = || wholes.iter().flatten().copied();
            let bounds =
                [numbers().min(), numbers().max()].map(|bound| bound.map(|bound| whole(&[Some(bound)])));
            // Files leave NaN out.
            let numbers = || reals.iter().flatten().copied().filter(|number| !number.is_nan());
            let real_bounds = [numbers().reduce(f64::min), numbers().reduce(f64::max)];
            let real_bounds = real_bounds.map(|bound| bound.map(|bound| real(&[Some(bound)])));
            let rows = Rows([whole(&wholes), real(&reals)]);
            let known = |column: usize, [min, max]: [Option<ArrayRef>; 2]| {
                let [has_bounds, has_nulls] = are_known[column];
                let statistics = match has_bounds {
                    true => ColumnStatistics::unknown().with_bounds(min, max),
                    false => ColumnStatistics::unknown(),
                };
                match has_nulls {
                    true => statistics.with_nulls(rows.0[column].null_count()),
                    false => statistics,
                }
            };
            let statistics = [known(0, bounds), known(1, real_bounds)];
            (rows, statistics)
        })
    }

    fn condition() -> impl Strategy<Value = Expr> {
        let constant = |column: usize, number: Option<i64>| {
            Expr::literal(match column {
                0 => whole(&[number]),
                _ => real(&[number.map(real_of)]),
            })
        };
        let column = |column: usize| Expr::column(column, &fields()[column]);
        let op = proptest::sample::select(vec![
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessEqual,
            Comparison::Greater,
            Comparison::GreaterEqual,
        ]);
        let comparison = (0usize..2, op, number(), any::<bool>()).prop_map(move |(of, op, number, swaps)| {
            let (left, right) = (column(of), constant(of, number));
            match swaps {
                true => Expr::compare(op, right, left),
                false => Expr::compare(op, left, right),
            }
        });
        let list = (0usize..2, proptest::collection::vec(number(), 1..4)).prop_map(move |(of, numbers)| {
            let constants = numbers.into_iter().map(|number| constant(of, number));
            Expr::in_list(column(of), constants.collect())
        });
        let null = (0usize..2, any::<bool>()).prop_map(move |(of, negated)| {
            Ok(match negated {
                true => Expr::is_not_null(column(of)),
                false => Expr::is_null(column(of)),
            })
        });
        let leaf = prop_oneof![3 => comparison, 1 => list, 1 => null].prop_map(Result::unwrap);
        leaf.prop_recursive(3, 8, 2, |part| {
            (part.clone(), part, any::<bool>()).prop_map(|(left, right, is_and)| {
                match is_and {
                    true => Expr::and(left, right),
                    false => Expr::or(left, right),
                }
                .unwrap()
            })
        })
    }

    proptest! {
        #[test]
        fn morsels_with_a_row_are_never_ruled_out_and_are_judged_together_as_alone(
            morsels in proptest::collection::vec(morsel(), 0..6),
            condition in condition(),
        ) {
            let (morsels, statistics) = morsels.into_iter().unzip();
            let table = Known { morsels, statistics };
            let all: Vec<usize> = (0..table.morsels()).collect();
            let found = may_hold(&condition, &table, &all);
            let alone = all.iter().flat_map(|&morsel| may_hold(&condition, &table, &[morsel]));
            prop_assert_eq!(&found, &alone.collect::<Vec<usize>>());
            for (morsel, rows) in table.morsels.iter().enumerate() {
                let truth = condition.evaluate_condition(rows).unwrap();
                prop_assert!(truth.true_count() == 0 || found.contains(&morsel), "{}", morsel);
            }
        }
    }

    #[test]
    fn bounds_that_rule_out_are_believed() {
        let bounded = |low, high| {
            let [low, high] = [low, high].map(|bound| Some(whole(&[Some(bound)])));
            [
                ColumnStatistics::unknown().with_bounds(low, high),
                ColumnStatistics::unknown(),
            ]
        };
        let rows = Rows([whole(&[Some(0)]), real(&[None])]);
        let table = Known {
            morsels: vec![rows; 4],
            statistics: vec![
                bounded(3, 5),
                bounded(8, 9),
                [ColumnStatistics::unknown(), ColumnStatistics::unknown()],
                bounded(5, 5),
            ],
        };
        let column = || Expr::column(0, &fields()[0]);
        let found = |op, number| {
            let condition = Expr::compare(op, column(), Expr::int64(number)).unwrap();
            may_hold(&condition, &table, &[0, 1, 2, 3])
        };
        assert_eq!(found(Comparison::Less, 6), [0, 2, 3]);
        assert_eq!(found(Comparison::Greater, 5), [1, 2]);
        assert_eq!(found(Comparison::Equal, 5), [0, 2, 3]);
        assert_eq!(found(Comparison::NotEqual, 5), [0, 1, 2]);
        let list = Expr::in_list(column(), vec![Expr::int64(1), Expr::int64(9)]).unwrap();
        assert_eq!(may_hold(&list, &table, &[0, 1, 3]), [1]);
    }
}
