//! Files that come, change and go while the server runs.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use super::*;

#[test]
fn new_changed_and_removed_files_are_seen_by_the_next_statement() {
    let folders = Folders::new();
    let tables = folders.tables();
    let client = Client::new(&tables);
    assert!(client.names().is_empty());
    folders.csv("a.csv", "x\n1\n");
    assert_eq!(client.names(), ["a"]);
    assert_eq!(client.rows("SELECT * FROM a"), ["1"]);
    folders.csv("a.csv", "x,y\n1,2\n3,4\n");
    assert_eq!(client.rows("SELECT y FROM a ORDER BY y"), ["2", "4"]);
    folders.parquet("b/1.parquet", vec![("x", integers(&[1]))]);
    assert_eq!(client.rows("SELECT count(*) FROM b"), ["1"]);
    folders.parquet("b/2.parquet", vec![("x", integers(&[2, 3]))]);
    assert_eq!(client.rows("SELECT count(*), max(x) FROM b"), ["3|3"]);
    folders.parquet("b/2.parquet", vec![("x", integers(&[2, 3, 4, 5]))]);
    assert_eq!(client.rows("SELECT count(*), max(x) FROM b"), ["5|5"]);
    fs::remove_file(folders.path("b/1.parquet")).unwrap();
    assert_eq!(client.rows("SELECT count(*), min(x) FROM b"), ["4|2"]);
    fs::remove_dir_all(folders.path("b")).unwrap();
    assert!(client.error("SELECT * FROM b").contains("not found"));
    // All sessions see it.
    assert_eq!(Client::new(&tables).names(), ["a"]);
}

#[test]
fn a_file_that_was_replaced_by_one_of_the_same_length_and_time_is_read_anew() {
    let folders = Folders::new();
    let path = folders.csv("a.csv", "x\n1\n");
    let client = Client::new(&folders.tables());
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let stamp = |path: &Path| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    };
    stamp(&path);
    assert_eq!(client.rows("SELECT x FROM a"), ["1"]);
    let new = folders.csv(".new", "y\n2\n");
    stamp(&new);
    fs::rename(new, path).unwrap();
    assert_eq!(client.rows("SELECT y FROM a"), ["2"]);
}

#[test]
fn a_file_that_changes_while_a_statement_runs_ends_it() {
    let folders = Folders::new();
    let parquet = folders.parquet("p.parquet", vec![("a", integers(&[1, 2]))]);
    let csv = folders.csv("c.csv", "a\n1\n");
    let gone = folders.csv("g.csv", "a\n1\n");
    let client = Client::new(&folders.tables());
    let planned = |sql: &str| {
        client.runtime.block_on(async {
            let statement = client.session.sql(sql).await.unwrap();
            statement.create_physical_plan().await.unwrap()
        })
    };
    let run = |plan| {
        let context = client.session.task_ctx();
        client
            .runtime
            .block_on(datafusion::physical_plan::collect(plan, context))
            .unwrap_err()
            .to_string()
    };
    let (of_parquet, of_csv, of_gone) = (
        planned("SELECT a FROM p WHERE a > 0"),
        planned("SELECT a FROM c"),
        planned("SELECT a FROM g"),
    );
    let new = folders.path(".new");
    write_parquet(&new, vec![("a", integers(&[3, 4]))]);
    fs::rename(&new, &parquet).unwrap();
    fs::write(&new, "a\n2\n").unwrap();
    fs::rename(&new, &csv).unwrap();
    fs::remove_file(&gone).unwrap();
    for (plan, path) in [(of_parquet, &parquet), (of_csv, &csv)] {
        let error = run(plan);
        assert!(error.contains("has changed since the statement began"), "{error}");
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
    assert!(run(of_gone).contains("g.csv not found"));
    assert_eq!(client.rows("SELECT a FROM p WHERE a > 0 ORDER BY a"), ["3", "4"]);
    assert_eq!(client.rows("SELECT a FROM c"), ["2"]);
}

#[test]
fn a_prepared_statement_looks_again_each_time() {
    let folders = Folders::new();
    folders.parquet("t/1.parquet", vec![("a", integers(&[1]))]);
    let client = Client::new(&folders.tables());
    let session = &client.session;
    let sql = "SELECT count(*) FROM t AS x JOIN t AS y ON x.a = y.a";
    let plan = client
        .runtime
        .block_on(session.state().create_logical_plan(sql))
        .unwrap();
    let run = || {
        client.runtime.block_on(async {
            let statement = session.execute_logical_plan(plan.clone()).await?;
            Ok::<_, datafusion::error::DataFusionError>(lines(&statement.collect().await?))
        })
    };
    assert_eq!(run().unwrap(), ["1"]);
    folders.parquet("t/2.parquet", vec![("a", integers(&[2, 3]))]);
    assert_eq!(run().unwrap(), ["3"]);
    fs::remove_file(folders.path("t/1.parquet")).unwrap();
    assert_eq!(run().unwrap(), ["2"]);
    folders.parquet("t/3.parquet", vec![("b", integers(&[4]))]);
    let error = run().unwrap_err().to_string();
    assert!(error.contains("the columns of t have changed"), "{error}");
    fs::remove_dir_all(folders.path("t")).unwrap();
    let error = run().unwrap_err().to_string();
    assert!(error.contains("the files of t are gone"), "{error}");
}

#[test]
fn a_named_root_may_be_a_link_and_lead_elsewhere_later() {
    let folders = Folders::new();
    folders.csv("v1/t.csv", "a\n1\n");
    folders.csv("v2/t.csv", "a\n2\n");
    let current = folders.path("current");
    symlink("v1", &current).unwrap();
    let client = Client::new(&Tables::new(&[Source::Folder(current.clone())]).unwrap());
    assert_eq!(client.rows("SELECT a FROM t"), ["1"]);
    fs::remove_file(&current).unwrap();
    symlink("v2", &current).unwrap();
    assert_eq!(client.rows("SELECT a FROM t"), ["2"]);
}

/// A statement sees complete files; which ones depends on the moment.
#[test]
fn listings_beside_files_that_come_and_go_are_no_errors() {
    let folders = Folders::new();
    folders.csv("stays.csv", "a\n1\n");
    folders.parquet("parts/k=0/stays.parquet", vec![("a", integers(&[1]))]);
    let tables = folders.tables();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let client = Client::new(&tables);
                let catalog = client.session.catalog(CATALOG).unwrap();
                let schema = catalog.schema(SCHEMA).unwrap();
                while !done.load(Ordering::SeqCst) {
                    let names = schema.table_names();
                    assert!(names.contains(&"stays".to_owned()) && names.contains(&"parts".to_owned()));
                    for name in names {
                        let table = client.runtime.block_on(schema.table(&name)).unwrap();
                        let always = ["stays", "parts"].contains(&name.as_str());
                        assert!(table.is_some() || !always, "{name}");
                    }
                }
            });
        }
        for round in 0..300_u64 {
            let number = round % 3;
            let new = folders.path(".new");
            write_parquet(&new, vec![("a", integers(&[1, 2]))]);
            let folder = folders.path(&format!("parts/k={}", number + 1));
            fs::create_dir_all(&folder).unwrap();
            let part = folder.join("part.parquet");
            fs::rename(&new, &part).unwrap();
            fs::write(&new, format!("a\n{round}\n")).unwrap();
            let file = folders.path(&format!("file_{number}.csv"));
            fs::rename(&new, &file).unwrap();
            if round % 2 == 0 {
                fs::remove_file(file).unwrap();
                fs::remove_dir_all(folder).unwrap();
            }
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn unchanged_files_are_not_opened_again() {
    let folders = Folders::new();
    folders.parquet("t/1.parquet", vec![("a", integers(&[1]))]);
    folders.parquet("t/2.parquet", vec![("a", integers(&[2]))]);
    let tables = folders.tables();
    let look = || tables.tables.find("t").unwrap().unwrap();
    let first = look();
    assert!(Arc::ptr_eq(&first, &look()));
    folders.parquet("t/3.parquet", vec![("a", integers(&[3]))]);
    let second = look();
    assert!(Arc::ptr_eq(&first.files[0], &second.files[0]));
    assert!(Arc::ptr_eq(&first.files[1], &second.files[1]));
    assert_eq!(second.files.len(), 3);
}
