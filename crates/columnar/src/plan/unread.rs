//! Leaves out what the plan above does not read.

use std::collections::BTreeSet;

use arrow::array::new_null_array;

use super::level_plan::LevelPlan;
use super::select_plan::{Output, SelectPlan};
use crate::aggregate::{Aggregate, AggregateFunction};
use crate::expr::Expr;

/// Columns that no plan above reads become NULL, and aggregates that no column reads are not
/// computed, so an overflow of theirs is no error.
pub(crate) fn leave_out_unread(plans: &mut [LevelPlan]) {
    for above in (1..plans.len()).rev() {
        let read = plans[above].select.projection();
        let below = &mut plans[above - 1];
        // The columns of sets are made for what is above.
        if below.sets.is_empty() {
            keep_only(&mut below.select, &read);
        }
    }
}

fn keep_only(plan: &mut SelectPlan, read: &[usize]) {
    let (Output::Rows { columns } | Output::Groups { columns, .. }) = &mut plan.output;
    for (at, (_, value)) in columns.iter_mut().enumerate() {
        if !read.contains(&at) {
            *value = Expr::literal(new_null_array(value.data_type(), 1));
        }
    }
    let Output::Groups {
        keys,
        aggregates,
        having,
        columns,
    } = &mut plan.output
    else {
        return;
    };
    let mut group_columns = BTreeSet::new();
    let values = columns.iter().map(|(_, value)| value);
    let order = plan.order.iter().map(|key| key.expr());
    for value in values.chain(having.as_ref()).chain(order) {
        value.collect_columns(&mut group_columns);
    }
    let is_read = |aggregate: usize| group_columns.contains(&(keys.len() + aggregate));
    // One more column of an aggregate costs nothing, and the others keep their places.
    let instead = (0..aggregates.len()).find(|&aggregate| is_read(aggregate));
    let instead = instead.map(|aggregate| aggregates[aggregate].clone());
    let count = || Aggregate::new(AggregateFunction::Count, None).expect("count takes a star");
    let instead = instead.unwrap_or_else(count);
    for (at, aggregate) in aggregates.iter_mut().enumerate() {
        if !is_read(at) {
            *aggregate = instead.clone();
        }
    }
}
