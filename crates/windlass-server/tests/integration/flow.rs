//! Rows flow at the client's pace.

use std::time::Duration;

use futures_util::StreamExt;

use super::served::{Served, block_on};

/// About 200 MB: more than all buffers hold.
const LARGE: &str = "select value, repeat('x', 100) from generate_series(1, 2000000)";

#[test]
fn a_client_that_does_not_read_holds_no_worker() {
    let server = Served::start();
    block_on(async {
        let (slow, other) = (server.connect().await, server.connect().await);
        let rows = slow.query_raw(LARGE, std::iter::empty::<i32>()).await.unwrap();
        let mut rows = Box::pin(rows);
        rows.next().await.unwrap().unwrap();
        // The first client's connection task is polled by this runtime, so nothing runs here until
        // the other client has its answers.
        for _ in 0..20 {
            other.simple_query("select count(*) from cities").await.unwrap();
        }
        assert_eq!(server.watch.load().connections, 2);
        drop(rows);
        drop(slow);
        while server.watch.load().connections > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
}

#[test]
fn a_large_result_comes_whole() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let rows = client.query_raw(LARGE, std::iter::empty::<i32>()).await.unwrap();
        let (count, sum) = rows
            .fold((0_u64, 0_i64), async |(count, sum), row| {
                (count + 1, sum + row.unwrap().get::<_, i64>(0))
            })
            .await;
        assert_eq!((count, sum), (2_000_000, 2_000_000 * 2_000_001 / 2));
    });
}
