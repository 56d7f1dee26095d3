//! What is written when all goes well.

use std::process::Stdio;
use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Schema;

use crate::program::{Folder, Outcome, program};

fn sample() -> Folder {
    let folder = Folder::new();
    let city: ArrayRef = Arc::new(StringArray::from(vec![
        Some("Ulm"),
        Some("Biel, Bienne"),
        None,
        Some("NULL"),
    ]));
    let area = Decimal128Array::from(vec![
        Some(11_869),
        None,
        Some(-5),
        Some(12_345_678_901_234_567_890_123_456),
    ]);
    let area: ArrayRef = Arc::new(area.with_precision_and_scale(38, 2).unwrap());
    let mean: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(0.1),
        Some(f64::NAN),
        None,
        Some(f64::NEG_INFINITY),
    ]));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("city", city, true),
        ("area", area, true),
        ("mean", mean, true),
    ]);
    folder.write_parquet("t.parquet", &batch.unwrap());
    folder
}

fn answer(format: &str) -> String {
    sample()
        .query(["--table", "t=t.parquet", "--format", format, "select * from t"])
        .answer()
}

#[test]
fn a_table_is_aligned_and_tells_null_from_text() {
    assert_eq!(
        answer("table"),
        concat!(
            " city         |                        area | mean\n",
            "--------------+-----------------------------+------\n",
            " Ulm          |                      118.69 |  0.1\n",
            " Biel, Bienne |                        NULL |  NaN\n",
            " NULL         |                       -0.05 | NULL\n",
            " \"NULL\"       | 123456789012345678901234.56 | -inf\n",
            "(4 rows)\n"
        )
    );
}

#[test]
fn csv_quotes_where_it_must_and_leaves_null_empty() {
    assert_eq!(
        answer("csv"),
        "city,area,mean\nUlm,118.69,0.1\n\"Biel, Bienne\",,NaN\n,-0.05,\nNULL,123456789012345678901234.56,-inf\n"
    );
}

#[test]
fn json_is_one_array_with_exact_decimals() {
    assert_eq!(
        answer("json"),
        concat!(
            "[\n",
            "{\"city\":\"Ulm\",\"area\":118.69,\"mean\":0.1},\n",
            "{\"city\":\"Biel, Bienne\",\"area\":null,\"mean\":\"NaN\"},\n",
            "{\"city\":null,\"area\":-0.05,\"mean\":null},\n",
            "{\"city\":\"NULL\",\"area\":123456789012345678901234.56,\"mean\":\"-Infinity\"}\n",
            "]\n"
        )
    );
}

#[test]
fn tables_without_rows_and_without_columns_have_answers() {
    let folder = Folder::new();
    folder.write("empty.csv", "");
    folder.write("header.csv", "a,b\n");
    folder.write_parquet("none.parquet", &RecordBatch::new_empty(Arc::new(Schema::empty())));
    let no_rows =
        RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(Vec::<i64>::new())) as _)]).unwrap();
    folder.write_parquet("rows.parquet", &no_rows);
    for file in ["empty.csv", "header.csv", "none.parquet", "rows.parquet"] {
        let table = format!("t={file}");
        let count = folder.query([
            "--table",
            &table,
            "--format",
            "csv",
            "select count(*) as n from t",
        ]);
        assert_eq!(count.answer(), "n\n0\n", "{file}");
        let all = folder.query(["--table", &table, "--format", "json", "select * from t"]);
        assert_eq!(all.answer(), "[]\n", "{file}");
    }
    let sums = folder.query([
        "--table",
        "t=rows.parquet",
        "--format",
        "csv",
        "select sum(a) as s, count(a) as n from t",
    ]);
    assert_eq!(sums.answer(), "s,n\n,0\n");
    let groups = folder.query([
        "--table",
        "t=header.csv",
        "--format",
        "csv",
        "select a, count(*) as n from t group by a",
    ]);
    assert_eq!(groups.answer(), "a,n\n");
}

#[test]
fn generated_tables_need_no_file() {
    let folder = Folder::new();
    for (table, rows) in [("lineitem", "60175"), ("orders", "15000"), ("customer", "1500")] {
        let sql = format!("select count(*) as n from {table}");
        let outcome = folder.query(["--tpch", "0.01", "--format", "csv", &sql]);
        assert_eq!(outcome.answer(), format!("n\n{rows}\n"));
    }
}

#[test]
fn what_is_explained_and_counted_goes_to_stderr() {
    let folder = Folder::new();
    let sql = "select count(*) as n from lineitem where l_quantity < 10";
    let outcome = folder.query([
        "--tpch",
        "0.01",
        "--threads",
        "2",
        "--explain",
        "--stats",
        "--format",
        "csv",
        sql,
    ]);
    assert!(outcome.stderr.contains("l_quantity < 10"), "{outcome:?}");
    assert!(
        outcome.stderr.contains("estimated") && outcome.stderr.contains("measured"),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains("generate lineitem: ") && outcome.stderr.contains("query lineitem: "));
    let rows = |line: &str| {
        line.split(", ")
            .nth(1)?
            .strip_suffix(" rows")?
            .parse::<usize>()
            .ok()
    };
    let workers = outcome
        .stderr
        .lines()
        .filter(|line| line.starts_with("  worker "));
    assert_eq!(workers.filter_map(rows).sum::<usize>(), 2 * 60_175, "{outcome:?}");
    assert_eq!(outcome.answer().lines().count(), 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = program()
        .args([
            "query",
            "--tpch",
            "0.1",
            "--format",
            "csv",
            "select l_orderkey from lineitem",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // The pipe holds less than the result, so the program meets the closed end.
    drop(child.stdout.take());
    let outcome = Outcome::of(&child.wait_with_output().expect("it ends"));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let folder = Folder::new();
    let sql = "select l_shipmode, sum(l_extendedprice * (1 - l_discount)), avg(l_tax) from lineitem group by l_shipmode";
    let answer = |threads| {
        folder
            .query(["--tpch", "0.05", "--threads", threads, "--format", "json", sql])
            .answer()
    };
    let one = answer("1");
    assert_eq!(one.lines().count(), 9);
    for threads in ["2", "3", "8"] {
        assert_eq!(answer(threads), one);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_does_not_depend_on_whether_stderr_can_be_written_to() {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .expect("Linux has it");
    let output = program()
        .args([
            "query",
            "--tpch",
            "0.01",
            "--explain",
            "--stats",
            "--format",
            "csv",
        ])
        .arg("select count(*) as n from orders")
        .stderr(full)
        .output()
        .expect("the program starts");
    assert_eq!(Outcome::of(&output).answer(), "n\n15000\n");
}

#[test]
fn long_lists_fit_every_stack_and_are_answered_in_one_pass() {
    let folder = Folder::new();
    folder.write("t.csv", "a\n1\n2\n");
    let names = vec!["a"; 20_000].join(", ");
    let among = format!("select count(*) as n from t where a in ({names})");
    let found = folder.query(["--table", "t=t.csv", "--format", "csv", &among]);
    assert_eq!(found.answer(), "n\n2\n");
    let all = format!("select {names} from t limit 1");
    let row = folder.query(["--table", "t=t.csv", "--format", "json", &all]);
    assert!(row.answer().ends_with(",\"a_20000\":1}\n]\n"));
}
