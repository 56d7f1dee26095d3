//! A session's settings for its queries, and their metrics in EXPLAIN.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::DataType;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{ColumnarValue, Volatility};
use datafusion::prelude::{SessionConfig, create_udf};
use pools::JobOptions;
use windlass_datafusion::{Class, QueryEnded, WindlassOptions};

use crate::engine::{Engine, Ours, Plain, block_on_many_threads};
use crate::rows::Rows;
use crate::source::{Numbers, eventually};

#[test]
fn settings_are_set_and_shown_in_sql() {
    let ours = Ours::with_workers(1);
    block_on_many_threads(async {
        let session = ours.session_with(SessionConfig::new().with_information_schema(true));
        for (set, shown) in [
            ("windlass.class = 'batch'", "windlass.class batch"),
            ("windlass.deadline = '5s'", "windlass.deadline 5s"),
            ("windlass.max_workers = 2", "windlass.max_workers 2"),
            ("windlass.memory = '64MiB'", "windlass.memory 67108864"),
            ("windlass.operators = true", "windlass.operators true"),
        ] {
            session.sql(&format!("set {set}")).await.expect("a setting");
            let name = set.split(' ').next().expect("a name");
            let rows = Rows::of(&session, &format!("show {name}"), name).await;
            assert_eq!(rows.text(), [shown]);
        }
        let state = session.state();
        let options = state.config().options().extensions.get::<WindlassOptions>();
        let expected = WindlassOptions {
            class: Class::Batch,
            deadline: Some(Duration::from_secs(5)),
            max_workers: Some(2),
            memory: Some(64 << 20),
            operators: true,
        };
        assert_eq!(options, Some(&expected));
        let error = session
            .sql("set windlass.class = 'urgent'")
            .await
            .expect_err("no class");
        assert!(
            error
                .to_string()
                .contains("it takes interactive, normal or batch"),
            "{error}"
        );
    });
}

#[test]
fn options_that_a_program_has_set_stay() {
    let ours = Ours::with_workers(1);
    let options = WindlassOptions {
        class: Class::Interactive,
        ..WindlassOptions::default()
    };
    let session = ours.session_with(SessionConfig::new().with_option_extension(options.clone()));
    let state = session.state();
    let found = state.config().options().extensions.get::<WindlassOptions>();
    assert_eq!(found, Some(&options));
}

#[test]
fn a_query_over_its_deadline_ends_with_an_error_that_says_so() {
    let ours = Ours::with_workers(2);
    let numbers = Numbers::endless(2);
    block_on_many_threads(async {
        let session = ours.session(2);
        numbers.register_in(&session);
        session
            .sql("set windlass.deadline = '100ms'")
            .await
            .expect("a setting");
        let frame = session.sql("select count(*) from numbers").await.expect("a plan");
        let begun = Instant::now();
        let error = frame.collect().await.expect_err("it has no end");
        assert!(begun.elapsed() >= Duration::from_millis(100));
        let DataFusionError::External(source) = error.find_root() else {
            panic!("{error:?}");
        };
        assert_eq!(source.downcast_ref(), Some(&QueryEnded::DeadlineExceeded));
    });
    eventually("all is dropped", || numbers.counts.open() == 0);
}

#[test]
fn a_join_that_makes_millions_of_batches_of_two_leaves_its_worker_at_the_deadline() {
    let ours = Ours::with_workers(1);
    let numbers = Numbers::new(1, 8);
    block_on_many_threads(async {
        let session = ours.session(1);
        numbers.register_in(&session);
        for condition in [
            "a.n < b.n and b.n <> c.n",
            "a.n % 2 = b.n % 2 and b.n % 2 = c.n % 2",
        ] {
            session
                .sql("set windlass.deadline = '50ms'")
                .await
                .expect("a setting");
            let sql = format!("select count(*) from numbers a, numbers b, numbers c where {condition}");
            let frame = session.sql(&sql).await.expect("a plan");
            let error = frame.collect().await.expect_err("it would take hours");
            assert!(error.to_string().contains("deadline"), "{error}");
            session
                .sql("set windlass.deadline = '1h'")
                .await
                .expect("a setting");
            let rows = Rows::of(&session, "select count(*) from numbers", condition).await;
            assert_eq!(rows.text(), ["8000"]);
            eventually("the join is dropped", || numbers.counts.open() == 0);
        }
    });
}

#[test]
fn explain_shows_plain_datafusions_plan() {
    let ours = Ours::with_workers(2);
    let sql = "explain select n % 10 as m, count(*) from numbers group by m order by m";
    block_on_many_threads(async {
        let mut texts = Vec::new();
        for session in [Plain.session(4), ours.session(4)] {
            Numbers::new(4, 2).register_in(&session);
            texts.push(Rows::of(&session, sql, sql).await.text());
        }
        assert_eq!(texts[0], texts[1]);
    });
}

#[test]
fn explain_analyze_has_the_node_where_the_jobs_work_begins() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        let session = ours.session(4);
        Numbers::new(4, 2).register_in(&session);
        let sql = "explain analyze select count(*) from numbers";
        let text = Rows::of(&session, sql, sql).await.text().join(" ");
        let [node, aggregate] = ["WindlassExec", "AggregateExec"].map(|node| text.find(node));
        assert!(node.is_some() && node < aggregate, "{text}");
        for measure in ["tasks=", "turns=", "busy=", "waited=", "longest_turn="] {
            assert!(text.contains(measure), "{measure} in {text}");
        }
    });
    eventually("no job is open", || ours.windlass.snapshot().jobs.is_empty());
}

#[test]
fn explain_analyze_inside_a_job_tells_what_the_plan_has_used_of_it() {
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        let session = ours.session(4);
        Numbers::new(4, 2).register_in(&session);
        let sql = "explain analyze select count(*) from numbers";
        let inside = async move { Rows::of(&session, sql, sql).await.text().join(" ") };
        let text = ours.windlass.spawn(JobOptions::new(), inside).await.unwrap();
        assert!(text.contains("WindlassExec, metrics=[tasks="), "{text}");
        assert!(!text.contains("[tasks=0,"), "{text}");
    });
}

#[test]
fn explain_analyze_names_the_operator_of_the_longest_turn() {
    /// Longer than all else in the query.
    const TAKES: Duration = Duration::from_millis(20);
    let slow = create_udf(
        "slow",
        vec![DataType::Int64],
        DataType::Int64,
        Volatility::Volatile,
        Arc::new(|columns: &[ColumnarValue]| {
            let began = Instant::now();
            while began.elapsed() < TAKES {
                std::hint::spin_loop();
            }
            Ok(columns[0].clone())
        }),
    );
    let ours = Ours::with_workers(2);
    block_on_many_threads(async {
        let session = ours.session(1);
        Numbers::new(1, 1).register_in(&session);
        session.register_udf(slow);
        let sql = "explain analyze select slow(n) from numbers";
        // Another turn may be the longest if its thread lost the core.
        for _again in 0..50 {
            let text = Rows::of(&session, sql, sql).await.text().join(" ");
            if text.contains("longest_turn_in=ProjectionExec") {
                return;
            }
        }
        panic!("no operator is told");
    });
}
