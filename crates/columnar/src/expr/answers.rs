//! The answers of a condition to the values of codes, looked up for each row.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};

use super::bits::bits_where;
use super::node::Expr;
use crate::table::{Code, Codes, by_width};

/// Values of a column's codes at most: a byte for each is 16 KiB of a core's cache.
pub(super) const VALUES_MAX: usize = 16_384;

pub(super) struct Answers {
    values: ArrayRef,
    /// Whether there is an answer to NULL.
    with_null: bool,
    trues: LookUp,
    /// The values to which the answer is not NULL, if it is to one.
    valid: Option<LookUp>,
}

impl Answers {
    /// `answers` to at most [`VALUES_MAX`] values, and behind them to NULL if a row is NULL.
    pub(super) fn new(answers: &BooleanArray, codes: &Codes) -> Self {
        let nulls = answers.nulls().filter(|nulls| nulls.null_count() > 0);
        let values = codes.values().clone();
        Self {
            with_null: codes.rows().null_count() > 0,
            trues: LookUp::new(answers.values(), values.len()),
            valid: nulls.map(|nulls| LookUp::new(nulls.inner(), values.len())),
            values,
        }
    }

    fn are_to(&self, codes: &Codes) -> bool {
        Arc::ptr_eq(&self.values, codes.values()) && (self.with_null || codes.rows().null_count() == 0)
    }

    /// The answer for each row.
    pub(super) fn of_rows(&self, codes: &Codes) -> BooleanArray {
        let nulls = self
            .valid
            .as_ref()
            .map(|valid| NullBuffer::new(valid.of_rows(codes)));
        BooleanArray::new(self.trues.of_rows(codes), nulls)
    }
}

/// Answers that further rows of the same values have, too: those of a morsel's chunks.
#[derive(Default)]
pub(crate) struct Answered(RefCell<Vec<(Expr, Rc<Answers>)>>);

impl Answered {
    pub(super) fn find(&self, condition: &Expr, codes: &Codes) -> Option<Rc<Answers>> {
        let kept = self.0.borrow();
        let mut kept = kept
            .iter()
            .filter(|(other, answers)| condition.is(other) && answers.are_to(codes));
        kept.next().map(|(_, answers)| answers.clone())
    }

    pub(super) fn keep(&self, condition: &Expr, answers: Answers) {
        let mut kept = self.0.borrow_mut();
        kept.retain(|(other, _)| !condition.is(other));
        kept.push((condition.clone(), Rc::new(answers)));
    }
}

/// A bit for each value, and one for NULL.
struct LookUp {
    bits: Bits,
    of_null: bool,
}

enum Bits {
    Run(Run),
    /// A byte for each value.
    Table(Box<[u8; VALUES_MAX]>),
}

impl LookUp {
    /// A bit behind those of the values is for NULL.
    fn new(bits: &BooleanBuffer, values: usize) -> Self {
        let of_values = bits.slice(0, values);
        Self {
            bits: match Run::of(&of_values) {
                Some(run) => Bits::Run(run),
                None => {
                    let mut table = Box::new([0; VALUES_MAX]);
                    of_values.set_indices().for_each(|value| table[value] = 1);
                    Bits::Table(table)
                }
            },
            of_null: bits.len() > values && bits.value(values),
        }
    }

    fn of_rows(&self, codes: &Codes) -> BooleanBuffer {
        let rows = codes.rows();
        let found = match &self.bits {
            Bits::Run(run) => by_width!(rows, |codes| run.bits(codes)),
            Bits::Table(table) => by_width!(rows, |codes| in_table(codes, table)),
        };
        match rows.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => found,
            Some(nulls) if self.of_null => &found | &!nulls.inner(),
            Some(nulls) => &found & nulls.inner(),
        }
    }
}

fn in_table<C: Code>(codes: &[C], table: &[u8; VALUES_MAX]) -> BooleanBuffer {
    // The length that the compiler knows spares a check for each row.
    bits_where(codes, |code| table[code.into() as usize % VALUES_MAX] > 0)
}

/// Codes one behind the other: those whose bit is set, or those whose bit is not.
struct Run {
    codes: Range<u32>,
    is_set: bool,
}

impl Run {
    /// `None` if the bits change more than twice.
    fn of(bits: &BooleanBuffer) -> Option<Self> {
        let of = |bits: &BooleanBuffer| {
            let mut runs = bits.set_slices();
            let (begin, end) = runs.next().unwrap_or_default();
            runs.next().is_none().then_some(begin as u32..end as u32)
        };
        let set = of(bits).map(|codes| Self { codes, is_set: true });
        set.or_else(|| {
            let codes = of(&!bits)?;
            Some(Self { codes, is_set: false })
        })
    }

    /// The bits of the rows that have `codes`.
    fn bits<C: Code>(&self, codes: &[C]) -> BooleanBuffer {
        // There may be more values than codes.
        let end = self.codes.end.min(C::LAST.saturating_add(1));
        let Some(span) = end.checked_sub(self.codes.start + 1) else {
            return match self.is_set {
                true => BooleanBuffer::new_unset(codes.len()),
                false => BooleanBuffer::new_set(codes.len()),
            };
        };
        let (begin, span) = (C::cut(self.codes.start), C::cut(span));
        let is_in = |code: C| code.minus(begin) <= span;
        match self.is_set {
            true => bits_where(codes, is_in),
            false => bits_where(codes, |code| !is_in(code)),
        }
    }
}
