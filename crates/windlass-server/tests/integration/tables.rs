//! Files and folders as tables.

use std::fs;

use super::served::{Served, block_on, error_of};

#[test]
fn a_new_file_is_a_table_without_a_restart() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let count = async |table: &str| {
            let sql = format!("select count(*) from {table}");
            client.query_one(&sql, &[]).await.map(|row| row.get::<_, i64>(0))
        };
        assert_eq!(error_of(&count("rivers").await.unwrap_err()).0, "42P01");
        fs::write(server.folder().join("rivers.csv"), "name,km\nAare,288\n").unwrap();
        assert_eq!(count("rivers").await.unwrap(), 1);
        fs::remove_file(server.folder().join("rivers.csv")).unwrap();
        assert_eq!(error_of(&count("rivers").await.unwrap_err()).0, "42P01");
    });
}

#[test]
fn a_partitioned_folder_is_a_table_with_its_partitions_as_columns() {
    let server = Served::start();
    for year in [2024, 2025] {
        let folder = server.folder().join(format!("trips/year={year}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("part.csv"), format!("km\n{year}\n")).unwrap();
    }
    block_on(async {
        let client = server.connect().await;
        let sql = "select sum(km) from trips where year = 2025";
        assert_eq!(client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 2025);
    });
}

#[test]
fn a_broken_file_spoils_its_own_table_alone() {
    let server = Served::start();
    fs::write(server.folder().join("broken.parquet"), "no parquet").unwrap();
    block_on(async {
        let client = server.connect().await;
        let error = client.simple_query("select * from broken").await.unwrap_err();
        assert!(error_of(&error).1.contains("broken.parquet"), "{error:?}");
        client.simple_query("select * from cities").await.unwrap();
    });
}
