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

/// It stands for a group that is being looked up.
const ASKED: u32 = u32::MAX - 1;

#[derive(Debug, Default)]
pub(super) struct KnownCodes {
    /// The values that the codes stand for, key by key.
    values: Vec<ArrayRef>,
    /// The group of each combination, or [`UNKNOWN`].
    groups: Vec<u32>,
    /// The combination of each row of the chunk.
    combinations: Vec<u32>,
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
        Some((combinations(keys)? + rows) * size_of::<u32>())
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
        self.combinations.clear();
        self.combinations
            .resize(keys.first().map_or(0, |key| key.rows().len()), 0);
        for key in keys {
            let null = key.values().len() as u32;
            let nulls = key.rows().nulls().filter(|nulls| nulls.null_count() > 0);
            by_width!(key.rows(), |codes| combine(
                &mut self.combinations,
                codes,
                null,
                nulls
            ));
        }
        let mut firsts = Vec::new();
        for (row, combination) in (0..).zip(&self.combinations) {
            let group = &mut self.groups[*combination as usize];
            if *group == UNKNOWN {
                *group = ASKED;
                firsts.push(row);
            }
        }
        firsts
    }

    /// The groups of the rows that [`take`](Self::take) returned.
    pub(super) fn learn(&mut self, firsts: &[u32], groups: &[u32]) {
        for (row, group) in firsts.iter().zip(groups) {
            let combination = self.combinations[*row as usize];
            self.groups[combination as usize] = *group;
        }
    }

    /// The group of each row of the chunk.
    pub(super) fn groups(&self) -> impl Iterator<Item = u32> {
        let combinations = self.combinations.iter();
        combinations.map(|combination| self.groups[*combination as usize])
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
