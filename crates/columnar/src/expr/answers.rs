//! The answers of a condition to the values of codes, looked up for each row.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};

use super::bits::{bits_looked_up, bits_where};
use super::node::Expr;
use crate::table::{Code, Codes, by_width};

/// Values of a column's codes at most: a byte for each is 16 KiB of a core's cache.
pub(super) const VALUES_MAX: usize = 16_384;

/// Runs of codes that are compared with each row's code. With more, a table is as fast.
const RUNS_MAX: usize = 2;

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
    Runs(Runs),
    /// The bit of each value.
    Table(Box<[bool; VALUES_MAX]>),
}

impl LookUp {
    /// A bit behind those of the values is for NULL.
    fn new(bits: &BooleanBuffer, values: usize) -> Self {
        let of_values = bits.slice(0, values);
        Self {
            bits: match Runs::of(&of_values) {
                Some(runs) => Bits::Runs(runs),
                None => {
                    let mut table = Box::new([false; VALUES_MAX]);
                    of_values.set_indices().for_each(|value| table[value] = true);
                    Bits::Table(table)
                }
            },
            of_null: bits.len() > values && bits.value(values),
        }
    }

    fn of_rows(&self, codes: &Codes) -> BooleanBuffer {
        let rows = codes.rows();
        let found = match &self.bits {
            Bits::Runs(runs) => by_width!(rows, |codes| runs.bits(codes)),
            Bits::Table(table) => by_width!(rows, |codes| in_table(codes, table)),
        };
        match rows.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => found,
            Some(nulls) if self.of_null => &found | &!nulls.inner(),
            Some(nulls) => &found & nulls.inner(),
        }
    }
}

fn in_table<C: Code>(codes: &[C], table: &[bool; VALUES_MAX]) -> BooleanBuffer {
    // The length that the compiler knows spares a check for each row.
    bits_looked_up(codes, |code| table[code.into() as usize % VALUES_MAX])
}

/// Runs of codes one behind the other: those whose bit is set, or those whose bit is not.
struct Runs {
    codes: Vec<Range<u32>>,
    are_set: bool,
}

impl Runs {
    /// `None` if there are more than [`RUNS_MAX`] runs of either kind.
    fn of(bits: &BooleanBuffer) -> Option<Self> {
        let of = |bits: &BooleanBuffer| {
            let mut runs = bits.set_slices();
            let first = runs.by_ref().take(RUNS_MAX);
            let codes = first.map(|(begin, end)| begin as u32..end as u32).collect();
            runs.next().is_none().then_some(codes)
        };
        let are = |are_set| move |codes| Self { codes, are_set };
        of(bits).map(are(true)).or_else(|| of(&!bits).map(are(false)))
    }

    /// The bits of the rows that have `codes`.
    fn bits<C: Code>(&self, codes: &[C]) -> BooleanBuffer {
        // There may be more values than codes.
        let end = C::LAST.saturating_add(1);
        let runs = self.codes.iter().filter_map(|run| {
            let span = run.end.min(end).checked_sub(run.start + 1)?;
            Some((C::cut(run.start), C::cut(span)))
        });
        let runs: Vec<(C, C)> = runs.collect();
        match runs[..] {
            [] if self.are_set => BooleanBuffer::new_unset(codes.len()),
            [] => BooleanBuffer::new_set(codes.len()),
            [run] => in_runs(codes, [run], self.are_set),
            [first, second] => in_runs(codes, [first, second], self.are_set),
            _ => unreachable!("there are at most {RUNS_MAX} runs"),
        }
    }
}

/// The bits of the rows whose code is in one of `runs`: its first code, and how many codes are behind.
fn in_runs<C: Code, const N: usize>(codes: &[C], runs: [(C, C); N], are_set: bool) -> BooleanBuffer {
    // Without a branch, so that there are instructions for several rows at once.
    let is_in = |code: C| {
        let each = runs.iter().map(|&(first, span)| code.minus(first) <= span);
        each.fold(false, |is_in, is_in_run| is_in | is_in_run)
    };
    match are_set {
        true => bits_where(codes, is_in),
        false => bits_where(codes, |code| !is_in(code)),
    }
}
