//! Queries over queries, against the outer query over a table of the inner one's rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Schema};
use columnar::MemoryTable;
use query::{Catalog, QueryError, QueryPlanner, QueryResult, Work};

use crate::differential::generator::{Case, Random};
use crate::run::{Cell, assert_same_bits, catalog, executor, executors, planned, query, rows};

const DRAWN: u64 = 1_000;
/// Several ranges of partitions, and several slots.
const ROWS: i64 = 150_000;

fn over_the_result(outer: &str, result: QueryResult, work: &Work) -> Result<QueryResult, QueryError> {
    let table = MemoryTable::try_new("q", result.schema, result.batches).expect("one schema");
    query(
        &format!("select {}", outer.replace("{}", "q")),
        &catalog(Arc::new(table)),
        work,
    )
}

fn nested(outer: &str, inner: &str) -> String {
    format!("select {}", outer.replace("{}", &format!("({inner}) as q")))
}

/// What follows SELECT, with `{}` for the table.
fn outer(random: &mut Random, schema: &Schema) -> String {
    let fields = schema.fields();
    let is_alone = |name: &str| fields.iter().filter(|field| field.name() == name).count() == 1;
    let names: Vec<(String, &DataType)> = fields
        .iter()
        .filter(|field| is_alone(field.name()))
        .map(|field| (format!("\"{}\"", field.name()), field.data_type()))
        .collect();
    if names.is_empty() {
        return "count(*) from {}".to_owned();
    }
    let condition = match random.below(3) {
        0 => format!(" where {} is not null", names[random.below(names.len())].0),
        _ => String::new(),
    };
    let (first, _) = &names[random.below(names.len())];
    let (second, data_type) = &names[random.below(names.len())];
    let end = match random.below(4) {
        0 => " order by 1",
        1 => " order by 1 desc limit 3",
        2 => " limit 2 offset 1",
        _ => "",
    };
    if random.below(4) == 0 {
        return format!("{second}, {first} from {{}}{condition}{end}");
    }
    let value = match data_type {
        data_type if data_type.is_integer() => format!("sum({second})"),
        DataType::Boolean => format!("count({second})"),
        _ => format!("max({second})"),
    };
    match random.below(5) {
        0 => format!("count(*), {value} from {{}}{condition}"),
        1 => format!("{first}, count(*), {value} from {{}}{condition} group by 1 having count(*) > 1{end}"),
        _ => format!("{value}, {first} from {{}}{condition} group by {first}{end}"),
    }
}

#[test]
fn a_drawn_query_over_a_drawn_query_has_the_rows_of_one_over_its_result() {
    let executors = executors();
    let mut answered = 0;
    for seed in 0..DRAWN {
        let case = Case::generate(seed);
        let tables = catalog(case.source());
        let Ok(result) = query(&case.sql, &tables, &executors[0]) else {
            continue;
        };
        let outer = outer(&mut Random(seed), &result.schema);
        let sql = nested(&outer, &case.sql);
        let what = format!("seed {seed}: {sql}");
        let expected = over_the_result(&outer, result, &executors[0]);
        for executor in &executors {
            match (&expected, query(&sql, &tables, executor)) {
                (Ok(expected), Ok(found)) => assert_eq!(rows(&found), rows(expected), "{what}"),
                (Err(expected), Err(found)) => {
                    assert_eq!(found.to_string(), expected.to_string(), "{what}");
                }
                (expected, found) => panic!("{what}\nexpected {expected:?}\nfound {found:?}"),
            }
        }
        answered += u64::from(expected.is_ok());
    }
    assert!(answered > DRAWN * 8 / 10, "{answered}");
}

/// Keys of every kind: many numbers, few numbers, and texts, some of them NULL. Long texts have no
/// fixed width.
pub(crate) fn items() -> Catalog {
    let number =
        |of: fn(i64) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..ROWS).map(of))) };
    let text = |n: i64| match n % 7_001 {
        odd if odd % 2 == 1 => format!("a name that fits no word {odd}"),
        even => format!("t{even}"),
    };
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS).map(text)));
    let sparse = (0..ROWS).map(|n| (n % 3 == 0).then(|| text(n)));
    let sparse: ArrayRef = Arc::new(sparse.collect::<StringArray>());
    let columns = [
        ("sparse", sparse),
        ("many", number(|n| n * 7 % 30_011)),
        ("some", number(|n| n * n % 5_003)),
        ("few", number(|n| n % 3)),
        ("name", texts),
        ("v", number(|n| n % 1_000)),
        (
            "f",
            Arc::new(Float64Array::from_iter_values((0..ROWS).map(|n| n as f64 * 0.37))),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let table = MemoryTable::try_new("items", batch.schema(), [batch]).expect("one batch");
    catalog(Arc::new(table))
}

#[test]
fn groups_of_groups_stay_in_their_partitions_where_the_keys_allow_it() {
    let kept = "groups that stay in their partitions";
    let anew = "groups that are partitioned anew";
    let of_rows = "q: rows";
    let cases = [
        (
            "some, sum(n), avg(s) from {} group by some",
            "some, many, count(*) as n, sum(v) as s",
            "many, some",
            kept,
        ),
        (
            "name, count(*) from {} group by name",
            "many, name, min(v) as v",
            "many, name",
            kept,
        ),
        (
            "name, count(*) from {} group by name",
            "few, name, min(v) as v",
            "name, few",
            kept,
        ),
        (
            "name, some, count(*) from {} group by some, name",
            "few, name, some",
            "name, few, some",
            kept,
        ),
        (
            "some, sum(f) from {} where n > 1 group by some",
            "some, many, count(*) as n, max(f) as f",
            "many, some",
            kept,
        ),
        (
            "few, sum(n) from {} group by few",
            "few, many, count(*) as n",
            "few, many",
            anew,
        ),
        (
            "n, count(*) from {} group by n order by n",
            "many, count(*) as n",
            "many",
            anew,
        ),
        ("sum(n), max(many) from {}", "many, count(*) as n", "many", anew),
        (
            "many + 1, count(*) from {} group by many + 1",
            "many, some",
            "many, some",
            anew,
        ),
        (
            "n, sum(f) from {} group by n",
            "many, count(*) as n, max(f) as f",
            "many",
            of_rows,
        ),
        (
            "n, count(*) from {} group by n",
            "many, count(*) as n",
            "many limit 1000",
            of_rows,
        ),
        (
            "n, count(*) from {} group by n",
            "many, count(*) as n",
            "many order by 2, 1",
            of_rows,
        ),
        (
            "many from {} where n > 4 limit 10 offset 3",
            "many, count(*) as n",
            "many",
            of_rows,
        ),
    ];
    let tables = items();
    let executors = executors();
    for (outer, items, keys, way) in cases {
        let inner = format!("select {items} from items group by {keys}");
        let sql = nested(outer, &inner);
        let inner = query(&inner, &tables, &executors[0]).expect("an answer");
        let expected = over_the_result(outer, inner, &executors[0]).expect("an answer");
        assert!(expected.num_rows() > 0, "{sql}");
        let mut first: Option<QueryResult> = None;
        for executor in &executors {
            let query = planned(&sql, &tables, executor).expect("a plan");
            let explain = query.explain();
            let found = query.run().expect("an answer").rows;
            let explain = explain.to_string();
            assert!(explain.contains(way), "{sql}\n{explain}");
            let first = first.get_or_insert_with(|| found.clone());
            assert_same_bits(first, &found, &sql);
        }
        if !outer.contains("sum(f)") {
            assert_same_bits(&first.expect("an answer"), &expected, &sql);
        }
    }
}

#[test]
fn three_levels_share_one_split() {
    let tables = items();
    let inner = "select some, many, few, count(*) as n from items group by some, many, few";
    let middle = format!("select some, few, sum(n) as n from ({inner}) as a group by some, few");
    let sql = format!("select some, max(n), count(*) from ({middle}) as b group by some");
    let executors = executors();
    let query_of = |executor| planned(&sql, &tables, executor).expect("a plan");
    let query = query_of(&executors[1]);
    let explain = query.explain();
    let found = query.run().expect("an answer").rows;
    let explain = explain.to_string();
    assert_eq!(
        explain.matches("stay in their partitions").count(),
        2,
        "{explain}"
    );
    let serial = query_of(&executors[0]).run().expect("an answer").rows;
    assert_same_bits(&found, &serial, &sql);
    assert_eq!(found.num_rows(), 2_502, "the squares modulo a prime");
}

#[test]
fn distinct_values_of_all_rows_are_counted_as_groups_of_all_workers() {
    let tables = items();
    let executors = executors();
    let of_items = "(select max(v) as v, name from items group by some, name) as q";
    for (value, rest, having) in [
        ("many", "from items", ""),
        ("name", "from items where v < 300", ""),
        // NULL is no value.
        ("sparse", "from items", ""),
        ("f", "from items where v < 0", ""),
        ("v", "from items", "having count(distinct v) > 1000"),
        ("v", "from items", "having count(distinct v) > 999"),
        ("v + 1", "from items where few = 1", ""),
        ("name", &format!("from {of_items}"), ""),
    ] {
        let sql = format!("select count(distinct {value}) + 1, count(distinct {value}) {rest} {having}");
        let groups = format!("select {value} {rest} group by {value} having count({value}) > 0");
        let groups = query(&groups, &tables, &executors[0]).expect("groups");
        let count = groups.batches.iter().map(RecordBatch::num_rows).sum::<usize>() as i64;
        let expected = match having.ends_with("1000") {
            true => vec![],
            false => vec![vec![Cell::Int(count + 1), Cell::Int(count)]],
        };
        for executor in &executors {
            let found = query(&sql, &tables, executor).expect("a count");
            assert_eq!(rows(&found), expected, "{sql}");
        }
        let plan = QueryPlanner::plan(&sql, &tables).expect("a plan").to_string();
        assert!(plan.contains("scan distinct values"), "{plan}");
    }
    let others = [
        "select count(distinct v), count(distinct few) from items",
        "select count(distinct v), count(*) from items",
        "select few, count(distinct v) from items group by few",
    ];
    for sql in others {
        let plan = QueryPlanner::plan(sql, &tables).expect("a plan").to_string();
        assert!(!plan.contains("distinct values"), "{plan}");
    }
}

#[test]
fn what_no_query_above_reads_is_not_computed() {
    let tables = items();
    let inner =
        "select some, sum(v * 1000000000000000) as s, min(f) as f, count(*) as n from items group by some";
    let sql = format!("select count(*), sum(n) from ({inner} having count(*) > 0) as q");
    let query_of = planned(&sql, &tables, &executor(2)).expect("a plan");
    let explain = query_of.explain();
    let found = rows(&query_of.run().expect("nothing that overflows is read").rows);
    assert_eq!(found, [[Cell::Int(2_502), Cell::Int(150_000)]]);
    let explain = explain.to_string();
    assert!(
        explain.contains("aggregate count(*)\n") && explain.contains("reads some\n"),
        "{explain}"
    );
    let error = query(inner, &tables, &executor(2)).unwrap_err().to_string();
    assert!(error.contains("overflow"), "{error}");
}

#[test]
fn rows_of_a_query_in_from_are_computed_where_they_are_read() {
    let tables = items();
    let sql = "select sum(w) from (select v * 2 as w, few from items where many > 5) as q where few = 1";
    let plan = QueryPlanner::plan(sql, &tables).expect("a plan").to_string();
    assert!(plan.starts_with("scan items: 150000 rows"), "{plan}");
    assert!(plan.contains("sum(v * 2)") && !plan.contains("q:"), "{plan}");
    let work = executor(2);
    let plain = "select sum(v * 2) from items where many > 5 and few = 1";
    let answer = |sql: &str| rows(&query(sql, &tables, &work).expect("an answer"));
    assert_eq!(answer(sql), answer(plain));
}

#[test]
fn expressions_do_not_double_with_each_level() {
    let mut sql = "select v from items".to_owned();
    for _ in 0..12 {
        sql = format!("select v + v - v as v from ({sql}) as q");
    }
    let sql = format!("select sum(v) from ({sql}) as q");
    let tables = items();
    let answer = |sql: &str| rows(&query(sql, &tables, &executor(2)).expect("an answer"));
    assert_eq!(answer(&sql), answer("select sum(v) from items"));
    let names: Vec<String> = (1..40)
        .map(|level| format!("q{level} as (select v from q{})", level - 1))
        .collect();
    let deep = format!(
        "with q0 as (select v from items), {} select v from q39",
        names.join(", ")
    );
    let error = QueryPlanner::plan(&deep, &tables).unwrap_err().to_string();
    assert!(error.contains("nested more than 32 times"), "{error}");
}

#[test]
fn names_of_with_hide_tables_and_see_only_those_before() {
    let tables = items();
    let answer = |sql: &str| query(sql, &tables, &executor(2)).map(|result| rows(&result));
    let expected = answer("select count(*) from items where v > 990").expect("an answer");
    for sql in [
        "with items as (select * from items where v > 990) select count(*) from items",
        "with a as (select * from items where v > 900), b as (select * from a where v > 990) select count(*) from b",
        "with a as (select 1 as x from items), a as (select v from items where v > 990) select count(*) from a as c",
        "select n from (with a as (select v from items) select count(*) as n from a where v > 990) as q",
    ] {
        assert_eq!(answer(sql).expect(sql), expected, "{sql}");
    }
    let error = answer("with a as (select * from b), b as (select * from items) select * from a");
    assert!(matches!(error, Err(QueryError::UnknownTable { name, .. }) if name == "b"));
    let error = answer("select v from (select v as w from items) as q").unwrap_err();
    assert!(matches!(&error, QueryError::UnknownColumn { candidates, .. } if candidates == &["w"]));
    let error = answer("select v from (select v, many as v from items) as q").unwrap_err();
    assert!(error.to_string().contains("2 columns are named v"), "{error}");
}

#[test]
fn a_nested_query_is_bounded_by_its_quota_and_gives_all_of_it_back() {
    let tables = items();
    let inner = "(select many, name, count(*) as n from items group by many, name) as q";
    for sql in [
        format!("select name, sum(n) from {inner} group by name"),
        format!("select n, count(*) from {inner} group by n"),
        format!("select * from {inner} limit 1000000"),
        "select many, name, sum(v) from items group by rollup (many, name)".to_owned(),
        "select many, name, sum(v) from items group by cube (many, name) order by 3 limit 5".to_owned(),
    ] {
        let run = |bytes: usize| {
            let query = planned(&sql, &tables, &executor(2)).expect("a plan");
            query.memory_limit(bytes).run()
        };
        let plenty = run(1 << 30).expect("an answer");
        let quota = plenty.memory.expect("a quota");
        assert_eq!(quota.used(), 0, "{sql}");
        assert!(quota.peak() > 1 << 20, "{sql}: {}", quota.peak());
        let error = run(quota.peak() / 3).unwrap_err();
        assert!(matches!(error, QueryError::Quota(_)), "{sql}: {error}");
    }
}
