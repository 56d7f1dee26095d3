//! How the groups of a query are partitioned, decided from the plan.
//!
//! A filter that leaves each key one value leaves one group, so nothing is split. Otherwise a shard
//! key among the keys decides, the query's before its table's: a coarser grouping then finds its
//! groups complete in a partition. Without one, the hash of all keys decides.

use std::fmt;

use arrow::array::Array as _;

use super::select_plan::{Output, SelectPlan};
use crate::expr::{Comparison, Expr, Node};
use crate::sharding::ShardKey;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Partitioning {
    /// At most one group.
    Pinned,
    /// Some of the keys, by their place among the keys.
    ShardKey {
        keys: Vec<usize>,
        /// For display.
        names: Vec<String>,
        /// True if the query declares the key, false if its table does.
        is_the_querys: bool,
    },
    Keys,
}

impl Partitioning {
    pub(crate) fn of(scan: &SelectPlan) -> Self {
        let Output::Groups { keys, .. } = &scan.output else {
            return Self::Keys;
        };
        let columns: Vec<Option<usize>> = keys.iter().map(Expr::as_column).collect();
        let conditions = scan.filter.clone().map_or_else(Vec::new, Expr::conjuncts);
        let is_pinned = |column: &Option<usize>| {
            column.is_some_and(|column| conditions.iter().any(|one| pins(one, column)))
        };
        if !keys.is_empty() && columns.iter().all(is_pinned) {
            return Self::Pinned;
        }
        let grouping: Vec<usize> = columns.iter().copied().flatten().collect();
        let said = scan.shard_key.as_deref();
        let shard_key = ShardKey::choose(scan.table.shard_key(), said, &[]);
        if !shard_key.keeps(&grouping) {
            return Self::Keys;
        }
        let schema = scan.table.schema();
        let name = |&column: &usize| schema.field(column).name().clone();
        let is_in_it =
            |column: &Option<usize>| column.is_some_and(|column| shard_key.columns().contains(&column));
        Self::ShardKey {
            keys: (0..keys.len()).filter(|&key| is_in_it(&columns[key])).collect(),
            names: shard_key.columns().iter().map(name).collect(),
            is_the_querys: said.is_some(),
        }
    }
}

/// Whether all rows for which `condition` is true have one value in `column`.
fn pins(condition: &Expr, column: usize) -> bool {
    match condition.node() {
        Node::Compare {
            op: Comparison::Equal,
            left,
            right,
        } => {
            let is =
                |value: &Expr, constant: &Expr| value.as_column() == Some(column) && is_constant(constant);
            is(left, right) || is(right, left)
        }
        Node::IsNull {
            value,
            negated: false,
        } => is_column(value, column),
        _ => false,
    }
}

/// Whether `value` distinguishes the same values as the column, and NULL: it is the column, or a
/// wider integer of it.
fn is_column(value: &Expr, column: usize) -> bool {
    match value.node() {
        Node::Cast(inner) => {
            inner.data_type().is_integer() && value.data_type().is_integer() && is_column(inner, column)
        }
        _ => value.as_column() == Some(column),
    }
}

fn is_constant(value: &Expr) -> bool {
    match value.node() {
        // `= NULL` is never true.
        Node::Literal(value) => value.len() == 1,
        Node::Cast(value) => is_constant(value),
        _ => false,
    }
}

impl fmt::Display for Partitioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pinned => writeln!(f, "one partition: the filter leaves each key one value"),
            Self::ShardKey {
                names, is_the_querys, ..
            } => {
                let whose = if *is_the_querys { "query" } else { "table" };
                writeln!(
                    f,
                    "partitions by {}, the shard key of the {whose}",
                    names.join(", ")
                )
            }
            Self::Keys => Ok(()),
        }
    }
}
