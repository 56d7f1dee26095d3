//! The published answers of the 22 queries of TPC-H, from memory and from Parquet.

mod published;
mod queries;
mod tables;

use datafusion::prelude::SessionContext;

use self::published::{AtOne, AtTenth, Published};
use self::queries::Query;
use self::tables::{Parquet, Tables};
use crate::engine::{self, Engine, Operators, Ours, Plain};
use crate::rows::{Rows, assert_same};

trait Source {
    fn name(&self) -> &'static str;

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

async fn check(
    published: &impl Published,
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
        published.assert_answer(query, answer, &format!("{what}: as published"));
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

fn check_all(published: &impl Published) {
    let tables = Tables::generate(published.scale());
    let parquet = Parquet::write(&tables);
    engine::block_on_many_threads(async {
        let memory_rows = check(published, &Plain, &tables, 4, None).await;
        let parquet_rows = check(published, &Plain, &parquet, 4, Some(&memory_rows)).await;
        for workers in [1, 2, 8] {
            let ours = Ours::with_workers(workers);
            check(published, &ours, &tables, workers, Some(&memory_rows)).await;
            check(published, &ours, &parquet, workers, Some(&parquet_rows)).await;
            let operators = Operators::with_workers(workers);
            check(published, &operators, &tables, workers, Some(&memory_rows)).await;
            check(published, &operators, &parquet, workers, Some(&parquet_rows)).await;
        }
    });
}

#[test]
fn all_engines_give_the_published_answers_and_plain_datafusions_rows() {
    check_all(&AtTenth);
}

#[test]
fn aggregates_over_a_table_are_by_the_stages() {
    let tables = Tables::generate(0.01);
    let engine = Operators::with_workers(2);
    engine::block_on_many_threads(async {
        let session = engine.session(2);
        tables.register(&session).await;
        let mut by_stages = Vec::new();
        for query in Query::all() {
            let plan = format!("explain {}", query.sql());
            let plan = Rows::of(&session, &plan, query.name()).await.text();
            if plan.iter().any(|line| line.contains("WindlassAggregateExec")) {
                by_stages.push(query.name().to_owned());
            }
        }
        assert_eq!(by_stages, ["Q01", "Q06", "Q15", "Q17", "Q18", "Q20"]);
    });
}

#[test]
#[ignore = "it takes minutes, and answers that are not in this repository: tests/tpch/README.md says how to run it"]
fn at_scale_1_all_engines_give_the_published_answers_and_plain_datafusions_rows() {
    check_all(&AtOne::from_environment());
}
