//! The 22 queries of TPC-H at scale 0.1: the published answers, from memory and from Parquet files.

mod queries;
mod tables;

use datafusion::prelude::SessionContext;

use self::queries::Query;
use self::tables::{Parquet, Tables};
use crate::engine::{self, Engine, Ours, Plain};
use crate::rows::{Rows, assert_same};

/// The scale factor of the published answers in this repository.
const SCALE: f64 = 0.1;

/// Where the tables are.
trait Source {
    /// What messages call it.
    fn name(&self) -> &'static str;

    /// Makes the eight tables known to a session.
    async fn register(&self, session: &SessionContext);
}

impl Source for Tables {
    fn name(&self) -> &'static str {
        "memory"
    }

    async fn register(&self, session: &SessionContext) {
        self.register_in(session);
    }
}

impl Source for Parquet {
    fn name(&self) -> &'static str {
        "Parquet"
    }

    async fn register(&self, session: &SessionContext) {
        self.register_in(session).await;
    }
}

/// The answer of each query, in the order of the queries.
async fn answers(engine: &impl Engine, source: &impl Source, partitions: usize) -> Vec<Rows> {
    let session = engine.session(partitions);
    source.register(&session).await;
    let mut answers = Vec::new();
    for query in Query::all() {
        let what = format!("{} from {} by {}", query.name(), source.name(), engine.name());
        answers.push(Rows::of(&session, query.sql(), &what).await);
    }
    answers
}

/// Runs all queries on an engine, and compares the answers with the published ones and with those
/// of `plain`.
async fn check(
    engine: &impl Engine,
    source: &impl Source,
    partitions: usize,
    plain: Option<&[Rows]>,
) -> Vec<Rows> {
    let answers = answers(engine, source, partitions).await;
    for (index, (query, answer)) in Query::all().zip(&answers).enumerate() {
        let what = format!(
            "{} from {} by {}, {partitions} partitions",
            query.name(),
            source.name(),
            engine.name()
        );
        let published = format!("{what}: as published");
        assert_same(&query.published(), &answer.text_to_12_digits(), &published);
        if let Some(plain) = plain {
            assert_same(
                &plain[index].text(),
                &answer.text(),
                &format!("{what}: as plain DataFusion"),
            );
        }
    }
    answers
}

#[test]
fn all_engines_give_the_published_answers_and_plain_datafusions_rows() {
    let tables = Tables::generate(SCALE);
    let parquet = Parquet::write(&tables);
    engine::block_on_many_threads(async {
        let memory_rows = check(&Plain, &tables, 4, None).await;
        let parquet_rows = check(&Plain, &parquet, 4, Some(&memory_rows)).await;
        for workers in [1, 2, 8] {
            let ours = Ours::with_workers(workers);
            check(&ours, &tables, workers, Some(&memory_rows)).await;
            check(&ours, &parquet, workers, Some(&parquet_rows)).await;
        }
    });
}
