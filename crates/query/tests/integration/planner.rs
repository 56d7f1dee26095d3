//! What the planner makes of a query, and what it refuses by name and place.

mod depth;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_empty_array};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use columnar::MemoryTable;
use query::{Catalog, Position, QueryError, QueryPlan, QueryPlanner};

fn tables() -> Catalog {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let schema = Arc::new(Schema::new(vec![
        field("id", DataType::Int64),
        field("small", DataType::Int32),
        field("price", DataType::Decimal128(15, 2)),
        field("discount", DataType::Decimal128(15, 2)),
        field("weight", DataType::Float64),
        field("Name", DataType::Utf8),
        field("day", DataType::Date32),
        field("moment", DataType::Timestamp(TimeUnit::Microsecond, None)),
        field("done", DataType::Boolean),
    ]));
    let columns: Vec<ArrayRef> = schema
        .fields()
        .iter()
        .map(|field| new_empty_array(field.data_type()))
        .collect();
    let batch = RecordBatch::try_new(schema.clone(), columns).unwrap();
    let mut tables = Catalog::new();
    tables
        .register(Arc::new(MemoryTable::try_new("Items", schema, [batch]).unwrap()))
        .unwrap();
    tables
}

fn plan(sql: &str) -> QueryPlan {
    QueryPlanner::plan(sql, &tables()).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn error(sql: &str) -> QueryError {
    match QueryPlanner::plan(sql, &tables()) {
        Ok(plan) => panic!("{sql} was planned:\n{plan}"),
        Err(error) => error,
    }
}

fn filters(condition: &str) -> Vec<String> {
    plan(&format!("select id from items where {condition}"))
        .filters()
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn output_type(expression: &str) -> DataType {
    plan(&format!("select {expression} from items"))
        .schema()
        .field(0)
        .data_type()
        .clone()
}

fn names(sql: &str) -> Vec<String> {
    plan(sql)
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect()
}

fn at(line: u64, column: u64) -> Option<Position> {
    Some(Position { line, column })
}

#[test]
fn names_are_found_whatever_their_case_and_keep_their_own() {
    assert_eq!(
        names("SELECT ID, name, NAME as n FROM iTeMs"),
        ["id", "Name", "n"]
    );
    assert_eq!(names("select i.id, \"Name\" from items as i"), ["id", "Name"]);
    assert!(matches!(
        error("select \"name\" from items"),
        QueryError::UnknownColumn { .. }
    ));
}

#[test]
fn a_star_is_all_columns_in_order() {
    let all = [
        "id", "small", "price", "discount", "weight", "Name", "day", "moment", "done",
    ];
    assert_eq!(names("select * from items"), all);
    assert_eq!(names("select items.*, id as again from items")[9], "again");
}

#[test]
fn a_plan_reads_only_the_columns_it_needs() {
    assert_eq!(plan("select count(*) from items").columns(), [0usize; 0]);
    assert_eq!(
        plan("select id from items where price > 1 order by day").columns(),
        [0, 2, 6]
    );
    assert_eq!(
        plan("select small, sum(price) from items group by small having max(weight) > 1").columns(),
        [1, 2, 4]
    );
}

#[test]
fn only_the_top_of_a_conjunction_is_split() {
    assert_eq!(
        filters("id > 1 and (price < 2 or small = 3) and not (id = 4 and small = 5)").len(),
        3
    );
    assert_eq!(filters("id > 1 or price < 2"), ["id > 1 or price < 2.00"]);
    assert_eq!(
        filters("day between date '2020-01-01' and date '2020-02-01'").len(),
        2
    );
}

#[test]
fn like_minds_the_case_and_ilike_does_not() {
    assert_eq!(filters("name like 'a%'"), ["Name like 'a%'"]);
    assert_eq!(filters("name ilike 'a%'"), ["Name ilike 'a%'"]);
    assert_eq!(filters("name not like 'a%'"), ["not Name like 'a%'"]);
    assert_eq!(filters("name not ilike 'a%'"), ["not Name ilike 'a%'"]);
}

#[test]
fn dates_and_intervals_are_computed_when_the_query_is_planned() {
    assert_eq!(
        filters("day <= date '1998-12-01' - interval '90' day"),
        ["day <= date '1998-09-02'"]
    );
    assert_eq!(
        filters("day < date '1994-01-31' + interval '1' month"),
        ["day < date '1994-02-28'"]
    );
    assert_eq!(
        filters("day < date '1994-01-01' + interval '1' year"),
        ["day < date '1995-01-01'"]
    );
    assert_eq!(
        filters("day = date '2024-03-01' - 1"),
        ["day = date '2024-02-29'"]
    );
    assert_eq!(filters("date '2024-03-01' - date '2024-02-01' = id"), ["29 = id"]);
}

#[test]
fn a_text_is_read_as_what_it_is_compared_with() {
    assert_eq!(filters("day >= '1994-01-01'"), ["day >= date '1994-01-01'"]);
    assert_eq!(filters("'12' = id"), ["12 = id"]);
    assert_eq!(filters("price in ('1.50', 2)"), ["price in (1.50, 2.00)"]);
    let QueryError::TypeMismatch {
        expression, position, ..
    } = error("select id from items where day > 'soon'")
    else {
        panic!("a type mismatch");
    };
    assert_eq!((expression.as_str(), position), ("'soon'", at(1, 28)));
}

#[test]
fn constants_take_the_type_of_their_column_where_that_is_exact() {
    assert_eq!(
        filters("price > 45 and discount = 0.05"),
        ["price > 45.00", "discount = 0.05"]
    );
    assert_eq!(
        filters("discount between 0.06 - 0.01 and 0.06 + 0.01"),
        ["discount >= 0.05", "discount <= 0.07"]
    );
    assert_eq!(filters("small < 2.5"), ["small < 2.5"]);
    assert_eq!(filters("small = 3000000000"), ["small = 3000000000"]);
}

#[test]
fn results_have_the_types_of_exact_arithmetic() {
    assert_eq!(output_type("small + 1"), DataType::Int64);
    assert_eq!(output_type("price * (1 - discount)"), DataType::Decimal128(31, 4));
    assert_eq!(
        output_type("sum(price * (1 - discount) * (1 + discount))"),
        DataType::Decimal128(38, 6)
    );
    assert_eq!(output_type("price / 2"), DataType::Float64);
    assert_eq!(output_type("weight * price"), DataType::Float64);
    assert_eq!(output_type("avg(id)"), DataType::Float64);
    assert_eq!(output_type("sum(small)"), DataType::Int64);
    assert_eq!(output_type("0.1 + 0.2"), DataType::Decimal128(2, 1));
    assert_eq!(output_type("day + interval '1' day"), DataType::Date32);
    assert_eq!(
        output_type("moment - interval '1' hour"),
        DataType::Timestamp(TimeUnit::Microsecond, None)
    );
    assert_eq!(output_type("max(name)"), DataType::Utf8);
}

#[test]
fn order_and_groups_take_positions_names_and_expressions() {
    for order in ["2 desc", "total desc", "sum(price) desc"] {
        let text = plan(&format!(
            "select small, sum(price) as total from items group by 1 order by {order}"
        ))
        .to_string();
        assert!(
            text.contains("group by small\n") && text.contains("order by sum(price) desc\n"),
            "{text}"
        );
    }
    let text = plan("select id + 1 as next, count(*) from items group by next").to_string();
    assert!(text.contains("group by id + 1\n"), "{text}");
    let text = plan("select (id + 1) * 2 from items group by id + 1").to_string();
    assert!(text.contains("select (id + 1) * 2"), "{text}");
}

#[test]
fn nulls_are_ordered_as_the_largest_values_unless_the_query_says_otherwise() {
    let text = plan("select id from items order by id, small desc, day nulls first, done desc nulls last")
        .to_string();
    assert!(
        text.contains("order by id, small desc, day nulls first, done desc nulls last\n"),
        "{text}"
    );
}

#[test]
fn the_plan_shows_its_steps_and_their_estimates() {
    let text = plan("select id from items where price > 2 and day = '2020-01-01' and 1 / id > 0 limit 3")
        .to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "scan Items; reads id, price, day");
    assert!(
        lines[2]
            .trim_start()
            .starts_with("day = date '2020-01-01'  [estimated 5.0 %]"),
        "{text}"
    );
    assert!(
        lines[4].contains("1 / id > 0  [estimated") && lines[4].contains("can fail: keeps its place"),
        "{text}"
    );
    assert_eq!(lines.last(), Some(&"limit 3"));
}

#[test]
fn a_name_that_is_not_there_is_an_error_with_those_that_are() {
    let QueryError::UnknownTable {
        name,
        candidates,
        position,
    } = error("select 1\nfrom orders")
    else {
        panic!("an unknown table");
    };
    assert_eq!(
        (name.as_str(), candidates, position),
        ("orders", vec!["Items".to_owned()], at(2, 6))
    );

    let QueryError::UnknownColumn {
        name,
        candidates,
        position,
    } = error("select id,\n  prize from items")
    else {
        panic!("an unknown column");
    };
    assert_eq!(
        (name.as_str(), candidates[0].as_str(), position),
        ("prize", "price", at(2, 3))
    );

    let unknown = error("select o.id from items i");
    assert!(
        matches!(&unknown, QueryError::UnknownTable { name, .. } if name == "o"),
        "{unknown}"
    );

    let QueryError::UnknownFunction { name, position, .. } = error("select id, mode(price) from items")
    else {
        panic!("an unknown function");
    };
    assert_eq!((name.as_str(), position), ("mode", at(1, 12)));
}

#[test]
fn operators_refuse_types_they_do_not_take() {
    for sql in [
        "select name + 1 from items",
        "select id from items where day > 5",
        "select id from items where id",
        "select id from items where not price",
        "select sum(name) from items",
        "select avg(day) from items",
        "select id from items where id like 'a%'",
        "select day + moment from items",
        "select id from items where name = 1",
        "select id from items where done = 'perhaps'",
        "select id from items where day + interval '1' hour > day",
    ] {
        let error = error(sql);
        assert!(
            matches!(
                &error,
                QueryError::TypeMismatch {
                    position: Some(_),
                    ..
                }
            ),
            "{sql}: {error:?}"
        );
    }
}

#[test]
fn what_is_outside_the_subset_is_refused_by_name_and_place() {
    let cases = [
        ("select distinct id from items", "DISTINCT", at(1, 8)),
        ("select id from items join items as b on true", "JOIN", at(1, 22)),
        (
            "select id from items, items as b",
            "more than one table in FROM",
            at(1, 23),
        ),
        (
            "select id from (select id from items) as b (a)",
            "names for a table's columns",
            None,
        ),
        (
            "select id from lateral (select id from items) as b",
            "LATERAL",
            at(1, 16),
        ),
        (
            "select id from items where id in (select 1 from items)",
            "a sub-query",
            at(1, 28),
        ),
        (
            "select id from items where exists (select 1 from items)",
            "EXISTS",
            None,
        ),
        (
            "select id from items union all select id from items",
            "UNION",
            at(1, 22),
        ),
        (
            "with recursive b as (select id from items) select id from b",
            "RECURSIVE",
            at(1, 6),
        ),
        (
            "with b (a) as (select id from items) select a from b",
            "names for a table's columns",
            None,
        ),
        (
            "select sum(id) over (partition by small) from items",
            "the window function sum",
            at(1, 8),
        ),
        ("select sum(distinct id) from items", "DISTINCT in sum", at(1, 8)),
        (
            "select sum(id) filter (where id > 1) from items",
            "FILTER of sum",
            at(1, 8),
        ),
        ("select case when id > 1 then 2 end from items", "CASE", at(1, 8)),
        ("select cast(id as text) from items", "CAST", None),
        ("select id::text from items", "CAST", None),
        ("select name || 'x' from items", "the operator ||", at(1, 8)),
        ("select extract(year from day) from items", "EXTRACT", None),
        ("select 1", "SELECT without FROM", at(1, 1)),
        ("select from items", "SELECT without columns", at(1, 1)),
        ("select id from items fetch first 3 rows only", "FETCH", at(1, 22)),
        ("select id from items for update", "FOR", at(1, 22)),
        ("select id from items tablesample (10)", "TABLESAMPLE", at(1, 22)),
        ("select * exclude (id) from items", "EXCLUDE", None),
        ("select id from items qualify id > 1", "QUALIFY", at(1, 22)),
        (
            "select id from items window w as (order by id)",
            "WINDOW",
            at(1, 22),
        ),
        ("insert into items values (1)", "the statement INSERT", at(1, 1)),
        (
            "select id from items; select id from items",
            "more than one statement",
            at(1, 23),
        ),
        (
            "select id from db.items",
            "the qualified table name db.items",
            at(1, 16),
        ),
        ("values (1)", "VALUES", at(1, 1)),
        ("select id from items limit 3 by id", "LIMIT BY", at(1, 22)),
        (
            "select id from items where id = any (array[1])",
            "a sub-query",
            None,
        ),
        ("select id from items where done is true", "IS TRUE", None),
    ];
    for (sql, construct, position) in cases {
        match error(sql) {
            QueryError::Unsupported {
                construct: found,
                position: place,
            } => {
                assert!(found.starts_with(construct), "{sql}: {found}");
                assert!(place.is_some(), "{sql}: {found} has no place");
                if position.is_some() {
                    assert_eq!(place, position, "{sql}");
                }
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn a_query_that_contradicts_itself_is_refused() {
    let cases = [
        (
            "select id, sum(price) from items",
            "id is neither in GROUP BY",
            at(1, 8),
        ),
        (
            "select * from items group by id",
            "small is neither in GROUP BY",
            None,
        ),
        (
            "select id from items where sum(price) > 1",
            "cannot stand in WHERE",
            at(1, 28),
        ),
        (
            "select sum(sum(price)) from items",
            "cannot stand in the argument",
            at(1, 12),
        ),
        (
            "select sum(price) from items group by 1",
            "cannot stand in GROUP BY",
            at(1, 8),
        ),
        (
            "select id from items order by 2",
            "ORDER BY 2 is not a column of the result",
            at(1, 31),
        ),
        (
            "select id from items group by 0",
            "GROUP BY 0 is not a column of the result",
            at(1, 31),
        ),
        (
            "select id from items limit -1",
            "LIMIT takes a whole number",
            None,
        ),
        (
            "select id from items limit id",
            "LIMIT takes a whole number",
            at(1, 28),
        ),
        ("select sum(id, small) from items", "takes one argument", at(1, 8)),
        (
            "select id from items where day > date '1998-01-01' + interval 'a while'",
            "is not an interval",
            at(1, 63),
        ),
    ];
    for (sql, part, position) in cases {
        match error(sql) {
            QueryError::Invalid {
                message,
                position: place,
            } => {
                assert!(message.contains(part), "{sql}: {message}");
                assert!(position.is_none() || place == position, "{sql}: {place:?}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[test]
fn text_that_is_not_sql_is_an_error_with_its_place() {
    for (sql, position) in [
        ("select id from", None),
        ("select id\nfrom items where id = = 2", at(2, 23)),
        ("", None),
    ] {
        match error(sql) {
            QueryError::Parse { position: place, .. } => {
                assert!(position.is_none() || place == position, "{sql}: {place:?}")
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
    assert!(matches!(
        error("select 'abc from items"),
        QueryError::Parse {
            position: Some(_),
            ..
        }
    ));
}

#[test]
fn numbers_are_as_exact_as_they_are_written() {
    assert_eq!(
        output_type("123456789012345678901234567890.12"),
        DataType::Decimal128(32, 2)
    );
    assert_eq!(output_type("-9223372036854775808"), DataType::Int64);
    assert_eq!(output_type("9223372036854775808"), DataType::Decimal128(19, 0));
    assert_eq!(output_type("1e3"), DataType::Float64);
    let digits = "9".repeat(80);
    assert!(matches!(
        error(&format!("select {digits} from items")),
        QueryError::Invalid { .. }
    ));
}
