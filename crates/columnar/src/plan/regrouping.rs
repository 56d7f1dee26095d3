//! How the groups of a plan reach the plan above it, which groups them again.

use std::fmt;

use super::few_values::has_few_values;
use super::level_plan::LevelPlan;
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
    pub(crate) fn of(plans: &[LevelPlan]) -> Vec<Self> {
        let mut ways: Vec<Self> = Vec::new();
        for pair in plans.windows(2) {
            let partitioned_by = Self::partitioned_by(&pair[0].select, ways.last());
            ways.push(Self::of_pair(&pair[0], &partitioned_by, &pair[1]));
        }
        ways
    }

    /// The keys that alone decide the partition of the groups of `plan`, whose rows came in this way.
    pub(crate) fn partitioned_by(plan: &SelectPlan, way: Option<&Self>) -> Vec<usize> {
        match (way, Partitioning::of(plan)) {
            (Some(Self::Kept(keys)), _) => keys.clone(),
            (_, Partitioning::ShardKey { keys, .. }) => keys,
            (_, Partitioning::Pinned | Partitioning::Keys) => Vec::new(),
        }
    }

    fn of_pair(below: &LevelPlan, partitioned_by: &[usize], above: &LevelPlan) -> Self {
        let (sets, below) = (&below.sets, &below.select);
        let is_cut = below.limit.is_some() || below.offset > 0 || !below.order.is_empty();
        let (Output::Groups { .. }, Output::Groups { keys, aggregates, .. }, false) =
            (&below.output, &above.select.output, is_cut || !sets.is_empty())
        else {
            return Self::OfRows;
        };
        let is_exact = AggregatePlan::new(aggregates.clone()).is_exact();
        let keys: Vec<Option<usize>> = keys.iter().map(|key| key_below(below, key)).collect();
        let place = |key: &usize| keys.iter().position(|&below| below == Some(*key));
        match partitioned_by.iter().map(place).collect::<Option<Vec<usize>>>() {
            // A set adds what the shards have, which may be cut otherwise in each run.
            Some(keys) if !keys.is_empty() && (is_exact || above.sets.is_empty()) => Self::Kept(keys),
            // So does a grouping of shards.
            _ if is_exact => Self::Anew,
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
/// keys of all groupings, or of as many as have some. Columns with few values would leave workers
/// idle.
pub(crate) fn share_shard_key(plans: &mut [LevelPlan]) {
    let Some(first) = plans.first() else { return };
    let table = first.select.table.as_ref();
    if first.select.shard_key.as_deref().or(table.shard_key()).is_some() {
        return;
    }
    let groupings = groupings(plans);
    let chosen = (2..=groupings.len()).rev().find_map(|count| {
        let shard_key = ShardKey::choose(None, None, &groupings[..count]);
        let columns = shard_key.columns();
        let is_one = !columns.iter().all(|&column| has_few_values(column, table));
        is_one.then(|| columns.to_vec())
    });
    if chosen.is_some() {
        plans[0].select.shard_key = chosen;
    }
}

/// The columns of the first plan's table among the keys of each grouping, finest groups and sets, as
/// far as groups are grouped again.
fn groupings(plans: &[LevelPlan]) -> Vec<Vec<usize>> {
    let mut groupings = Vec::new();
    for (level, plan) in plans.iter().enumerate() {
        let Output::Groups { keys, .. } = &plan.select.output else {
            break;
        };
        let column = |key: &Expr| column_of(&plans[..level], key);
        groupings.push(keys.iter().filter_map(column).collect());
        for set in plan.sets.iter().filter(|set| !set.keys.is_empty()) {
            groupings.push(set.keys.iter().filter_map(|&key| column(&keys[key])).collect());
        }
        if !plan.sets.is_empty() {
            break;
        }
    }
    groupings
}

/// The table's column that `key` is, read above `plans`.
fn column_of(plans: &[LevelPlan], key: &Expr) -> Option<usize> {
    match plans {
        [] => key.as_column(),
        [earlier @ .., below] => {
            let key = key_below(&below.select, key)?;
            column_of(earlier, &below.select.output.keys()[key])
        }
    }
}

/// The key of `below` that `above` is.
fn key_below(below: &SelectPlan, above: &Expr) -> Option<usize> {
    let Output::Groups { keys, columns, .. } = &below.output else {
        return None;
    };
    let (_, value) = columns.get(above.as_column()?)?;
    value.as_column().filter(|&key| key < keys.len())
}
