//! What the server tells about itself.

use super::cancelling::Endless;
use super::served::{Served, block_on};

#[test]
fn queries_shows_who_runs_what_and_texts_of_its_own_user_alone() {
    let server = Served::start();
    block_on(async {
        let (alice, bob) = (server.connect_as("alice").await, server.connect_as("bob").await);
        alice.simple_query("set windlass.class = 'batch'").await.unwrap();
        let endless = Endless::begin(&server, alice).await;
        let sql = "select user_name, state, class, query, cpu_ms >= 0 and since_ms >= 0 from windlass.queries order by user_name";
        let rows = bob.query(sql, &[]).await.unwrap();
        let found: Vec<(String, String, String, Option<String>, bool)> = rows
            .iter()
            .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3), row.get(4)))
            .collect();
        let texts = |values: [&str; 3]| values.map(str::to_owned);
        let [user, state, class] = texts(["alice", "running", "batch"]);
        assert_eq!(found[0], (user, state, class, None, true));
        let [user, state, class] = texts(["bob", "running", "normal"]);
        assert_eq!(found[1], (user, state, class, Some(sql.to_owned()), true));
        endless.cancel().await;
    });
}

#[test]
fn workers_and_the_catalog_are_tables() {
    let server = Served::start();
    block_on(async {
        let client = server.connect().await;
        let workers = client
            .query("select worker, role, busy_ms from windlass.workers", &[])
            .await
            .unwrap();
        assert_eq!(workers.len(), 2);
        let tables = "select table_name from information_schema.tables where table_schema = 'public'";
        let tables = client.query(tables, &[]).await.unwrap();
        assert_eq!(tables[0].get::<_, String>(0), "cities");
        let classes = "select relname from pg_catalog.pg_class where relname = 'cities'";
        assert_eq!(client.query(classes, &[]).await.unwrap().len(), 1);
    });
}
