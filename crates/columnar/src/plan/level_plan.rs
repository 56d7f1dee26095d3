//! A plan among others, each over the result of the one before.

use arrow::datatypes::SchemaRef;

use super::select_plan::{Output, SelectPlan};
use crate::expr::Expr;

/// A level of a [`NestedScan`](crate::NestedScan).
#[derive(Clone, Debug)]
pub struct LevelPlan {
    /// What is read, and with `sets` its finest groups. Those have the keys of all sets.
    pub select: SelectPlan,
    /// If there are any, the result is the groups of each, one set after another. They are made from
    /// the finest groups, which have no HAVING, order or limit of their own then.
    pub sets: Vec<GroupingSet>,
}

/// Groups by some of a plan's keys, as in `GROUP BY ROLLUP (a, b)`.
#[derive(Clone, Debug)]
pub struct GroupingSet {
    /// The keys, by their place in the plan. Without any, all rows are one group.
    pub keys: Vec<usize>,
    /// Groups for which this is not true are dropped. It reads the group's columns: the keys of this
    /// set, then the plan's aggregates.
    pub having: Option<Expr>,
    /// Name and value of each result column, of the same types in all sets. They read the group's
    /// columns.
    pub columns: Vec<(String, Expr)>,
}

impl LevelPlan {
    /// The columns of the result.
    pub fn schema(&self) -> SchemaRef {
        match self.sets.first() {
            Some(set) => self.of_set(set, None).schema(),
            None => self.select.schema(),
        }
    }

    /// The groups of `set`, as if they were made from rows.
    pub(crate) fn of_set(&self, set: &GroupingSet, filter: Option<Expr>) -> SelectPlan {
        let Output::Groups { keys, aggregates, .. } = &self.select.output else {
            panic!("a plan with grouping sets has groups");
        };
        let output = Output::Groups {
            keys: set.keys.iter().map(|&key| keys[key].clone()).collect(),
            aggregates: aggregates.clone(),
            having: set.having.clone(),
            columns: set.columns.clone(),
        };
        SelectPlan {
            output,
            filter,
            ..self.select.clone()
        }
    }
}

impl From<SelectPlan> for LevelPlan {
    fn from(select: SelectPlan) -> Self {
        Self {
            select,
            sets: Vec::new(),
        }
    }
}
