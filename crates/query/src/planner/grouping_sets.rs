//! GROUP BY as sets of keys.
//!
//! ```text
//!   group by a, b                           (a, b)
//!   group by rollup (a, b)                  (a, b), (a), ()
//!   group by cube (a, b)                    (a, b), (a), (b), ()
//!   group by grouping sets ((a, b), (c))    (a, b), (c)
//!   group by a, rollup (b, c)               (a, b, c), (a, b), (a)
//! ```

use sqlparser::ast::{Expr as Sql, Spanned};

use super::position::place;
use crate::error::QueryError;

const SETS: usize = 128;

pub(super) struct GroupingSets<'a> {
    /// No two are the same.
    pub(super) keys: Vec<&'a Sql>,
    /// Places in `keys`, ascending.
    pub(super) sets: Vec<Vec<usize>>,
}

impl<'a> GroupingSets<'a> {
    pub(super) fn of(group_by: &'a [Sql]) -> Result<Self, QueryError> {
        let mut found = Self {
            keys: Vec::new(),
            sets: vec![Vec::new()],
        };
        for element in group_by {
            let alternatives = alternatives(element)?;
            if found.sets.len().saturating_mul(alternatives.len()) > SETS {
                return Err(too_many(element));
            }
            let alternatives = alternatives.into_iter().map(|keys| found.places(keys));
            let alternatives: Vec<Vec<usize>> = alternatives.collect();
            let sets = std::mem::take(&mut found.sets);
            let product = sets.iter().flat_map(|set| {
                alternatives.iter().map(move |more| {
                    let mut both: Vec<usize> = set.iter().chain(more).copied().collect();
                    both.sort_unstable();
                    both.dedup();
                    both
                })
            });
            found.sets = product.collect();
        }
        Ok(found)
    }

    fn places(&mut self, keys: Vec<&'a Sql>) -> Vec<usize> {
        let mut place = |key: &'a Sql| {
            let known = self.keys.iter().position(|known| *known == key);
            known.unwrap_or_else(|| {
                self.keys.push(key);
                self.keys.len() - 1
            })
        };
        keys.into_iter().map(&mut place).collect()
    }
}

/// The sets that an element of GROUP BY stands for.
fn alternatives(element: &Sql) -> Result<Vec<Vec<&Sql>>, QueryError> {
    Ok(match element {
        Sql::Rollup(parts) => (0..=parts.len())
            .rev()
            .map(|count| parts[..count].iter().flatten().collect())
            .collect(),
        Sql::Cube(parts)
            if 1usize
                .checked_shl(parts.len() as u32)
                .is_none_or(|sets| sets > SETS) =>
        {
            return Err(too_many(element));
        }
        Sql::Cube(parts) => (0..1usize << parts.len())
            .rev()
            .map(|subset| {
                let is_in = |at: &usize| subset >> (parts.len() - 1 - at) & 1 == 1;
                (0..parts.len()).filter(is_in).flat_map(|at| &parts[at]).collect()
            })
            .collect(),
        Sql::GroupingSets(sets) => sets.iter().map(|set| set.iter().collect()).collect(),
        Sql::Tuple(keys) => vec![keys.iter().collect()],
        key => vec![vec![key]],
    })
}

fn too_many(element: &Sql) -> QueryError {
    QueryError::Unsupported {
        construct: format!("GROUP BY of more than {SETS} sets"),
        position: place(element.span()),
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::{GroupByExpr, SetExpr, Statement};
    use sqlparser::dialect::GenericDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn sets(group_by: &str) -> Vec<String> {
        let sql = format!("select 1 from t group by {group_by}");
        let parsed = Parser::parse_sql(&GenericDialect {}, &sql).unwrap();
        let [Statement::Query(query)] = parsed.as_slice() else {
            panic!("a query");
        };
        let SetExpr::Select(select) = query.body.as_ref() else {
            panic!("a SELECT");
        };
        let GroupByExpr::Expressions(group_by, _) = &select.group_by else {
            panic!("keys");
        };
        let GroupingSets { keys, sets } = GroupingSets::of(group_by).unwrap();
        let name = |key: &usize| keys[*key].to_string();
        let text = |set: &Vec<usize>| set.iter().map(name).collect::<Vec<_>>().join(" ");
        sets.iter().map(text).collect()
    }

    #[test]
    fn elements_are_multiplied() {
        assert_eq!(sets("a, b"), ["a b"]);
        assert_eq!(sets("rollup (a, b)"), ["a b", "a", ""]);
        assert_eq!(sets("rollup ((a, b), c)"), ["a b c", "a b", ""]);
        assert_eq!(sets("cube (a, b)"), ["a b", "a", "b", ""]);
        assert_eq!(sets("grouping sets ((a, b), c, ())"), ["a b", "c", ""]);
        assert_eq!(sets("a, rollup (b, c)"), ["a b c", "a b", "a"]);
        assert_eq!(sets("rollup (a), rollup (b)"), ["a b", "a", "b", ""]);
        assert_eq!(sets("a, rollup (a)"), ["a", "a"]);
    }
}
