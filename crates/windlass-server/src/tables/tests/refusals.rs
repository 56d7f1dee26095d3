//! What is no table, and the errors that say so.

use super::*;

#[test]
fn a_named_table_is_given_with_a_plain_name_and_a_path() {
    let error = |text: &str| text.parse::<NamedTable>().unwrap_err().to_string();
    assert!(error("a.csv").contains("NAME=PATH"));
    assert!(error("a=").contains("NAME=PATH"));
    assert!(error("A b=/x.csv").contains("characters"));
    assert!(error("a=s3://bucket/x.csv").contains("s3:// is not supported"));
    let secret = error("a=https://alice:secret@example.org/x.csv");
    assert!(
        secret.contains("…@example.org/x.csv") && !secret.contains("secret"),
        "{secret}"
    );
    assert!(error("a=file://host/x.csv").contains("file:///"));
    let place = |text: &str| text.parse::<NamedTable>().unwrap().place().clone();
    assert_eq!(place("a=/x=1/y"), TablePlace::Path("/x=1/y".into()));
    assert_eq!(place("a=./x://y"), TablePlace::Path("./x://y".into()));
    assert!(matches!(
        place("a=https://example.org/x.csv?a=b"),
        TablePlace::Url(_)
    ));
}

#[test]
fn two_tables_of_a_name_are_an_error_that_names_both() {
    let folders = Folders::new();
    folders.csv("sales.csv", "x\n1\n");
    let client = Client::new(&folders.tables());
    folders.parquet("Sales/a.parquet", vec![("x", integers(&[1]))]);
    folders.csv("other.csv", "x\n1\n");
    // A running server loses only that table.
    let error = client.error("SELECT * FROM sales");
    assert!(error.contains("sales.csv") && error.contains("Sales"), "{error}");
    assert_eq!(client.names(), ["other"]);
    assert_eq!(client.rows("SELECT * FROM other"), ["1"]);
    let error = Tables::new(&[Source::Folder(folders.root())]).unwrap_err();
    assert!(
        matches!(&error, TablesError::SameName { table, .. } if table == "sales"),
        "{error}"
    );
    let other: NamedTable = format!("other={}", folders.path("other.csv").display())
        .parse()
        .unwrap();
    fs::remove_file(folders.path("sales.csv")).unwrap();
    let error = Tables::new(&[Source::Folder(folders.root()), Source::Named(other)]).unwrap_err();
    assert!(matches!(error, TablesError::SameName { .. }));
}

#[test]
fn sources_that_are_not_there_are_errors_at_the_start() {
    let folders = Folders::new();
    let error = |source| Tables::new(&[source]).unwrap_err().to_string();
    let missing = folders.path("missing");
    assert!(error(Source::Folder(missing.clone())).contains("missing"));
    let named = |path: &str| Source::Named(format!("t={}", folders.path(path).display()).parse().unwrap());
    assert!(error(named("missing.csv")).contains("missing.csv"));
    folders.csv("a.csv", "x\n1\n");
    assert!(error(Source::Folder(folders.path("a.csv"))).contains("not a folder"));
    // At the start it is no error, only for statements that name it.
    folders.csv("a.txt", "x\n1\n");
    let client = Client::new(&Tables::new(&[named("a.txt")]).unwrap());
    assert!(client.error("SELECT * FROM t").contains(".parquet"));
}

#[test]
fn parts_that_differ_are_an_error_that_names_both_files_and_the_column() {
    let folders = Folders::new();
    folders.parquet("t/1.parquet", vec![("a", integers(&[1]))]);
    folders.parquet("t/2.parquet", vec![("a", texts(&["x"]))]);
    folders.csv("u/1.csv", "a,b\n1,2\n");
    folders.csv("u/2.csv", "a,c\n1,2\n");
    folders.csv("v/1.csv", "a,b\n1,2\n");
    folders.csv("v/2.csv", "a\n1\n");
    folders.csv("w/1.csv", "a\n1\n");
    folders.parquet("w/2.parquet", vec![("a", integers(&[1]))]);
    folders.parquet("x/k=1/1.parquet", vec![("a", integers(&[1]))]);
    folders.parquet("x/2.parquet", vec![("a", integers(&[1]))]);
    folders.parquet("y/a=1/1.parquet", vec![("a", integers(&[1]))]);
    folders.csv("good.csv", "a\n1\n");
    let client = Client::new(&folders.tables());
    assert_eq!(client.names(), ["good"]);
    let says = |table: &str, words: &[&str]| {
        let error = client.error(&format!("SELECT * FROM {table}"));
        for word in words {
            assert!(error.contains(word), "{error}");
        }
    };
    says("t", &["t/1.parquet", "t/2.parquet", "\"a\"", "Int64"]);
    says("u", &["u/1.csv", "u/2.csv", "\"b\"", "\"c\""]);
    says("v", &["v/1.csv", "v/2.csv", "\"b\""]);
    says("w", &["w/1.csv", "w/2.parquet", "CSV"]);
    says("x", &["x/k=1/1.parquet", "x/2.parquet", "[k]"]);
    says("y", &["y/a=1/1.parquet", "\"a\"", "folders"]);
}

#[test]
fn a_broken_file_is_an_error_that_names_it_and_other_tables_work() {
    let folders = Folders::new();
    let broken = folders.csv("broken.parquet", "PAR1 this is no footer PAR1");
    folders.csv("short.parquet", "x");
    folders.csv("empty.csv", "");
    folders.csv("twice.csv", "a,a\n1,2\n");
    folders.csv("ragged.csv", "a,b\n1,2\n1,2,3\n");
    folders.parquet("parts/1.parquet", vec![("a", integers(&[1]))]);
    folders.csv("parts/2.parquet", "broken");
    fs::create_dir_all(folders.path("delta/_delta_log")).unwrap();
    folders.parquet("delta/1.parquet", vec![("a", integers(&[1]))]);
    folders.csv("good.csv", "a\n1\n");
    let tables = folders.tables();
    let client = Client::new(&tables);
    for (table, file) in [
        ("broken", "broken.parquet"),
        ("short", "short.parquet"),
        ("empty", "empty.csv"),
        ("twice", "twice.csv"),
        ("ragged", "ragged.csv"),
        ("parts", "parts/2.parquet"),
        ("delta", "delta"),
    ] {
        let error = client.error(&format!("SELECT * FROM {table}"));
        assert!(error.contains(file), "{error}");
    }
    assert_eq!(client.names(), ["good"]);
    assert_eq!(
        client.rows("SELECT column_name FROM information_schema.columns WHERE table_schema = 'public'"),
        ["a"]
    );
    assert_eq!(client.rows("SELECT * FROM good"), ["1"]);
    let summary = tables.summary();
    let readable = summary.iter().filter(|table| table.contents.is_ok());
    assert_eq!(
        readable.map(|table| table.name.as_str()).collect::<Vec<_>>(),
        ["good"]
    );
    assert_eq!(summary.len(), 8);
    // Mended.
    write_parquet(&broken, vec![("a", integers(&[7]))]);
    assert_eq!(client.rows("SELECT * FROM broken"), ["7"]);
}
