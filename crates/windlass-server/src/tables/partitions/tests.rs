//! Columns of the names of folders.

use super::*;

fn of(files: &[&str]) -> Result<Partitions, TablesError> {
    Partitions::of(Path::new("/t"), files.iter().copied())
}

fn data_type_of(values: &[&str]) -> DataType {
    let files: Vec<_> = values.iter().map(|value| format!("k={value}/a.csv")).collect();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    of(&files).unwrap().columns[0].data_type().clone()
}

#[test]
fn values_are_integers_or_dates_if_all_are() {
    assert_eq!(data_type_of(&["1", "-2", "007"]), DataType::Int64);
    assert_eq!(data_type_of(&["1", "99999999999999999999"]), DataType::Utf8);
    assert_eq!(data_type_of(&["1", "+2"]), DataType::Utf8);
    assert_eq!(data_type_of(&["1", ""]), DataType::Utf8);
    assert_eq!(data_type_of(&["2024-01-31", "1969-01-01"]), DataType::Date32);
    assert_eq!(data_type_of(&["2024-02-31"]), DataType::Utf8);
    assert_eq!(data_type_of(&["2024-1-1"]), DataType::Utf8);
    assert_eq!(data_type_of(&["2024-01-01", "5"]), DataType::Utf8);
    assert_eq!(data_type_of(&["5", NO_VALUE]), DataType::Int64);
    assert_eq!(data_type_of(&[NO_VALUE]), DataType::Utf8);
}

#[test]
fn values_are_decoded() {
    let decoded = |value: &str| {
        let partitions = of(&[&format!("k={value}/a.csv")]).unwrap();
        partitions.values[0][0].to_string()
    };
    assert_eq!(decoded("a%20b"), "a b");
    assert_eq!(decoded("S%C3%A3o%2F"), "São/");
    assert_eq!(decoded("100%"), "100%");
    assert_eq!(decoded("%zz%2"), "%zz%2");
    assert_eq!(decoded("%ff"), "%ff");
    assert_eq!(decoded("a=b"), "a=b");
}

#[test]
fn folders_without_names_say_nothing() {
    let partitions = of(&["x/k=1/y/a.csv", "k=2/b=c.csv"]).unwrap();
    let names: Vec<_> = partitions.columns.iter().map(|column| column.name()).collect();
    assert_eq!(names, ["k"]);
    assert_eq!(
        partitions.values,
        [
            vec![ScalarValue::Int64(Some(1))],
            vec![ScalarValue::Int64(Some(2))]
        ]
    );
    assert_eq!(of(&["a.csv", "b/c.csv"]).unwrap().columns, []);
    assert_eq!(of(&[]).unwrap(), Partitions::default());
}

#[test]
fn all_files_name_the_same_columns() {
    for files in [
        ["k=1/a.csv", "a.csv"],
        ["k=1/a.csv", "l=1/a.csv"],
        ["k=1/l=2/a.csv", "l=1/k=2/a.csv"],
    ] {
        let error = of(&files).unwrap_err().to_string();
        assert!(error.contains(files[0]) && error.contains(files[1]), "{error}");
    }
    assert!(of(&["k=1/k=2/a.csv"]).is_err());
}
