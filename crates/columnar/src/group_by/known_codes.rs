//! The groups of rows whose keys are held as codes: each combination of codes is looked up once.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef};
use arrow::buffer::NullBuffer;

use crate::error::ExecError;
use crate::expr::{ColumnSource, Expr};
use crate::table::{Code, Codes, by_width};

/// Combinations of codes of which groups are remembered: 256 KiB.
const COMBINATIONS_MAX: usize = 1 << 16;

const UNKNOWN: u32 = u32::MAX;

/// From here on numbers stand for groups that are being looked up.
const ASKED: u32 = UNKNOWN - COMBINATIONS_MAX as u32;

#[derive(Debug, Default)]
pub(super) struct KnownCodes {
    /// The values that the codes stand for, key by key.
    values: Vec<ArrayRef>,
    /// The group of each combination, or [`UNKNOWN`].
    groups: Vec<u32>,
    /// The combinations of the chunk whose groups are being looked up, and the rows that have them.
    asked: Vec<u32>,
    asking: Vec<u32>,
    /// The combination of each row of the chunk, of several keys or of one with NULL.
    combinations: Vec<u32>,
    /// The group of each row of the chunk.
    of_rows: Vec<u32>,
}

impl KnownCodes {
    /// The keys as codes, if all are columns that are held so.
    pub(super) fn of(keys: &[Expr], rows: &dyn ColumnSource) -> Result<Option<Vec<Codes>>, ExecError> {
        let mut codes = Vec::with_capacity(keys.len());
        for key in keys {
            let column = key.as_column().map(|column| rows.codes(column)).transpose()?;
            match column.flatten() {
                Some(column) => codes.push(column),
                None => return Ok(None),
            }
        }
        Ok(Some(codes))
    }

    /// The bytes that these keys take, or `None` if they have too many combinations.
    pub(super) fn bytes(keys: &[Codes]) -> Option<usize> {
        let rows = keys.first().map_or(0, |key| key.rows().len());
        // A row has a combination and a group, and may ask for it, as the first one of its combination.
        Some((combinations(keys)? + 5 * rows) * size_of::<u32>())
    }

    /// Takes the rows of the next chunk. Returns the first row of each combination that is not
    /// known, whose groups are to be [learnt](Self::learn).
    pub(super) fn take(&mut self, keys: &[Codes]) -> Vec<u32> {
        let is_same = self.values.len() == keys.len()
            && self
                .values
                .iter()
                .zip(keys)
                .all(|(values, key)| Arc::ptr_eq(values, key.values()));
        if !is_same {
            self.values = keys.iter().map(|key| key.values().clone()).collect();
            self.groups.clear();
            self.groups.resize(combinations(keys).unwrap_or(0), UNKNOWN);
        }
        match keys {
            [key] if key.rows().null_count() == 0 => by_width!(key.rows(), |codes| self.look_up(codes)),
            _ => {
                let mut combinations = std::mem::take(&mut self.combinations);
                combine_all(&mut combinations, keys);
                let firsts = self.look_up(&combinations);
                self.combinations = combinations;
                firsts
            }
        }
    }

    /// Finds each row's group, or the place in `asked` behind [`ASKED`]. Returns the first row of each
    /// combination that is not known.
    fn look_up<C: Code>(&mut self, combinations: &[C]) -> Vec<u32> {
        let Self {
            groups,
            asked,
            asking,
            ..
        } = self;
        let mut firsts = Vec::new();
        let of_row = |(row, combination): (u32, &C)| {
            let combination: u32 = (*combination).into();
            let group = &mut groups[combination as usize];
            if *group >= ASKED {
                if *group == UNKNOWN {
                    *group = ASKED + firsts.len() as u32;
                    asked.push(combination);
                    firsts.push(row);
                }
                asking.push(row);
            }
            *group
        };
        self.of_rows.clear();
        self.of_rows.extend((0..).zip(combinations).map(of_row));
        firsts
    }

    /// `groups` are those of the rows that [`take`](Self::take) returned.
    pub(super) fn learn(&mut self, groups: &[u32]) {
        for (combination, group) in self.asked.drain(..).zip(groups) {
            self.groups[combination as usize] = *group;
        }
        for row in self.asking.drain(..) {
            let group = &mut self.of_rows[row as usize];
            *group = groups[(*group - ASKED) as usize];
        }
    }

    /// The group of each row of the chunk.
    pub(super) fn of_rows(&self) -> &[u32] {
        &self.of_rows
    }
}

/// The combination of each row.
fn combine_all(combinations: &mut Vec<u32>, keys: &[Codes]) {
    combinations.clear();
    combinations.resize(keys.first().map_or(0, |key| key.rows().len()), 0);
    for key in keys {
        let null = key.values().len() as u32;
        let nulls = key.rows().nulls().filter(|nulls| nulls.null_count() > 0);
        by_width!(key.rows(), |codes| combine(combinations, codes, null, nulls));
    }
}

/// Adds a key's codes to those of the keys before. `null` is its code of NULL.
fn combine<C: Code>(combinations: &mut [u32], codes: &[C], null: u32, nulls: Option<&NullBuffer>) {
    let rows = combinations.iter_mut().zip(codes);
    let add = |place: &mut u32, code: u32| *place = *place * (null + 1) + code;
    match nulls {
        None => rows.for_each(|(place, code)| add(place, (*code).into())),
        Some(nulls) => rows.zip(nulls).for_each(|((place, code), is_valid)| {
            add(place, if is_valid { (*code).into() } else { null });
        }),
    }
}

fn combinations(keys: &[Codes]) -> Option<usize> {
    let of_key = |key: &Codes| key.values().len() + 1;
    let all = keys
        .iter()
        .try_fold(1_usize, |all, key| all.checked_mul(of_key(key)));
    all.filter(|all| *all <= COMBINATIONS_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::array::{Int64Array, UInt8Array};
    use proptest::prelude::*;

    use super::*;

    /// Rows of a chunk: the codes of two keys.
    type Rows = Vec<(Option<u8>, Option<u8>)>;

    fn codes(rows: impl Iterator<Item = Option<u8>>, values: &ArrayRef) -> Codes {
        Codes::try_new(Arc::new(UInt8Array::from_iter(rows)), Arc::clone(values)).unwrap()
    }

    proptest! {
        #[test]
        fn rows_of_one_combination_have_one_group_which_is_asked_for_once(
            chunks in proptest::collection::vec(
                proptest::collection::vec(
                    (proptest::option::weighted(0.8, 0..5_u8), proptest::option::weighted(0.8, 0..3_u8)),
                    1..40,
                ),
                1..5,
            ),
            has_second: bool,
            has_nulls: bool,
        ) {
            let values = |count: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values(0..count)) };
            let (of_first, of_second) = (values(5), values(3));
            let mut known = KnownCodes::default();
            let mut groups = HashMap::new();
            for chunk in chunks {
                let row = |(first, second): (Option<u8>, Option<u8>)| match has_nulls {
                    true => (first, second),
                    false => (Some(first.unwrap_or(0)), Some(second.unwrap_or(0))),
                };
                let chunk: Rows = chunk.into_iter().map(row).collect();
                let mut keys = vec![codes(chunk.iter().map(|row| row.0), &of_first)];
                if has_second {
                    keys.push(codes(chunk.iter().map(|row| row.1), &of_second));
                }
                let key_of = |row: usize| (chunk[row].0, chunk[row].1.filter(|_| has_second));
                let mut new = Vec::new();
                for row in 0..chunk.len() {
                    let next = 100 + groups.len() as u32;
                    groups.entry(key_of(row)).or_insert_with(|| {
                        new.push(row as u32);
                        next
                    });
                }
                let firsts = known.take(&keys);
                prop_assert_eq!(&firsts, &new);
                let of_firsts: Vec<u32> = firsts.iter().map(|&row| groups[&key_of(row as usize)]).collect();
                known.learn(&of_firsts);
                let expected: Vec<u32> = (0..chunk.len()).map(|row| groups[&key_of(row)]).collect();
                prop_assert_eq!(known.of_rows(), expected);
            }
        }
    }
}
