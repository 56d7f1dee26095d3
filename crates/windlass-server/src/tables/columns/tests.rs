//! Columns of files, good and broken.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use super::*;
use crate::tables::testing::{Folders, integers, texts};

fn of(path: &Path) -> Result<Columns, TablesError> {
    let root = Root::new(path).unwrap();
    let format = match path.extension().unwrap().to_str() {
        Some("csv") => Format::Csv,
        _ => Format::Parquet,
    };
    read(&root, "", format).map(|read| read.unwrap().1)
}

fn names_and_types(columns: &Columns) -> Vec<(String, DataType)> {
    let fields = columns.schema.fields().iter();
    fields
        .map(|field| (field.name().clone(), field.data_type().clone()))
        .collect()
}

fn csv(text: impl AsRef<[u8]>) -> Result<Columns, TablesError> {
    let folders = Folders::new();
    let path = folders.path("a.csv");
    fs::write(&path, text).unwrap();
    of(&path)
}

#[test]
fn the_types_of_csv_are_those_of_its_rows() {
    let columns = csv("i,f,b,d,t,s,n\n1,2,true,2024-01-01,2024-01-01T00:00:00,x,\n2,2.5,,,,,\n").unwrap();
    let types: Vec<_> = names_and_types(&columns)
        .into_iter()
        .map(|(_, data_type)| data_type)
        .collect();
    let time = DataType::Timestamp(TimeUnit::Second, None);
    assert_eq!(
        types,
        [
            DataType::Int64,
            DataType::Float64,
            DataType::Boolean,
            DataType::Date32,
            time,
            DataType::Utf8,
            DataType::Null
        ]
    );
}

#[test]
fn only_the_first_thousand_rows_tell_the_types() {
    let mut text = "a\n".to_owned();
    text.extend((0..1_000).map(|row| format!("{row}\n")));
    text.push_str("text\n");
    assert_eq!(
        names_and_types(&csv(&text).unwrap()),
        [("a".to_owned(), DataType::Int64)]
    );
    let within = text.replacen("999\n", "", 1);
    assert_eq!(
        names_and_types(&csv(within).unwrap()),
        [("a".to_owned(), DataType::Utf8)]
    );
}

#[test]
fn names_of_csv_have_no_byte_order_mark_and_are_never_empty() {
    let names = |text: &str| -> Vec<String> {
        let columns = csv(text).unwrap();
        names_and_types(&columns)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(names("\u{feff}a,b\n1,2\n"), ["a", "b"]);
    assert_eq!(names(",b,\n0,1,2\n"), ["column_1", "b", "column_3"]);
    assert_eq!(names("\"a,\"\"x\"\"\",b"), ["a,\"x\"", "b"]);
}

#[test]
fn line_breaks_in_quotes_are_noticed() {
    let breaks = |text: &str| csv(text).unwrap().line_breaks;
    assert!(breaks("a,b\n1,\"x\ny\"\n"));
    assert!(breaks("a,b\n\"he said \"\"x\ny\"\"\",1\n"));
    assert!(!breaks("a,b\n1,\"x,y\"\n2,\"\"\n"));
    // Quotes count only at a value's beginning.
    assert!(!breaks("a,b\n5\",x\n6\",y\n"));
    assert!(!breaks("a\r\n\"x\"\r\n"));
}

#[test]
fn rows_without_end_are_an_error() {
    let error = csv("x".repeat(17 << 20)).unwrap_err().to_string();
    assert!(error.contains("16 MiB"), "{error}");
}

#[test]
fn long_rows_are_read_as_far_as_they_fit() {
    let row = format!("1,{}\n", "x".repeat(1 << 20));
    let columns = csv(format!("a,b\n{}", row.repeat(20))).unwrap();
    assert_eq!(names_and_types(&columns)[0].1, DataType::Int64);
}

#[test]
fn what_is_no_csv_is_an_error() {
    for text in [&b""[..], b"a,b\n1,2,3\n", b"a,\xff\n1,2\n", b"a,a\n1,2\n"] {
        assert!(csv(text).is_err(), "{text:?}");
    }
}

#[test]
fn the_columns_of_parquet_are_in_its_footer() {
    let folders = Folders::new();
    let path = folders.parquet("a.parquet", vec![("i", integers(&[1])), ("s", texts(&["x"]))]);
    let columns = names_and_types(&of(&path).unwrap());
    assert_eq!(
        columns,
        [
            ("i".to_owned(), DataType::Int64),
            ("s".to_owned(), DataType::Utf8View)
        ]
    );
}

#[test]
fn cut_and_changed_parquet_files_are_errors() {
    let folders = Folders::new();
    let path = folders.parquet("a.parquet", vec![("i", integers(&[1])), ("s", texts(&["x"]))]);
    let whole = fs::read(&path).unwrap();
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(of(&path).is_err(), "{len} bytes");
    }
    // Errors are fine, panics are not.
    for index in 0..whole.len() {
        let mut changed = whole.clone();
        changed[index] ^= 0x5a;
        fs::write(&path, &changed).unwrap();
        let _ = of(&path);
    }
}

#[test]
fn a_file_that_is_gone_has_no_columns() {
    let folders = Folders::new();
    folders.csv("a.csv", "a\n1\n");
    let root = Root::new(&folders.root()).unwrap();
    assert_eq!(read(&root, "b.csv", Format::Csv).unwrap(), None);
    fs::create_dir(folders.path("c.csv")).unwrap();
    assert_eq!(read(&root, "c.csv", Format::Csv).unwrap(), None);
}

fn columns(fields: &[(&str, DataType, bool)]) -> Columns {
    let fields = fields
        .iter()
        .map(|(name, data_type, nullable)| Field::new(*name, data_type.clone(), *nullable));
    Columns {
        schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
        line_breaks: false,
    }
}

fn merged(files: &[Columns], format: Format) -> Result<Vec<(String, DataType, bool)>, TablesError> {
    let files: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(index, columns)| (PathBuf::from(index.to_string()), columns))
        .collect();
    let schema = merge(&files, format)?;
    let fields = schema.fields().iter();
    Ok(fields
        .map(|field| {
            (
                field.name().clone(),
                field.data_type().clone(),
                field.is_nullable(),
            )
        })
        .collect())
}

#[test]
fn a_column_that_not_all_files_have_may_be_missing() {
    let (a, b) = (("a", DataType::Int64, false), ("b", DataType::Utf8View, false));
    let both = columns(&[a.clone(), b.clone()]);
    let one = columns(std::slice::from_ref(&a));
    let expected = |b_nullable| {
        vec![
            ("a".to_owned(), DataType::Int64, false),
            ("b".to_owned(), DataType::Utf8View, b_nullable),
        ]
    };
    let all = [both.clone(), both.clone(), both.clone()];
    assert_eq!(merged(&all, Format::Parquet).unwrap(), expected(false));
    let some = [both.clone(), both, one.clone(), one];
    assert_eq!(merged(&some, Format::Parquet).unwrap(), expected(true));
}

#[test]
fn types_of_parquet_agree_and_types_of_csv_widen() {
    let of_type = |data_type| columns(&[("a", data_type, true)]);
    let both = |a: DataType, b: DataType, format| merged(&[of_type(a), of_type(b)], format);
    assert!(both(DataType::Int64, DataType::Int32, Format::Parquet).is_err());
    assert!(both(DataType::Utf8View, DataType::Int32, Format::Parquet).is_err());
    assert!(both(DataType::Utf8View, DataType::Null, Format::Parquet).is_ok());
    let second = DataType::Timestamp(TimeUnit::Second, None);
    let micro = DataType::Timestamp(TimeUnit::Microsecond, None);
    for (a, b, expected) in [
        (DataType::Int64, DataType::Float64, DataType::Float64),
        (DataType::Null, DataType::Date32, DataType::Date32),
        (DataType::Null, DataType::Null, DataType::Utf8),
        (DataType::Date32, second.clone(), second.clone()),
        (second, micro.clone(), micro),
        (DataType::Boolean, DataType::Int64, DataType::Utf8),
    ] {
        let merged = both(a, b, Format::Csv).unwrap();
        assert_eq!(merged[0].1, expected);
    }
}
