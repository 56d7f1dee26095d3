//! Grouping sets, against one query for each set.

use query::{QueryPlanner, QueryResult};

use crate::differential::generator::{Case, Random};
use crate::nested::items;
use crate::run::{Cell, Row, assert_same_bits, catalog, executor, executors, planned, query, rows};

const DRAWN: u64 = 600;

/// The keys of each set of `rollup`, `cube`, or two keys apart, of `count` keys.
fn sets(kind: usize, count: usize) -> Vec<Vec<usize>> {
    match kind {
        0 => (0..=count).rev().map(|keys| (0..keys).collect()).collect(),
        1 => (0..1usize << count)
            .rev()
            .map(|set| {
                (0..count)
                    .filter(|key| set >> (count - 1 - key) & 1 == 1)
                    .collect()
            })
            .collect(),
        _ => (0..count).map(|key| vec![key]).collect(),
    }
}

fn clause(kind: usize, keys: &[&str]) -> String {
    let keys = keys.join(", ");
    match kind {
        0 => format!("rollup ({keys})"),
        1 => format!("cube ({keys})"),
        _ => format!("grouping sets ({keys})"),
    }
}

/// A query of one set, whose result has NULL for the other keys.
fn of_set(keys: &[&str], set: &[usize], rest: &str, having: &str) -> String {
    let is_in = |key: &usize| set.contains(key);
    let own: Vec<&str> = (0..keys.len()).filter(is_in).map(|key| keys[key]).collect();
    let by = match own.is_empty() {
        true => String::new(),
        false => format!("group by {}", own.join(", ")),
    };
    let own = own.iter().map(|key| format!("{key}, ")).collect::<String>();
    format!("select {own}{rest} {by} {having}")
}

/// The rows of all sets, with NULL for the keys that a set has not.
fn expected(keys: &[&str], sets: &[Vec<usize>], ask: impl Fn(&[usize]) -> Vec<Row>) -> Vec<Row> {
    let mut all = Vec::new();
    for set in sets {
        for mut row in ask(set) {
            for key in 0..keys.len() {
                if !set.contains(&key) {
                    row.insert(key, Cell::Null);
                }
            }
            all.push(row);
        }
    }
    all
}

#[test]
fn drawn_sets_have_the_rows_of_a_query_for_each() {
    let executors = executors();
    for seed in 0..DRAWN {
        let case = Case::generate(seed);
        let tables = catalog(case.source());
        let mut random = Random(seed);
        let kind = random.below(3);
        let mut keys = vec![
            ["u", "j", "s"][random.below(3)],
            ["b", "day", "d"][random.below(3)],
        ];
        if random.below(3) == 0 {
            keys.push("f");
        }
        let function = [
            "avg(i)",
            "count(distinct s)",
            "sum(f)",
            "stddev_samp(i)",
            "median(j)",
        ][random.below(5)];
        let condition = ["", "where i > 0", "where i is null and i = 1"][random.below(3)];
        let having = ["", "having count(*) > 2"][random.below(2)];
        let rest = format!("count(*), {function}, max(d) from t {condition}");
        let sets = sets(kind, keys.len());
        let ask = |set: &[usize]| {
            let sql = of_set(&keys, set, &rest, having);
            rows(&query(&sql, &tables, &executors[0]).expect(&sql))
        };
        let expected = expected(&keys, &sets, ask);
        let sql = format!(
            "select {}, {rest} group by {} {having}",
            keys.join(", "),
            clause(kind, &keys)
        );
        let what = format!("seed {seed}: {sql}");
        let mut first: Option<QueryResult> = None;
        for executor in &executors {
            let found = query(&sql, &tables, executor).expect(&what);
            assert_eq!(rows(&found), expected, "{what}");
            assert_same_bits(first.get_or_insert(found.clone()), &found, &what);
        }
    }
}

#[test]
fn many_groups_are_partitioned_once_if_the_keys_allow_it() {
    let tables = items();
    let executors = executors();
    for (kind, keys, kept, anew) in [
        (0, &["some", "many"][..], 1, 1),
        (0, &["name", "few", "some"][..], 2, 1),
        (0, &["few", "many"][..], 0, 2),
        (1, &["some", "name"][..], 1, 2),
        (2, &["many", "name"][..], 1, 1),
    ] {
        let rest = "count(*), avg(v), count(distinct v), sum(f) from items";
        let sets = sets(kind, keys.len());
        let ask =
            |set: &[usize]| rows(&query(&of_set(keys, set, rest, ""), &tables, &executors[1]).expect("rows"));
        let expected = expected(keys, &sets, ask);
        let sql = format!(
            "select {}, {rest} group by {}",
            keys.join(", "),
            clause(kind, keys)
        );
        let mut first: Option<QueryResult> = None;
        for executor in &executors {
            let query = planned(&sql, &tables, executor).expect("a plan");
            let explain = query.explain();
            let found = query.run().expect("rows").rows;
            let explain = explain.to_string();
            assert_eq!(
                explain.matches("stay in their partitions").count(),
                kept,
                "{explain}"
            );
            assert_eq!(explain.matches("are partitioned anew").count(), anew, "{explain}");
            assert_same_bits(first.get_or_insert(found.clone()), &found, &sql);
        }
        let found = rows(&first.expect("rows"));
        // Sums of floats are not the same to the bit if they were added in another order.
        let exact =
            |rows: &[Row]| -> Vec<Row> { rows.iter().map(|row| row[..row.len() - 1].to_vec()).collect() };
        assert_eq!(exact(&found), exact(&expected), "{sql}");
    }
}

#[test]
fn an_order_and_a_limit_are_those_of_all_sets() {
    let tables = items();
    let answer = |sql: &str| rows(&query(sql, &tables, &executor(2)).expect(sql));
    let all = "select few, some, count(*) as n, grouping(few, some) from items group by rollup (few, some)";
    let mut expected = answer(all);
    let key = |row: &Row| match (&row[2], &row[1]) {
        (Cell::Int(n), Cell::Int(some)) => (-n, *some),
        (Cell::Int(n), _) => (-n, i64::MAX),
        other => panic!("{other:?}"),
    };
    expected.sort_by_key(key);
    assert_eq!(
        answer(&format!("{all} order by count(*) desc, some"))[..3],
        expected[..3]
    );
    assert_eq!(
        answer(&format!("{all} order by n desc, 2 limit 50 offset 3")),
        expected[3..53]
    );
    let total = answer(&format!("{all} order by grouping(few) desc limit 1"));
    assert_eq!(
        total,
        [[Cell::Null, Cell::Null, Cell::Int(150_000), Cell::Int(3)]]
    );
    let outer = answer(&format!("select count(*), sum(n) from ({all}) as q"));
    assert_eq!(outer[0][1], Cell::Int(3 * 150_000));
    let filtered = "select some, sum(n) from (select some, many, count(*) as n from items group by rollup (some, many)) as q where many is null group by some having sum(n) > 149999";
    assert_eq!(answer(filtered), [[Cell::Null, Cell::Int(150_000)]]);
}

#[test]
fn keys_of_other_sets_are_null_and_grouping_tells_them_from_values() {
    let tables = items();
    let answer = |sql: &str| rows(&query(sql, &tables, &executor(2)).expect(sql));
    let sql = "select few + 1, grouping(few), min(few) from items group by rollup (few) having few is null or few = 1";
    let row = |key: Cell, is_total: i64, least: i64| vec![key, Cell::Int(is_total), Cell::Int(least)];
    assert_eq!(answer(sql), [row(Cell::Int(2), 0, 1), row(Cell::Null, 1, 0)]);
    assert_eq!(
        answer("select count(*) from items where few > 5 group by rollup (few)"),
        [[Cell::Int(0)]],
        "the set without keys has its group even without rows"
    );
    assert_eq!(
        answer("select few, count(*) from items group by grouping sets ((), few, ()) having few is null"),
        [[Cell::Null, Cell::Int(150_000)], [Cell::Null, Cell::Int(150_000)]]
    );
}

#[test]
fn wrong_sets_are_refused_with_a_reason() {
    let tables = items();
    let error = |sql: &str| QueryPlanner::plan(sql, &tables).unwrap_err().to_string();
    let many: Vec<String> = (0..8).map(|n| format!("v + {n}")).collect();
    for (sql, reason) in [
        ("select v from items group by rollup (few)", "neither in GROUP BY"),
        (
            "select grouping(v) from items group by rollup (few)",
            "v in GROUPING is not in GROUP BY",
        ),
        (
            "select grouping() from items group by few",
            "GROUPING takes 1 to 31 keys, not 0",
        ),
        (
            "select grouping(few) filter (where v > 1) from items group by few",
            "FILTER of grouping",
        ),
        (
            "select grouping(distinct few) from items group by few",
            "DISTINCT in grouping",
        ),
        (
            "select grouping(few) from items",
            "GROUPING cannot stand in SELECT",
        ),
        (
            "select few from items where grouping(few) = 1",
            "GROUPING cannot stand in WHERE",
        ),
        (
            &format!("select 1 from items group by cube ({})", many.join(", ")),
            "GROUP BY of more than 128 sets",
        ),
    ] {
        assert!(error(sql).contains(reason), "{sql}: {}", error(sql));
    }
}
