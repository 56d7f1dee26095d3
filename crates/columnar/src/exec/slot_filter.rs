//! The filter of a slot, before or while its chunks are collected.
//!
//! A chunk is filtered when it is collected. The chunks of a stored morsel are all filtered before, a
//! step after the other, since rows that pass often lie together, as in a file in the order of time:
//! later steps and outputs then read their columns where rows are left. For an ORDER BY with a LIMIT
//! the first step is the threshold that slots have found so far, and the last one is that of these
//! slots and the rows that are left.
//!
//! ```text
//!   chunks               │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │
//!   counter = 62         │   │   │ x │ x │ x │   │   │     columns read from here on: chunks 2 .. 5
//!   url <> ''            │   │   │   │ x │ x │   │   │                                        3 .. 5
//! ```

use std::cell::RefCell;
use std::collections::VecDeque;
use std::iter;
use std::ops::Range;

use super::morsel::{Chunk, Morsel};
use super::threshold::Threshold;
use crate::error::ExecError;
use crate::expr::{ColumnSource as _, Expr, Filtered};
use crate::filter::{FilterPlan, Selection};

/// Rows for each one left, above which those left are few.
const FEW: usize = 16;

/// The same where a further step reads them: it would compare codes of all rows, several at once.
const FEW_FOR_A_STEP: usize = 64;

pub(super) struct SlotFilter<'a> {
    plan: &'a FilterPlan,
    order: Vec<usize>,
    ahead: RefCell<Option<Ahead>>,
}

/// What a look ahead has found.
struct Ahead {
    /// The rows that pass, of the chunks to come.
    chunks: VecDeque<Selection>,
    are_offered: bool,
}

impl<'a> SlotFilter<'a> {
    pub(super) fn new(plan: &'a FilterPlan) -> Self {
        Self {
            order: plan.next_order(),
            plan,
            ahead: RefCell::default(),
        }
    }

    /// Filters all chunks of `rows`, which have to be collected in this order. Those that pass are offered
    /// to a `threshold` that has a condition. After a cancellation it leaves them as they are.
    pub(super) fn look_ahead(
        &self,
        morsel: &Morsel<'_>,
        rows: Range<usize>,
        threshold: Option<&Threshold>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), ExecError> {
        let no_worse = threshold.and_then(|threshold| Some((threshold, threshold.condition()?)));
        let planned = self.order.iter().copied().map(Step::Planned);
        let steps: Vec<Step<'_>> = match &no_worse {
            Some((threshold, condition)) => iter::once(Step::NoWorse(condition))
                .chain(planned)
                .chain([Step::Best(threshold)])
                .collect(),
            None => planned.collect(),
        };
        if steps.is_empty() {
            return Ok(());
        }
        let chunks: Vec<Chunk<'_, '_>> = morsel.chunks(rows.clone()).collect();
        let may_pass = match &no_worse {
            Some((_, condition)) if !morsel.may_meet(condition) => Selection::none,
            _ => Selection::all,
        };
        let mut ahead: VecDeque<Selection> = chunks.iter().map(|chunk| may_pass(chunk.rows())).collect();
        for (place, step) in steps.iter().enumerate() {
            if let Step::Best(threshold) = step {
                for (chunk, selection) in chunks.iter().zip(&ahead) {
                    offer(threshold, chunk, selection)?;
                }
            }
            for (chunk, selection) in chunks.iter().zip(&mut ahead) {
                if is_cancelled() {
                    return Ok(());
                }
                match step {
                    Step::NoWorse(_) if selection.count() == 0 => {}
                    Step::NoWorse(condition) => selection.and(&condition.evaluate_condition(chunk)?),
                    Step::Planned(step) => self.plan.narrow(*step, chunk, selection)?,
                    Step::Best(threshold) => leave_best(threshold, chunk, selection)?,
                }
            }
            let is_left = |selection: &Selection| selection.count() > 0;
            let (Some(first), Some(last)) = (ahead.iter().position(is_left), ahead.iter().rposition(is_left))
            else {
                break;
            };
            morsel.need(chunks[first].range().start..chunks[last].range().end);
            let few = match place + 1 < steps.len() {
                true => FEW_FOR_A_STEP,
                false => FEW,
            };
            let left: usize = ahead.iter().map(Selection::count).sum();
            if left * few < rows.len() {
                let mut rows = Vec::with_capacity(left);
                for (chunk, selection) in chunks.iter().zip(&ahead) {
                    let start = chunk.range().start;
                    rows.extend(selection.mask().values().set_indices().map(|row| start + row));
                }
                morsel.need_few(rows);
            }
        }
        self.ahead.replace(Some(Ahead {
            chunks: ahead,
            are_offered: no_worse.is_some(),
        }));
        Ok(())
    }

    /// The rows of the next chunk that pass, and that `threshold` still needs.
    pub(super) fn select(
        &self,
        chunk: &Chunk<'_, '_>,
        threshold: Option<&Threshold>,
    ) -> Result<Selection, ExecError> {
        if let Some(ahead) = &mut *self.ahead.borrow_mut()
            && let Some(selection) = ahead.chunks.pop_front()
        {
            return Ok(selection);
        }
        let mut selection = Selection::all(chunk.rows());
        if let Some(condition) = threshold.and_then(Threshold::condition) {
            match chunk.may_meet(&condition) {
                true => selection.and(&condition.evaluate_condition(chunk)?),
                false => return Ok(Selection::none(chunk.rows())),
            }
        }
        match selection.count() {
            0 => Ok(selection),
            _ => self.plan.select(chunk, &self.order, selection),
        }
    }

    /// Whether the rows that pass were offered to the threshold.
    pub(super) fn has_offered(&self) -> bool {
        self.ahead
            .borrow()
            .as_ref()
            .is_some_and(|ahead| ahead.are_offered)
    }
}

/// What a look ahead narrows the rows by.
enum Step<'a> {
    /// The condition that the threshold has at the beginning.
    NoWorse(&'a Expr),
    /// The number of a step of the plan.
    Planned(usize),
    /// The condition that the threshold has once it knows the rows that are left.
    Best(&'a Threshold),
}

fn offer(threshold: &Threshold, chunk: &Chunk<'_, '_>, selection: &Selection) -> Result<(), ExecError> {
    match selection.count() {
        0 => Ok(()),
        _ => threshold.offer(&threshold.key().evaluate(&left(threshold, chunk, selection))?),
    }
}

/// The rows that are left are asked.
fn leave_best(
    threshold: &Threshold,
    chunk: &Chunk<'_, '_>,
    selection: &mut Selection,
) -> Result<(), ExecError> {
    if selection.count() > 0
        && let Some(condition) = threshold.condition()
    {
        let known = condition.evaluate_condition(&left(threshold, chunk, selection))?;
        selection.and_compact(&known);
    }
    Ok(())
}

fn left<'a>(threshold: &Threshold, chunk: &'a Chunk<'_, '_>, selection: &Selection) -> Filtered<'a> {
    Filtered::new(chunk, &selection.mask(), [threshold.key()])
}
