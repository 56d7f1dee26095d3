//! How many tables a statement reads, with each common table as often as it is named.
//!
//! The engine puts a common table in place of each of its names. One that names the one before it
//! twice is twice as large, so a text of some hundred bytes would be planned for ever, by a worker
//! that cannot be interrupted.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{ObjectName, Query, Statement, Visit, Visitor};

use crate::wire::SqlError;

/// Number of tables. Planning a join of as many takes seconds.
const TABLES_MAX: u64 = 200;

/// Checks a statement.
///
/// # Errors
///
/// If it reads too many tables.
pub(crate) fn check(statement: &Statement) -> Result<(), SqlError> {
    let tables = tables(statement);
    if tables > TABLES_MAX {
        let what = format!(
            "statement too complex: it reads more than {TABLES_MAX} tables, with each common table as often \
             as it is named"
        );
        return Err(SqlError::new("54001", what));
    }
    Ok(())
}

fn tables(statement: &Statement) -> u64 {
    let mut counting = Counting {
        open: vec![Counted::default()],
        common: HashMap::new(),
    };
    // It never breaks off.
    let _ = statement.visit(&mut counting);
    counting.open.first().map_or(0, |whole| whole.tables)
}

/// Visits queries from the outside in; a common table comes before the body that names it.
struct Counting {
    /// The whole, and the queries around what is visited.
    open: Vec<Counted>,
    /// Names of common tables that are still to be visited, by their queries' places in memory.
    common: HashMap<*const Query, String>,
}

#[derive(Default)]
struct Counted {
    tables: u64,
    /// Tables of each common table.
    common: HashMap<String, u64>,
}

impl Visitor for Counting {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.common
                .insert(std::ptr::from_ref(&*table.query), name(&table.alias.name.value));
        }
        self.open.push(Counted::default());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let common = self.common.remove(&std::ptr::from_ref(query));
        let tables = self.open.pop().map_or(0, |counted| counted.tables);
        if let Some(around) = self.open.last_mut() {
            match common {
                Some(name) => {
                    around.common.insert(name, tables.max(1));
                }
                None => around.tables = around.tables.saturating_add(tables),
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let name = match relation.0.as_slice() {
            [part] => part.as_ident().map(|part| name(&part.value)),
            _ => None,
        };
        let common = name.and_then(|name| {
            let around = self.open.iter().rev();
            around.filter_map(|query| query.common.get(&name).copied()).next()
        });
        if let Some(query) = self.open.last_mut() {
            query.tables = query.tables.saturating_add(common.unwrap_or(1));
        }
        ControlFlow::Continue(())
    }
}

/// Names that differ by their letters' case alone count as one, which is never too few.
fn name(text: &str) -> String {
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn of(sql: &str) -> u64 {
        tables(&Parser::parse_sql(&PostgreSqlDialect {}, sql).unwrap()[0])
    }

    #[test]
    fn a_common_table_counts_as_often_as_it_is_named() {
        for (sql, count) in [
            ("select 1", 0),
            (
                "select * from t, u join v on true where x in (select y from w)",
                4,
            ),
            ("with a as (select * from t, u) select * from a, A", 4),
            (
                "with a as (select 1), b as (select * from a, a), c as (select * from b, b) select * from c",
                4,
            ),
            ("with a as (select * from t, u) select * from s.a", 1),
            (
                "with a as (with b as (select * from t, u) select * from b, b) select * from a, b",
                5,
            ),
            ("explain with a as (select * from t, u) select * from a", 2),
            (
                "with recursive a as (select 1 union all select * from a) select * from a",
                1,
            ),
        ] {
            assert_eq!(of(sql), count, "{sql}");
        }
    }

    #[test]
    fn doubling_is_refused_however_often() {
        for levels in [10, 70] {
            let tables =
                (1..levels).map(|level| format!(", a{level} as (select * from a{0} x, a{0} y)", level - 1));
            let sql = format!(
                "with a0 as (select 1){} select * from a{}",
                tables.collect::<String>(),
                levels - 1
            );
            let statement = &Parser::parse_sql(&PostgreSqlDialect {}, &sql).unwrap()[0];
            assert_eq!(check(statement).unwrap_err().code, "54001");
        }
    }
}
