//! Errors: a code, a message that names what and where, and nothing on stdout.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};

use crate::program::{Folder, Outcome, program};

fn cities() -> Folder {
    let folder = Folder::new();
    folder.write(
        "cities.csv",
        "city,country,inhabitants\nUlm,DE,128928\nBern,CH,134794\nOslo,NO,\n",
    );
    folder
}

fn assert_sql_error(sql: &str, parts: &[&str]) {
    cities()
        .query(["--table", "cities=cities.csv", sql])
        .assert_error(1, parts);
}

#[test]
fn a_missing_file_is_named() {
    let outcome = Folder::new().query(["--table", "t=nowhere/t.parquet", "select * from t"]);
    outcome.assert_error(1, &["nowhere/t.parquet", "No such file"]);
}

#[test]
fn a_truncated_parquet_file_is_named() {
    let folder = Folder::new();
    let batch =
        RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..10_000)) as _)]).unwrap();
    let path = folder.write_parquet("t.parquet", &batch);
    let bytes = std::fs::read(path).unwrap();
    folder.write("t.parquet", &bytes[..bytes.len() / 2]);
    folder
        .query(["--table", "t=t.parquet", "select sum(n) from t"])
        .assert_error(1, &["t.parquet", "truncated"]);
}

#[test]
fn a_parquet_file_with_damaged_pages_is_named() {
    let folder = Folder::new();
    let batch =
        RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(0..10_000)) as _)]).unwrap();
    let path = folder.write_parquet("t.parquet", &batch);
    let mut bytes = std::fs::read(path).unwrap();
    // The first page's header, right behind the mark.
    bytes[4..40].fill(0xff);
    folder.write("t.parquet", bytes);
    folder
        .query(["--table", "t=t.parquet", "select sum(n) from t"])
        .assert_error(1, &["t.parquet", "row group 0", "column n"]);
}

#[test]
fn a_file_that_is_no_parquet_is_named() {
    let folder = Folder::new();
    folder.write("t.parquet", "n\n1\n");
    folder
        .query(["--table", "t=t.parquet", "select * from t"])
        .assert_error(1, &["t.parquet", "not a Parquet file"]);
}

#[test]
fn a_csv_row_with_a_wrong_number_of_fields_is_named_by_line() {
    let folder = Folder::new();
    folder.write("t.csv", "a,b\n1,\"x\ny\"\n2,z,too many\n");
    folder
        .query(["--table", "t=t.csv", "select * from t"])
        .assert_error(1, &["t.csv, line 4", "expected 2 fields", "found 3"]);
}

#[test]
fn unknown_names_are_named_with_what_there_is() {
    assert_sql_error(
        "select * from towns",
        &["unknown table towns", "line 1, column 15", "cities"],
    );
    assert_sql_error(
        "select\n town from cities",
        &[
            "unknown column town",
            "line 2, column 2",
            "inhabitants",
            "  |  town from cities\n  |  ^\n",
        ],
    );
    assert_sql_error(
        "select mode(inhabitants) from cities",
        &["unknown function mode", "column 8", "avg"],
    );
    let outcome = Folder::new().query(["select * from t"]);
    outcome.assert_error(1, &["unknown table t", "--table NAME=PATH"]);
}

#[test]
fn sql_outside_the_subset_is_named_by_construct_and_place() {
    assert_sql_error("select city from cities join cities on true", &["JOIN", "line 1"]);
    assert_sql_error(
        "select city from (select * from nowhere) x",
        &["nowhere", "line 1"],
    );
    assert_sql_error("select city from (select * from cities) x (a)", &["line 1"]);
    assert_sql_error("select distinct city from cities", &["DISTINCT"]);
    assert_sql_error("delete from cities", &["DELETE"]);
    assert_sql_error("select sum(inhabitants) over () from cities", &["line 1"]);
    assert_sql_error("selec city from cities", &["line 1, column 1"]);
    assert_sql_error("", &["error"]);
    assert_sql_error("select city from cities; select city from cities", &["error"]);
}

#[test]
fn a_type_mismatch_names_the_expression() {
    assert_sql_error("select city + 1 from cities", &["type mismatch", "city + 1"]);
    assert_sql_error("select sum(city) from cities", &["sum", "city"]);
    assert_sql_error("select city from cities where inhabitants", &["inhabitants"]);
    assert_sql_error("select city from cities where inhabitants > 'many'", &["many"]);
}

#[test]
fn division_by_zero_and_overflow_name_the_expression() {
    assert_sql_error(
        "select inhabitants / 0 from cities",
        &["division by zero", "inhabitants / 0"],
    );
    assert_sql_error(
        "select city from cities where 1 / (inhabitants - 128928) > 0",
        &["division by zero"],
    );
    let folder = Folder::new();
    folder.write("t.csv", "n\n9223372036854775807\n1\n");
    for sql in ["select sum(n) from t", "select n + 1 from t"] {
        folder
            .query(["--table", "t=t.csv", sql])
            .assert_error(1, &["overflow", "n"]);
    }
}

#[test]
fn arguments_that_make_no_sense_are_named() {
    let folder = cities();
    let sql = "select * from cities";
    folder
        .query(["--threads", "0", sql])
        .assert_error(2, &["--threads", "at least one thread"]);
    folder
        .query(["--threads", "-1", sql])
        .assert_error(2, &["--threads"]);
    folder
        .query(["--table", "cities.csv", sql])
        .assert_error(2, &["--table", "NAME=PATH"]);
    for factor in ["0", "-1", "NaN", "inf", "1e6", "much"] {
        folder
            .query(["--tpch", factor, sql])
            .assert_error(2, &["--tpch", factor, "from 0.0001 to 100"]);
    }
    for memory in ["0", "-1", "1.5GiB", "lots"] {
        folder
            .query(["--memory", memory, sql])
            .assert_error(2, &["--memory", memory]);
    }
    for timeout in ["0s", "-1", "30", "soon"] {
        folder
            .query(["--timeout", timeout, sql])
            .assert_error(2, &["--timeout", timeout]);
    }
    folder
        .query(["--format", "xml", sql])
        .assert_error(2, &["--format", "xml"]);
    folder
        .query(["--table", "a=cities.csv", "--table", "A=cities.csv", sql])
        .assert_error(1, &["two tables are named A"]);
}

#[test]
fn no_part_of_a_result_is_written_before_an_error() {
    let folder = Folder::new();
    let mut content = String::from("n\n");
    for n in (0..500_000).rev() {
        content.push_str(&format!("{n}\n"));
    }
    folder.write("t.csv", content);
    folder
        .query(["--table", "t=t.csv", "--format", "csv", "select 1 / n from t"])
        .assert_error(1, &["division by zero"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    for format in ["table", "csv", "json"] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it");
        let output = program()
            .args(["query", "--tpch", "0.01", "--format", format])
            .arg("select count(*) from orders")
            .stdout(full)
            .output()
            .expect("the program starts");
        Outcome::of(&output).assert_error(1, &["cannot write the result", "No space left"]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_that_cannot_be_printed_still_has_its_exit_code() {
    for (sql, code) in [("select nope from orders", 1), ("", 1)] {
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("Linux has it");
        let output = program()
            .args(["query", "--tpch", "0.01", sql])
            .stderr(full)
            .output()
            .expect("the program starts");
        let outcome = Outcome::of(&output);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(code), ""));
    }
}

#[test]
fn no_arguments_show_what_there_is_to_say() {
    let output = program().output().expect("the program starts");
    let outcome = Outcome::of(&output);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert!(outcome.stderr.contains("Usage: windlass"), "{outcome:?}");
}
