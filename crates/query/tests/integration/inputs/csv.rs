//! CSV as real programs export it.

use crate::folder::Folder;
use crate::inputs::{open, read};
use crate::run::Cell;

fn table(content: impl AsRef<[u8]>) -> Result<(Vec<String>, Vec<Vec<Cell>>), String> {
    let folder = Folder::new();
    read(&folder.write("t.csv", content))
        .map_err(|error| error.replace(&folder.root().display().to_string(), ""))
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[test]
fn an_export_with_everything_is_read_as_it_means() {
    let (types, rows) = table(concat!(
        "\u{FEFF}id,\"name, given\",price,sold,day,note\r\n",
        "1,\"Smith, \"\"Jo\"\"\",17954.55,true,2024-01-02,\"two\r\nlines\"\r\n",
        "2,,NA,,2024-01-03,NA\r\n",
        "\r\n",
        "NULL,\"\",-3,FALSE,N/A,\"NA\"\r\n",
        "4,5\" pipe,0.5,null,2024-01-28,é",
    ))
    .unwrap();
    assert_eq!(
        types,
        ["Int64", "Utf8", "Decimal128(7, 2)", "Boolean", "Date32", "Utf8"]
    );
    let day = |day| Cell::Date(19_722 + day);
    assert_eq!(
        rows,
        [
            vec![
                Cell::Int(1),
                text("Smith, \"Jo\""),
                Cell::Decimal(1_795_455, 2),
                Cell::Bool(true),
                day(2),
                text("two\r\nlines")
            ],
            vec![
                Cell::Int(2),
                Cell::Null,
                Cell::Null,
                Cell::Null,
                day(3),
                text("NA")
            ],
            vec![
                Cell::Null,
                text(""),
                Cell::Decimal(-300, 2),
                Cell::Bool(false),
                Cell::Null,
                text("NA")
            ],
            vec![
                Cell::Int(4),
                text("5\" pipe"),
                Cell::Decimal(50, 2),
                Cell::Null,
                day(28),
                text("é")
            ],
        ]
    );
}

#[test]
fn a_value_late_in_the_file_widens_the_type_of_all() {
    let mut content = String::from("n,m\n");
    for row in 0..300_000 {
        content.push_str(&format!("{row},{row}\n"));
    }
    content.push_str("0.125,unknown\n");
    assert!(content.len() > 3 << 20, "several pieces");
    let (types, rows) = table(&content).unwrap();
    assert_eq!(types, ["Decimal128(9, 3)", "Utf8"]);
    assert_eq!(rows.len(), 300_001);
    assert_eq!(rows[299_999], [Cell::Decimal(299_999_000, 3), text("299999")]);
    assert_eq!(rows[300_000], [Cell::Decimal(125, 3), text("unknown")]);
}

#[test]
fn a_row_with_a_field_too_many_or_too_few_is_named_by_its_line() {
    let error = table("a,b\n1,\"x\ny\"\n3,4,5\n").unwrap_err();
    assert_eq!(
        error,
        "cannot read /t.csv, line 4: expected 2 fields as in the header, found 3"
    );

    let mut content = "a,b\n".to_owned() + &"1,2\n".repeat(700_000);
    content.push_str("3\n");
    content.push_str("4\n");
    let error = table(content).unwrap_err();
    assert_eq!(
        error,
        "cannot read /t.csv, line 700002: expected 2 fields as in the header, found 1"
    );
}

#[test]
fn quotes_that_do_not_match_are_named_by_the_line_where_they_open() {
    let error = table("a,b\n1,2\n3,\"4\n5,6\n").unwrap_err();
    assert!(
        error.starts_with("cannot read /t.csv, line 3: a quoted field"),
        "{error}"
    );
    let error = table("a,b\n1,2\n\"3\" ,4\n").unwrap_err();
    assert!(
        error.starts_with("cannot read /t.csv, line 3: after the closing quote"),
        "{error}"
    );
}

#[test]
fn text_that_is_not_utf8_is_named_by_line_and_column() {
    let error = table(b"id,name\n1,ok\n2,M\xFCller\n").unwrap_err();
    assert!(
        error.starts_with("cannot read /t.csv, line 3, column name: the text is not UTF-8"),
        "{error}"
    );
    let error = table(b"\xFF\xFEi\0d\0").unwrap_err();
    assert!(error.contains("UTF-16"), "{error}");
}

#[test]
fn files_without_rows_or_columns_are_tables() {
    assert_eq!(table(""), Ok((vec![], vec![])));
    assert_eq!(
        table("a,b\n"),
        Ok((vec!["Utf8".to_owned(), "Utf8".to_owned()], vec![]))
    );
    assert_eq!(table("a"), Ok((vec!["Utf8".to_owned()], vec![])));
}

#[test]
fn an_empty_line_is_a_row_only_in_a_file_of_one_column() {
    let (_, rows) = table("n\n1\n\n3\n").unwrap();
    assert_eq!(rows, [[Cell::Int(1)], [Cell::Null], [Cell::Int(3)]]);
    let (_, rows) = table("n,m\n1,2\n\n3,4\n\n").unwrap();
    assert_eq!(rows.len(), 2);
}

#[test]
fn separators_other_than_the_comma_are_seen_in_the_header() {
    let (types, rows) = table("a;b\n1;\"2,5\"\n").unwrap();
    assert_eq!(
        (types, rows),
        (
            vec!["Int64".to_owned(), "Utf8".to_owned()],
            vec![vec![Cell::Int(1), text("2,5")]]
        )
    );
}

#[test]
fn a_file_that_changes_while_it_is_open_is_an_error() {
    let folder = Folder::new();
    let path = folder.write("t.csv", "a\n1\n2\n");
    let table = open(&path).unwrap();
    folder.write("t.csv", "a\n1\n2\nthree\n");
    let error = table.open(0, &[0]).err().expect("changed").to_string();
    assert!(error.contains("written to while it was being queried"), "{error}");
}

#[test]
fn a_bare_word_for_a_missing_value_is_null_where_every_text_is_quoted() {
    let (types, rows) = table("\"name\",\"n\"\n\"x\",1\nNA,NA\n\"NA\",3\n").unwrap();
    assert_eq!(types, ["Utf8", "Int64"]);
    assert_eq!(
        rows,
        [
            [text("x"), Cell::Int(1)],
            [Cell::Null, Cell::Null],
            [text("NA"), Cell::Int(3)]
        ]
    );
}

#[test]
fn a_line_with_a_million_fields_is_an_error_that_counts_them() {
    let million = ",".repeat(999_999);
    let error = table(format!("a,b\n1,2\n{million}\n")).unwrap_err();
    assert!(
        error.contains("line 3: expected 2 fields as in the header, found 1000000"),
        "{error}"
    );
    let error = table(format!("{million}\n{million}\n")).unwrap_err();
    assert!(
        error.contains("line 1: the header has 1000000 columns, and a table at most 100000"),
        "{error}"
    );
}

#[test]
fn a_wide_file_is_a_table_and_its_names_are_checked() {
    let names: Vec<String> = (0..100_000).map(|n| format!("n{n}")).collect();
    let row = vec!["7"; names.len()].join(",");
    let content = format!("{}\n{row}\n{row}\n", names.join(","));
    let (types, rows) = table(&content).unwrap();
    assert_eq!((types.len(), rows.len()), (100_000, 2));
    assert_eq!(rows[1].last(), Some(&Cell::Int(7)));
    let error = table(content.replacen("n99999", "n3", 1)).unwrap_err();
    assert!(error.contains("line 1: two columns are called `n3`"), "{error}");
}

#[test]
fn a_number_that_no_type_holds_is_text_and_never_infinite() {
    let long = "9".repeat(309);
    for number in ["1e309", "-1e999", &long, &format!("{long}.5")] {
        let (types, rows) = table(format!("a\n1e3\n{number}\n")).unwrap();
        assert_eq!(types, ["Utf8"], "{number}");
        assert_eq!(rows[1], [text(number)]);
    }
    let (types, rows) = table("a\n1e308\n-1e-999\n").unwrap();
    assert_eq!(types, ["Float64"]);
    assert_eq!(rows, [[Cell::Float(1e308)], [Cell::Float(-0.0)]]);
}
