//! Runtimes on which a query can be collected.

use datafusion::prelude::SessionContext;

use crate::engine::{Engine, Ours, many_threads, one_thread};
use crate::rows::Rows;
use crate::source::Numbers;

const SQL: &str = "select n % 100 as m, count(*), sum(n) from numbers group by m order by m";

async fn answer(session: SessionContext) -> Vec<String> {
    Rows::of(&session, SQL, SQL).await.text()
}

#[test]
fn a_query_has_the_same_rows_on_every_kind_of_runtime() {
    for workers in [1, 2] {
        let ours = Ours::with_workers(workers);
        let session = ours.session(4);
        Numbers::new(4, 20).register_in(&session);
        let expected = many_threads().block_on(answer(session.clone()));
        assert_eq!(expected.len(), 100);
        assert_eq!(one_thread().block_on(answer(session.clone())), expected);
        let mixed = ours.windlass.pools().mixed();
        assert_eq!(
            mixed.block_on(answer(session.clone())).expect("not in a pool"),
            expected
        );
        let task = mixed.spawn(answer(session)).expect("not in a CPU task");
        assert_eq!(task.wait().expect("no panic"), expected);
    }
}

#[test]
fn a_query_goes_on_beside_another_on_a_runtime_of_one_thread() {
    let ours = Ours::with_workers(2);
    let runtime = one_thread();
    let session = ours.session(4);
    Numbers::new(4, 20).register_in(&session);
    let rows = runtime.block_on(async {
        let queries: Vec<_> = (0..8).map(|_| tokio::spawn(answer(session.clone()))).collect();
        let mut rows = Vec::new();
        for query in queries {
            rows.push(query.await.expect("no panic"));
        }
        rows
    });
    assert!(rows.iter().all(|other| *other == rows[0]));
}
