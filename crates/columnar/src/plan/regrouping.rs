//! How the groups of a plan reach the plan above it, which groups them again.

use std::fmt;

use super::few_values::has_few_values;
use super::partitioning::Partitioning;
use super::select_plan::{Output, SelectPlan};
use crate::aggregate::AggregatePlan;
use crate::expr::Expr;
use crate::sharding::ShardKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Regrouping {
    /// No group above has rows of two partitions below. These keys above decide the partition.
    Kept(Vec<usize>),
    /// The groups of each partition are grouped, and partitioned anew.
    Anew,
    /// The rows come in the order of the result below.
    OfRows,
}

impl Regrouping {
    /// For each plan but the first, which reads a table. Each later one reads the result of the one
    /// before.
    pub(crate) fn of(plans: &[SelectPlan]) -> Vec<Self> {
        let mut ways: Vec<Self> = Vec::new();
        for pair in plans.windows(2) {
            let partitioned_by = match ways.last() {
                Some(Self::Kept(keys)) => keys.clone(),
                _ => match Partitioning::of(&pair[0]) {
                    Partitioning::ShardKey { keys, .. } => keys,
                    Partitioning::Pinned | Partitioning::Keys => Vec::new(),
                },
            };
            ways.push(Self::of_pair(&pair[0], &partitioned_by, &pair[1]));
        }
        ways
    }

    fn of_pair(below: &SelectPlan, partitioned_by: &[usize], above: &SelectPlan) -> Self {
        let is_cut = below.limit.is_some() || below.offset > 0 || !below.order.is_empty();
        let (Output::Groups { .. }, Output::Groups { keys, aggregates, .. }, false) =
            (&below.output, &above.output, is_cut)
        else {
            return Self::OfRows;
        };
        let keys: Vec<Option<usize>> = keys.iter().map(|key| key_below(below, key)).collect();
        let place = |key: &usize| keys.iter().position(|&below| below == Some(*key));
        match partitioned_by.iter().map(place).collect::<Option<Vec<usize>>>() {
            Some(keys) if !keys.is_empty() => Self::Kept(keys),
            // The partitions' ranges may be others in each run.
            _ if AggregatePlan::new(aggregates.clone()).is_exact() => Self::Anew,
            _ => Self::OfRows,
        }
    }
}

impl fmt::Display for Regrouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kept(_) => "groups that stay in their partitions",
            Self::Anew => "groups that are partitioned anew",
            Self::OfRows => "rows",
        })
    }
}

/// Partitions the groups of the first plan, unless it or its table says how, by columns that are
/// keys of all plans, or of as many as have some. Columns with few values would leave workers idle.
pub(crate) fn share_shard_key(plans: &mut [SelectPlan]) {
    let Some(first) = plans.first() else { return };
    let table = first.table.as_ref();
    if first.shard_key.as_deref().or(table.shard_key()).is_some() {
        return;
    }
    let groupings: Vec<Vec<usize>> = (0..plans.len())
        .map_while(|level| grouping(plans, level))
        .collect();
    let chosen = (2..=groupings.len()).rev().find_map(|levels| {
        let shard_key = ShardKey::choose(None, None, &groupings[..levels]);
        let columns = shard_key.columns();
        let is_one = !columns.iter().all(|&column| has_few_values(column, table));
        is_one.then(|| columns.to_vec())
    });
    if chosen.is_some() {
        plans[0].shard_key = chosen;
    }
}

/// The columns of the first plan's table among the keys of `level`. `None` if a level has no groups.
fn grouping(plans: &[SelectPlan], level: usize) -> Option<Vec<usize>> {
    let Output::Groups { keys, .. } = &plans[level].output else {
        return None;
    };
    let column = |key: &Expr| match level {
        0 => key.as_column(),
        _ => (1..=level)
            .rev()
            .try_fold(key, |key, level| {
                let Output::Groups { keys, .. } = &plans[level - 1].output else {
                    return None;
                };
                Some(&keys[key_below(&plans[level - 1], key)?])
            })?
            .as_column(),
    };
    Some(keys.iter().filter_map(column).collect())
}

/// The key of `below` that `above` is.
fn key_below(below: &SelectPlan, above: &Expr) -> Option<usize> {
    let Output::Groups { keys, columns, .. } = &below.output else {
        return None;
    };
    let (_, value) = columns.get(above.as_column()?)?;
    value.as_column().filter(|&key| key < keys.len())
}
