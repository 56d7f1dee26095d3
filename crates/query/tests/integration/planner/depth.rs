//! Long chains and deep nesting: no query takes more stack than there is.

use query::{QueryError, QueryPlanner};

use super::{error, plan, tables};

#[test]
fn long_chains_are_shallow_and_deep_nesting_is_refused() {
    let chain = |count: usize, op: &str| {
        (0..count)
            .map(|n| format!("id = {n}"))
            .collect::<Vec<_>>()
            .join(op)
    };
    assert_eq!(
        plan(&format!("select id from items where {}", chain(3000, " and ")))
            .filters()
            .len(),
        3000
    );
    plan(&format!("select id from items where {}", chain(3000, " or ")));

    let endless = format!("select id from items where {}", chain(20_000, " or "));
    assert!(matches!(
        error(&endless),
        QueryError::Unsupported {
            position: Some(_),
            ..
        }
    ));

    let sum = vec!["id"; 1000].join(" + ");
    assert!(matches!(
        error(&format!("select {sum} from items")),
        QueryError::Unsupported { .. }
    ));
    let brackets = format!("select {}id{} from items", "(".repeat(1000), ")".repeat(1000));
    assert!(matches!(error(&brackets), QueryError::Parse { .. }));
}

/// A test's thread has a stack of 2 MB. One that overflows ends the process.
#[test]
fn a_query_of_any_nesting_is_answered() {
    for (begin, link, end) in [
        ("select ", "(", "1"),
        ("select ", "interval ", "'1'"),
        ("select ", "not ", "true"),
        ("select ", "case when ", "true"),
        ("select ", "exists (select ", "1"),
        ("select * from ", "(select * from ", "items"),
        ("select 1::", "array<", "int"),
        ("select 1::", "struct<a ", "int"),
        ("select 1::", "struct<a int, b ", "int"),
        ("select 1::", "nullable(", "int"),
        ("select 1::", "nested(a ", "int"),
        ("select 1::", "tuple(", "int"),
        ("select 1::", "table(a ", "int"),
        ("select ((((((((((((((((((((1::", "nested(a ", "int"),
        ("select * from items match_recognize (pattern (", "(", "a"),
        ("select 1", " union all select 1", ""),
        ("with a as (select 1)", ", a as (select 1)", " select 1"),
        ("select id", "::int", " from items"),
        ("select id", "[1]", " from items"),
    ] {
        for links in [30, 45, 60, 100, 400, 3_000, 12_000] {
            let sql = format!("{begin}{}{end}", link.repeat(links));
            let refused = QueryPlanner::plan(&sql, &tables()).is_err();
            assert!(refused || links < 10_000, "{begin}{link}…, {links} times");
        }
    }
    let nested = format!("select {}id{} from items", "(".repeat(20), ")".repeat(20));
    plan(&nested);
}
