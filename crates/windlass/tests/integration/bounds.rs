//! What a query may take: memory and time.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use crate::program::{Folder, Outcome};

fn names() -> Folder {
    let folder = Folder::new();
    let name = |id: i64| format!("a name that is long enough, number {id}");
    let columns: [(&str, ArrayRef); 2] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..50_000))),
        (
            "name",
            Arc::new(StringArray::from_iter_values((0..50_000).map(name))),
        ),
    ];
    folder.write_parquet(
        "t.parquet",
        &RecordBatch::try_from_iter(columns).expect("two columns"),
    );
    let mut csv = String::from("id,name\n");
    for id in 0..50_000 {
        csv.push_str(&format!("{id},\"{}\"\n", name(id)));
    }
    folder.write("t.csv", csv);
    folder
}

const QUERIES: [&str; 3] = [
    "select name, count(*) as n from t group by name order by name limit 1",
    "select name, id from t order by name limit 1",
    "select max(name) as name, count(*) as n from t",
];

fn query(folder: &Folder, file: &str, memory: &str, sql: &str) -> Outcome {
    let table = format!("t={file}");
    folder.query([
        "--table",
        &table,
        "--threads",
        "2",
        "--memory",
        memory,
        "--format",
        "csv",
        sql,
    ])
}

#[test]
fn a_quota_that_is_too_small_is_an_error_that_names_the_limit_and_what_was_asked_for() {
    let folder = names();
    for file in ["t.parquet", "t.csv"] {
        for sql in QUERIES {
            for (memory, limit) in [("1kB", "of 1000 in use"), ("100KiB", "of 102400 in use")] {
                let outcome = query(&folder, file, memory, sql);
                let parts = [
                    "query t is over its memory quota: it asked for ",
                    " bytes with ",
                    limit,
                    "hint: ",
                    "--memory",
                ];
                outcome.assert_error(1, &parts);
            }
        }
    }
}

#[test]
fn a_quota_that_suffices_changes_no_answer_and_is_told_by_statistics() {
    let folder = names();
    for file in ["t.parquet", "t.csv"] {
        let table = format!("t={file}");
        for sql in QUERIES {
            let unbounded = folder.query(["--table", &table, "--format", "csv", sql]).answer();
            assert_eq!(unbounded.lines().count(), 2);
            assert_eq!(
                query(&folder, file, "1GiB", sql).answer(),
                unbounded,
                "{file}: {sql}"
            );
        }
        let outcome = folder.query(["--table", &table, "--memory", "64MiB", "--stats", QUERIES[0]]);
        let memory = outcome
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("memory: at most "));
        let (peak, limit) = memory
            .and_then(|text| text.split_once(" of "))
            .expect("a line for memory");
        assert_eq!(limit, "67108864 bytes");
        let peak: usize = peak.parse().expect("a number");
        assert!((1..=64 << 20).contains(&peak), "{peak}");
    }
}

#[test]
fn a_timeout_that_passes_is_an_error_and_one_that_does_not_is_none() {
    let folder = names();
    let long = [
        "--tpch",
        "40",
        "--threads",
        "1",
        "--timeout",
        "50ms",
        "select sum(o_totalprice) from orders",
    ];
    folder
        .query(long)
        .assert_error(1, &["the query did not finish before its deadline"]);
    // The types of a CSV file are inferred before the query runs.
    let at_once = folder.query(["--table", "t=t.csv", "--timeout", "1ms", QUERIES[2]]);
    at_once.assert_error(1, &["the query did not finish before its deadline"]);
    for file in ["t=t.parquet", "t=t.csv"] {
        let outcome = folder.query(["--table", file, "--timeout", "1h", "--format", "csv", QUERIES[2]]);
        assert_eq!(outcome.answer().lines().count(), 2);
    }
}

#[test]
fn help_names_both_bounds_and_every_aggregate_function() {
    let output = crate::program::program()
        .args(["query", "--help"])
        .output()
        .expect("the program starts");
    let help = Outcome::of(&output).answer();
    for part in ["--memory <SIZE>", "256MiB", "--timeout <TIME>", "30s"] {
        assert!(help.contains(part), "{part} in {help}");
    }
    for name in query::AggregateFunction::names() {
        assert!(help.contains(&format!("{name}(")), "{name} in {help}");
    }
}
