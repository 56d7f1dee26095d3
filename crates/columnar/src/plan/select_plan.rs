//! A query on one table.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};

use super::sort_key::SortKey;
use crate::aggregate::Aggregate;
use crate::error::TypeError;
use crate::expr::Expr;
use crate::memory::MemoryPool;
use crate::table::TableSource;

/// A query on one table.
#[derive(Clone, Debug)]
pub struct SelectPlan {
    /// The table.
    pub table: Arc<dyn TableSource>,
    /// Rows for which this is not true are dropped.
    pub filter: Option<Expr>,
    /// What becomes of the rows that are left.
    pub output: Output,
    /// The order of the result; without keys, input order, and groups in the order of their first
    /// row. The keys read what the output's columns read.
    pub order: Vec<SortKey>,
    /// Rows of the result to leave out at its beginning.
    pub offset: usize,
    /// Rows of the result to give out at most.
    pub limit: Option<usize>,
    /// Bounds the memory of the query, over all slots and threads; without one there is no bound.
    /// Reserved is what grows with the rows: what is fetched and decoded of a stored table, rows
    /// that are kept and sorted, keys, hash tables, states of aggregates. What a table keeps of its
    /// columns is not, nor the chunk of rows that a worker has at hand.
    pub memory_pool: Option<Arc<MemoryPool>>,
    /// Columns by which groups are partitioned, in place of the table's own
    /// [`ShardKey`](crate::sharding::ShardKey), if all are keys of the grouping. No result shows
    /// it.
    pub shard_key: Option<Vec<usize>>,
}

/// What a query gives out.
#[derive(Clone, Debug)]
pub enum Output {
    /// Expressions of each row.
    Rows {
        /// Name and value of each column of the result; they read columns of the table.
        columns: Vec<(String, Expr)>,
    },
    /// Expressions of each group.
    Groups {
        /// What rows of a group have in common; they read columns of the table. Without keys, all
        /// rows are one group, which is there even if no row is.
        keys: Vec<Expr>,
        /// Computed for each group; their arguments read columns of the table.
        aggregates: Vec<Aggregate>,
        /// Groups for which this is not true are dropped. It reads the group's columns: see
        /// [`SelectPlan::group_fields`].
        having: Option<Expr>,
        /// Name and value of each column of the result; they read the group's columns.
        columns: Vec<(String, Expr)>,
    },
}

impl Output {
    /// Name and value of each column of the result.
    pub fn columns(&self) -> &[(String, Expr)] {
        match self {
            Self::Rows { columns } | Self::Groups { columns, .. } => columns,
        }
    }
}

impl SelectPlan {
    /// All rows of `table` as `output` says, in their own order, without a filter, a limit or a
    /// bound for memory.
    pub fn new(table: Arc<dyn TableSource>, output: Output) -> Self {
        Self {
            table,
            filter: None,
            output,
            order: Vec::new(),
            offset: 0,
            limit: None,
            memory_pool: None,
            shard_key: None,
        }
    }

    /// The columns of a group: first the keys, then the aggregates. Expressions over groups read
    /// these, by index.
    ///
    /// # Errors
    ///
    /// When a key's values cannot be told apart.
    pub fn group_fields(keys: &[Expr], aggregates: &[Aggregate]) -> Result<Vec<Field>, TypeError> {
        let mut fields = Vec::with_capacity(keys.len() + aggregates.len());
        for key in keys {
            if !key.is_comparable() {
                return Err(TypeError {
                    expression: key.to_string(),
                    message: format!("values of type {} cannot be grouped", key.data_type()),
                });
            }
            fields.push(Field::new(
                key.as_operand(),
                key.clone().plain()?.data_type().clone(),
                true,
            ));
        }
        for aggregate in aggregates {
            fields.push(Field::new(
                aggregate.to_string(),
                aggregate.data_type().clone(),
                true,
            ));
        }
        Ok(fields)
    }

    /// The columns of the result.
    pub fn schema(&self) -> SchemaRef {
        let field = |(name, expr): &(String, Expr)| Field::new(name, expr.data_type().clone(), true);
        Arc::new(Schema::new(
            self.output.columns().iter().map(field).collect::<Vec<_>>(),
        ))
    }

    /// The columns of the table that the query reads, in ascending order.
    pub fn projection(&self) -> Vec<usize> {
        let mut columns = BTreeSet::new();
        if let Some(filter) = &self.filter {
            filter.collect_columns(&mut columns);
        }
        match &self.output {
            Output::Rows { columns: outputs } => {
                outputs
                    .iter()
                    .for_each(|(_, expr)| expr.collect_columns(&mut columns));
                self.order
                    .iter()
                    .for_each(|key| key.expr().collect_columns(&mut columns));
            }
            Output::Groups { keys, aggregates, .. } => {
                keys.iter().for_each(|key| key.collect_columns(&mut columns));
                aggregates
                    .iter()
                    .filter_map(Aggregate::argument)
                    .for_each(|argument| argument.collect_columns(&mut columns));
            }
        }
        columns.into_iter().collect()
    }

    /// Rows of the ordered result that are needed at all: what is left out at its beginning, and
    /// the limit.
    pub(crate) fn rows_needed(&self) -> usize {
        self.limit
            .map_or(usize::MAX, |limit| self.offset.saturating_add(limit))
    }
}
