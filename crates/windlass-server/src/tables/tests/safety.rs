//! Statements that try to leave the folders, or to write.

use std::os::unix::fs::symlink;

use datafusion::prelude::SessionContext;

use super::*;

#[test]
fn nothing_is_written_and_nothing_outside_is_read_by_sql() {
    let folders = Folders::new();
    folders.csv("t.csv", "a\n1\n");
    let secret = folders.outside("secret.csv");
    fs::write(&secret, "password\nhunter2\n").unwrap();
    symlink(&secret, folders.path("link.csv")).unwrap();
    symlink(folders.outside(""), folders.path("linked")).unwrap();
    let client = Client::new(&folders.tables());
    // As if statements could name paths and make tables.
    let client = Client {
        session: SessionContext::new_with_state(client.session.state()).enable_url_table(),
        ..client
    };
    client.rows("CREATE SCHEMA scratch");
    let mut number = 0;
    let mut read = |path: &Path| {
        number += 1;
        let by_path = client.try_rows(&format!("SELECT * FROM '{}'", path.display()));
        let create = format!(
            "CREATE EXTERNAL TABLE scratch.s{number} STORED AS CSV LOCATION '{}' OPTIONS ('has_header' 'true')",
            path.display()
        );
        let by_table = client
            .try_rows(&create)
            .and_then(|_| client.try_rows(&format!("SELECT * FROM scratch.s{number}")));
        [by_path, by_table]
    };
    for rows in read(&folders.path("t.csv")) {
        assert_eq!(rows.unwrap(), ["1"]);
    }
    for path in [
        secret,
        folders.path("link.csv"),
        folders.path("linked/secret.csv"),
        folders.path("../outside/secret.csv"),
    ] {
        for rows in read(&path) {
            let seen = rows.map_or_else(|error| error.to_string(), |rows| rows.join("\n"));
            assert!(
                !seen.contains("hunter2") && !seen.contains("password"),
                "{path:?}: {seen}"
            );
        }
    }
    for target in [folders.outside("new.csv"), folders.path("new.csv")] {
        let copy = format!("COPY (SELECT 1) TO '{}' STORED AS CSV", target.display());
        assert!(client.try_rows(&copy).is_err());
        assert!(!target.exists());
    }
    assert!(client.try_rows("INSERT INTO t VALUES (2)").is_err());
    assert!(client.try_rows("CREATE TABLE public.x AS SELECT 1").is_err());
    assert!(client.try_rows("DROP TABLE t").is_err());
    assert_eq!(client.rows("SELECT * FROM t"), ["1"]);
}

#[test]
fn links_and_special_files_are_no_tables() {
    let folders = Folders::new();
    fs::write(folders.outside("secret.csv"), "a\n1\n").unwrap();
    folders.csv("t.csv", "a\n1\n");
    folders.csv("parts/1.csv", "a\n1\n");
    symlink(folders.outside("secret.csv"), folders.path("link.csv")).unwrap();
    symlink(folders.outside(""), folders.path("linked")).unwrap();
    symlink(folders.path("t.csv"), folders.path("inside.csv")).unwrap();
    symlink(folders.outside("secret.csv"), folders.path("parts/2.csv")).unwrap();
    symlink(folders.outside(""), folders.path("parts/more")).unwrap();
    symlink("..", folders.path("parts/round")).unwrap();
    symlink("nowhere", folders.path("broken.csv")).unwrap();
    fifo(&folders.path("fifo.csv"));
    fifo(&folders.path("parts/fifo.csv"));
    let _socket = std::os::unix::net::UnixListener::bind(folders.path("socket.csv")).unwrap();
    let client = Client::new(&folders.tables());
    assert_eq!(client.names(), ["parts", "t"]);
    assert_eq!(client.rows("SELECT * FROM parts"), ["1"]);
    for table in ["link", "linked", "inside", "broken", "fifo", "socket"] {
        let error = client.error(&format!("SELECT * FROM {table}"));
        assert!(error.contains("not found"), "{error}");
    }
}

#[test]
fn a_file_that_is_replaced_by_a_fifo_or_a_link_after_planning_is_not_read() {
    let folders = Folders::new();
    fs::write(folders.outside("secret.csv"), "a\n9\n").unwrap();
    let client = Client::new(&folders.tables());
    for replace in [
        (|path: &Path, _: &Path| fifo(path)) as fn(&Path, &Path),
        |path, secret| symlink(secret, path).unwrap(),
    ] {
        let path = folders.csv("t.csv", "a\n1\n");
        let plan = client.runtime.block_on(async {
            let statement = client.session.sql("SELECT a FROM t").await.unwrap();
            statement.create_physical_plan().await.unwrap()
        });
        fs::remove_file(&path).unwrap();
        replace(&path, &folders.outside("secret.csv"));
        let run = datafusion::physical_plan::collect(plan, client.session.task_ctx());
        let error = client.runtime.block_on(run).unwrap_err().to_string();
        assert!(error.contains("t.csv"), "{error}");
        fs::remove_file(&path).unwrap();
    }
}

fn fifo(path: &Path) {
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        path,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
}
