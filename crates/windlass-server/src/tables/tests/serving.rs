//! What is a table, and how it is read.

use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array};
use datafusion::physical_plan::displayable;

use super::*;

#[test]
fn files_and_folders_are_tables() {
    let folders = Folders::new();
    folders.csv("Cities 2.csv", "name,people\nUlm,127000\nBonn,335000\n");
    folders.parquet("sales.parquet", vec![("id", integers(&[1, 2, 3]))]);
    folders.parquet("parts/a.parquet", vec![("id", integers(&[1]))]);
    folders.parquet("parts/deeper/b.parquet", vec![("id", integers(&[2]))]);
    folders.csv("notes.txt", "no table");
    folders.csv("empty_folder/readme.md", "no table");
    let client = Client::new(&folders.tables());
    assert_eq!(client.names(), ["cities_2", "parts", "sales"]);
    assert_eq!(
        client.rows("SELECT name, people + 1 FROM cities_2 ORDER BY name"),
        ["Bonn|335001", "Ulm|127001"]
    );
    assert_eq!(client.rows("SELECT sum(id) FROM Sales"), ["6"]);
    assert_eq!(client.rows("SELECT id FROM parts ORDER BY id"), ["1", "2"]);
    assert!(client.error("SELECT * FROM notes").contains("not found"));
    let tables =
        client.rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'");
    assert_eq!(tables, ["cities_2", "parts", "sales"]);
}

#[test]
fn a_named_table_is_a_file_or_a_folder() {
    let folders = Folders::new();
    let file = folders.csv("a.csv", "x\n1\n");
    folders.parquet("b/one.parquet", vec![("x", integers(&[2]))]);
    let named = |text: String| Source::Named(text.parse().unwrap());
    let tables = Tables::new(&[
        named(format!("one={}", file.display())),
        named(format!("two=file://{}", folders.path("b").display())),
    ])
    .unwrap();
    let client = Client::new(&tables);
    assert_eq!(client.names(), ["one", "two"]);
    assert_eq!(
        client.rows("SELECT one.x, two.x FROM one CROSS JOIN two"),
        ["1|2"]
    );
    fs::remove_file(&file).unwrap();
    let error = client.error("SELECT * FROM one");
    assert!(error.contains(file.to_str().unwrap()), "{error}");
    assert_eq!(client.names(), ["two"]);
}

#[test]
fn partitions_are_columns() {
    let folders = Folders::new();
    for (folder, id) in [
        ("year=2023/day=2023-12-31/city=Ulm%20West", 1),
        ("year=2024/day=2024-01-01/city=Bonn", 2),
        ("year=2024/day=2024-01-02/city=7", 3),
        ("year=2025/day=2025-01-02/city=__HIVE_DEFAULT_PARTITION__", 4),
    ] {
        folders.parquet(
            &format!("sales/{folder}/part-0.parquet"),
            vec![("id", integers(&[id]))],
        );
    }
    let client = Client::new(&folders.tables());
    assert_eq!(
        client.rows("SELECT * FROM sales ORDER BY id"),
        [
            "1|2023|2023-12-31|Ulm West",
            "2|2024|2024-01-01|Bonn",
            "3|2024|2024-01-02|7",
            "4|2025|2025-01-02|",
        ]
    );
    let types = "SELECT arrow_typeof(year), arrow_typeof(day), arrow_typeof(city) FROM sales LIMIT 1";
    assert_eq!(client.rows(types), ["Int64|Date32|Utf8"]);
    assert_eq!(
        client.rows("SELECT id FROM sales WHERE year = 2024 AND day < '2024-01-02'"),
        ["2"]
    );
    assert_eq!(client.rows("SELECT id FROM sales WHERE city IS NULL"), ["4"]);
    assert_eq!(client.rows("SELECT count(city), count(*) FROM sales"), ["3|4"]);
    assert_eq!(
        client
            .rows("SELECT year, sum(id) FROM sales WHERE city <> 'Bonn' OR id = 4 GROUP BY year ORDER BY 1"),
        ["2023|1", "2024|3", "2025|4"]
    );
    let plan = explain(
        &client,
        "SELECT id FROM sales WHERE year = 2024 AND city = 'Bonn'",
    );
    assert!(plan.contains("city=Bonn") && !plan.contains("city=7"), "{plan}");
    assert!(!plan.contains("FilterExec"), "{plan}");
    assert_eq!(
        client.rows("SELECT id FROM sales WHERE year = (SELECT max(year) FROM sales)"),
        ["4"]
    );
    assert_eq!(
        client.rows("SELECT id FROM sales WHERE year > 3000"),
        Vec::<String>::new()
    );
}

#[test]
fn a_folder_of_csv_files_is_one_table() {
    let folders = Folders::new();
    folders.csv("t/1.csv", "a,b,c\n1,,2024-01-01\n");
    folders.csv("t/2.csv", "a,b,c\n1.5,x,2024-01-01T10:00:00\n");
    folders.csv("t/_SUCCESS", "");
    folders.csv("t/_temporary/3.csv", "a,b,c\n9,9,9\n");
    folders.csv("t/empty.csv", "");
    folders.csv("t/.4.csv.part", "a");
    let client = Client::new(&folders.tables());
    assert_eq!(
        client.rows("SELECT * FROM t ORDER BY a"),
        ["1.0||2024-01-01T00:00:00", "1.5|x|2024-01-01T10:00:00"]
    );
}

#[test]
fn columns_of_parts_are_put_together() {
    let folders = Folders::new();
    folders.parquet("t/1.parquet", vec![("a", integers(&[1])), ("b", texts(&["x"]))]);
    folders.parquet("t/2.parquet", vec![("c", integers(&[5])), ("a", integers(&[2]))]);
    let client = Client::new(&folders.tables());
    assert_eq!(client.rows("SELECT a, b, c FROM t ORDER BY a"), ["1|x|", "2||5"]);
    assert_eq!(client.rows("SELECT count(b), count(*) FROM t"), ["1|2"]);
}

#[test]
fn a_plan_counts_rows_by_footers_and_prunes_row_groups() {
    let folders = Folders::new();
    for file in 0..4 {
        let values: Vec<i64> = (0..100).map(|row| file * 100 + row).collect();
        folders.parquet(&format!("t/{file}.parquet"), vec![("a", integers(&values))]);
    }
    let client = Client::new(&folders.tables());
    let plan = explain(&client, "SELECT count(*), min(a), max(a) FROM t");
    assert!(!plan.contains("DataSourceExec"), "{plan}");
    assert_eq!(
        client.rows("SELECT count(*), min(a), max(a) FROM t"),
        ["400|0|399"]
    );
    assert_eq!(client.rows("SELECT a FROM t WHERE a = 250"), ["250"]);
    let plan = client
        .rows("EXPLAIN ANALYZE SELECT a FROM t WHERE a = 250")
        .join("\n");
    assert!(plan.contains("files_ranges_pruned_statistics=4 total"), "{plan}");
    let plan = explain(&client, "SELECT a FROM t LIMIT 150");
    assert!(
        plan.contains("1.parquet") && !plan.contains("2.parquet"),
        "{plan}"
    );
    assert_eq!(
        client.rows("SELECT count(*) FROM (SELECT a FROM t LIMIT 150)"),
        ["150"]
    );
}

#[test]
fn statistics_are_collected_only_if_the_session_says_so() {
    let folders = Folders::new();
    folders.parquet("t.parquet", vec![("a", integers(&[1, 2]))]);
    let client = Client::new(&folders.tables());
    client.rows("SET datafusion.execution.collect_statistics = false");
    let plan = explain(&client, "SELECT count(*) FROM t");
    assert!(plan.contains("DataSourceExec"), "{plan}");
    assert_eq!(client.rows("SELECT count(*) FROM t"), ["2"]);
}

#[test]
fn line_breaks_in_values_are_read() {
    let folders = Folders::new();
    let mut text = "a,b\n".to_owned();
    for row in 0..2_000 {
        text.push_str(&format!("{row},\"one\n{row},two\"\n"));
    }
    folders.csv("t.csv", &text);
    let client = Client::new(&folders.tables());
    // From this size on, files are cut for several workers.
    client.rows("SET datafusion.optimizer.repartition_file_min_size = 1");
    assert_eq!(client.rows("SELECT count(*), sum(a) FROM t"), ["2000|1999000"]);
}

#[test]
fn large_csv_files_are_read_in_parts() {
    let folders = Folders::new();
    let text: String = (0..100_000).map(|row| format!("{row},x{row}\n")).collect();
    folders.csv("t.csv", &format!("a,b\n{text}"));
    let client = Client::new(&folders.tables());
    client.rows("SET datafusion.optimizer.repartition_file_min_size = 1");
    let plan = explain(&client, "SELECT a FROM t");
    assert!(plan.contains("2 groups"), "{plan}");
    assert_eq!(
        client.rows("SELECT count(*), sum(a), count(DISTINCT b) FROM t"),
        ["100000|4999950000|100000"]
    );
}

#[test]
fn columns_without_values_and_with_floating_point_are_read() {
    let folders = Folders::new();
    let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None]));
    let none: ArrayRef = Arc::new(Int64Array::from(vec![None, None]));
    folders.parquet("t.parquet", vec![("a", values), ("b", none)]);
    let client = Client::new(&folders.tables());
    assert_eq!(
        client.rows("SELECT sum(a), count(a), count(b) FROM t"),
        ["0.5|1|0"]
    );
    assert_eq!(
        client.rows("SELECT a FROM t WHERE b IS NOT NULL"),
        Vec::<String>::new()
    );
}

#[test]
fn tpch_and_folders_are_served_together_but_not_under_one_name() {
    let folders = Folders::new();
    folders.csv("cities.csv", "a\n1\n");
    let partitions = NonZeroUsize::new(2).unwrap();
    let tpch = Source::Tpch {
        scale: 0.001,
        partitions,
    };
    let sources = [Source::Folder(folders.root()), tpch.clone()];
    let client = Client::new(&Tables::new(&sources).unwrap());
    assert_eq!(
        client.names(),
        [
            "cities", "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"
        ]
    );
    assert_eq!(
        client.rows("SELECT r_name FROM region ORDER BY r_regionkey LIMIT 1"),
        ["AFRICA"]
    );
    assert!(Tables::new(&[tpch.clone(), tpch]).is_err());
    folders.csv("Orders.csv", "a\n1\n");
    let error = Tables::new(&sources).unwrap_err().to_string();
    assert!(error.contains("Orders.csv") && error.contains("TPC-H"), "{error}");
}

fn explain(client: &Client, sql: &str) -> String {
    client.runtime.block_on(async {
        let statement = client.session.sql(sql).await.unwrap();
        let plan = statement.create_physical_plan().await.unwrap();
        displayable(plan.as_ref()).indent(true).to_string()
    })
}
