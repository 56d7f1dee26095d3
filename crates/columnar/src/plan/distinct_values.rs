//! `count(distinct x)` of all rows as a count of groups.
//!
//! ```text
//!   select count(distinct x) from t     ─►     select count(x) from (select x from t group by x)
//! ```
//!
//! One group has one state, which one worker would merge. Groups of `x` are partitioned, and merged by
//! all workers.

use std::sync::Arc;

use super::level_plan::LevelPlan;
use super::select_plan::{Output, SelectPlan};
use crate::aggregate::{Aggregate, AggregateFunction};
use crate::expr::Expr;
use crate::table::MemoryTable;

/// Puts a plan of groups below each plan that counts the distinct values of one expression and has
/// no keys and no other aggregates.
pub(crate) fn group_distinct_values(plans: Vec<LevelPlan>) -> Vec<LevelPlan> {
    let mut all = Vec::with_capacity(plans.len());
    for mut plan in plans {
        if let Some(values) = counted_values(&plan) {
            let values = group_by(&values, &mut plan.select);
            all.push(values.into());
        }
        all.push(plan);
    }
    all
}

fn counted_values(plan: &LevelPlan) -> Option<Expr> {
    let Output::Groups { keys, aggregates, .. } = &plan.select.output else {
        return None;
    };
    let first = aggregates.first()?;
    let is_alone = keys.is_empty() && plan.sets.is_empty();
    let is_same = |aggregate: &Aggregate| aggregate.state_key() == first.state_key();
    let is_counted = first.function() == AggregateFunction::CountDistinct && aggregates.iter().all(is_same);
    first.argument().filter(|_| is_alone && is_counted).cloned()
}

/// The groups by `values` of what `counts` reads, which then counts these groups.
fn group_by(values: &Expr, counts: &mut SelectPlan) -> SelectPlan {
    let keys = vec![values.clone()];
    let fields = SelectPlan::group_fields(&keys, &[]).expect("values that are compared can be keys");
    let value = |at: usize| Expr::column(at, &fields[at]);
    let groups = SelectPlan {
        filter: counts.filter.take(),
        memory_pool: counts.memory_pool.clone(),
        shard_key: counts.shard_key.take(),
        ..SelectPlan::new(
            Arc::clone(&counts.table),
            Output::Groups {
                keys,
                aggregates: Vec::new(),
                having: None,
                columns: vec![(values.to_string(), value(0))],
            },
        )
    };
    let table = MemoryTable::try_new("distinct values", groups.schema(), []);
    counts.table = Arc::new(table.expect("no rows"));
    if let Output::Groups { aggregates, .. } = &mut counts.output {
        for aggregate in aggregates {
            let count = Aggregate::new(AggregateFunction::Count, Some(value(0)));
            *aggregate = count.expect("all values can be counted");
        }
    }
    groups
}
