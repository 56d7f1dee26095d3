//! The lines of a plan, for people.

use std::collections::BTreeSet;
use std::fmt::{self, Display as _};

use super::partitioning::Partitioning;
use super::select_plan::{Output, SelectPlan};
use crate::expr::Expr;
use crate::filter::FilterPlan;
use crate::table::TableSource;

pub(crate) fn write_plan(
    f: &mut fmt::Formatter<'_>,
    scan: &SelectPlan,
    filter: &FilterPlan,
    skipped: Option<usize>,
) -> fmt::Result {
    let schema = scan.table.schema();
    let rows = rows_of(scan.table.as_ref());
    let names: Vec<&str> = scan
        .projection()
        .into_iter()
        .map(|column| schema.field(column).name().as_str())
        .collect();
    let columns = if names.is_empty() {
        "no column".to_owned()
    } else {
        names.join(", ")
    };
    write!(f, "scan {}", scan.table.name())?;
    // The result of another plan has no rows before that has run.
    if scan.table.morsels() > 0 {
        write!(f, ": {rows} rows in {} morsels", scan.table.morsels())?;
    }
    match skipped {
        Some(skipped) => writeln!(f, ", {skipped} skipped by statistics; reads {columns}")?,
        None => writeln!(f, "; reads {columns}")?,
    }
    if scan.filter.is_some() {
        let changed = match filter.order_changes() {
            0 => String::new(),
            1 => ", which changed once".to_owned(),
            times => format!(", which changed {times} times"),
        };
        writeln!(
            f,
            "filter, in this order{changed}  [estimated {:.1} %]",
            filter.selectivity() * 100.0
        )?;
        filter.explain(f, "  ")?;
    }
    let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
    let named = |columns: &[(String, Expr)]| {
        list(&mut columns.iter().map(|(name, expr)| {
            let text = expr.to_string();
            if text == *name {
                text
            } else {
                format!("{text} as {name}")
            }
        }))
    };
    match &scan.output {
        Output::Rows { columns } => writeln!(f, "select {}", named(columns))?,
        Output::Groups {
            keys,
            aggregates,
            having,
            columns,
        } => {
            if !keys.is_empty() {
                writeln!(f, "group by {}", list(&mut keys.iter().map(ToString::to_string)))?;
                Partitioning::of(scan).fmt(f)?;
            }
            if !aggregates.is_empty() {
                let mut texts: Vec<String> = Vec::new();
                for text in aggregates.iter().map(ToString::to_string) {
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
                writeln!(f, "aggregate {}", texts.join(", "))?;
            }
            if let Some(having) = having {
                writeln!(f, "having {having}")?;
            }
            writeln!(f, "select {}", named(columns))?;
        }
    }
    if !scan.order.is_empty() {
        writeln!(
            f,
            "order by {}",
            list(&mut scan.order.iter().map(ToString::to_string))
        )?;
    }
    if let Some(limit) = scan.limit {
        writeln!(f, "limit {limit}")?;
    }
    if scan.offset > 0 {
        writeln!(f, "offset {}", scan.offset)?;
    }
    Ok(())
}

impl fmt::Display for SelectPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_plan(
            f,
            self,
            &FilterPlan::new(self.filter.as_ref(), self.table.as_ref(), &BTreeSet::new()),
            None,
        )
    }
}

/// For estimates and people; it saturates.
fn rows_of(table: &dyn TableSource) -> usize {
    (0..table.morsels())
        .map(|morsel| table.rows(morsel))
        .fold(0, usize::saturating_add)
}
