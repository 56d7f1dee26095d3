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
    /// The columns of the result.
    pub output: Output,
    /// The order of the result. Without keys it is input order, and groups are in the order of
    /// their first row. The keys read the same columns as the output.
    pub order: Vec<SortKey>,
    /// Rows of the result to skip.
    pub offset: usize,
    /// The most rows that the result may have.
    pub limit: Option<usize>,
    /// Bounds the memory of the query, over all slots and threads; `None` is no bound. The query
    /// reserves what grows with the rows: fetched and decoded data, rows kept and sorted, keys,
    /// hash tables, aggregate states. It does not reserve the table's own columns, nor the chunk of
    /// rows that a worker handles.
    pub memory_pool: Option<Arc<MemoryPool>>,
    /// Columns by which groups are partitioned, in place of the table's own
    /// [`ShardKey`](crate::sharding::ShardKey), if all are grouping keys. The result does not
    /// depend on it.
    pub shard_key: Option<Vec<usize>>,
}

/// The kind of rows that a query returns.
#[derive(Clone, Debug)]
pub enum Output {
    /// Expressions of each row.
    Rows {
        /// Name and value of each result column; they read columns of the table.
        columns: Vec<(String, Expr)>,
    },
    /// Expressions of each group.
    Groups {
        /// They read columns of the table. Without keys, all rows are one group, which exists even
        /// without rows.
        keys: Vec<Expr>,
        /// Arguments read columns of the table.
        aggregates: Vec<Aggregate>,
        /// Groups for which this is not true are dropped. It reads the group's columns: see
        /// [`SelectPlan::group_fields`].
        having: Option<Expr>,
        /// Name and value of each result column; they read the group's columns.
        columns: Vec<(String, Expr)>,
    },
}

impl Output {
    /// Name and value of each result column.
    pub fn columns(&self) -> &[(String, Expr)] {
        match self {
            Self::Rows { columns } | Self::Groups { columns, .. } => columns,
        }
    }

    /// None of rows.
    pub(crate) fn keys(&self) -> &[Expr] {
        match self {
            Self::Rows { .. } => &[],
            Self::Groups { keys, .. } => keys,
        }
    }
}

impl SelectPlan {
    /// All rows of `table`, in input order, without filter, limit or memory bound.
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

    /// The columns of a group: keys, then aggregates. Expressions over groups read them by index.
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

    /// The columns of the table that the query reads, ascending.
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

    pub(crate) fn rows_needed(&self) -> usize {
        self.limit
            .map_or(usize::MAX, |limit| self.offset.saturating_add(limit))
    }
}
