//! Ballista in this process, with the engine in its executor.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use arrow_flight::flight_service_server::FlightServiceServer;
use ballista::prelude::SessionContextExt;
use ballista_core::BALLISTA_PROTOCOL_VERSION;
use ballista_core::JobId;
use ballista_core::execution_plans::ShuffleWriterExec;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::ExecutorRegistration;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::scheduler::{ExecutorOperatingSystemSpecification, ExecutorSpecification};
use ballista_core::utils::{default_config_producer, default_session_builder};
use ballista_executor::execution_engine::{ExecutionEngine, QueryStageExecutor};
use ballista_executor::execution_loop::poll_loop;
use ballista_executor::executor::Executor;
use ballista_executor::flight_service::BallistaFlightService;
use ballista_executor::health::ExecutorHealth;
use ballista_executor::metrics::LoggingMetricsCollector;
use ballista_scheduler::standalone::new_standalone_scheduler_with_builder;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SendableRecordBatchStream, SessionStateBuilder, TaskContext};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::runtime::{Builder, Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tpch_tables::Table;
use windlass_ballista::WindlassEngine;
use windlass_datafusion::pools::Pools;
use windlass_datafusion::{QueryEnded, Windlass, WindlassExec, WindlassOptions};

fn windlass() -> Windlass {
    let pools = Pools::builder().cpu_threads(2).build().expect("in range");
    Windlass::install(pools).expect("the hook is free or ours")
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("two threads")
}

/// Settings by which a session says how its jobs run: client, scheduler and executor know them.
fn config() -> SessionConfig {
    default_config_producer()
        .with_target_partitions(2)
        .with_option_extension(WindlassOptions::default())
}

/// A scheduler, and an executor with this engine that asks it for tasks. They end with the runtime.
async fn cluster(engine: Arc<dyn ExecutionEngine>, work_dir: &Path) -> anyhow::Result<String> {
    let scheduler = new_standalone_scheduler_with_builder(
        Arc::new(default_session_builder),
        Arc::new(config),
        BallistaCodec::default(),
    )
    .await?;
    let url = format!("http://localhost:{}", scheduler.port());
    let client = SchedulerGrpcClient::connect(url.clone()).await?;
    let listener = tokio::net::TcpListener::bind("localhost:0").await?;
    let vcores = 2;
    let executor = ExecutorRegistration {
        id: "the executor".to_owned(),
        host: Some("localhost".to_owned()),
        port: listener.local_addr()?.port().into(),
        grpc_port: 0,
        specification: Some(ExecutorSpecification::default().with_vcores(vcores).into()),
        os_info: Some(ExecutorOperatingSystemSpecification::default().into()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    };
    let work_dir = work_dir.to_str().context("a path of text")?;
    let runtime = Arc::new(RuntimeEnv::default());
    let executor = Executor::new(
        executor,
        work_dir,
        Arc::new(move |_config| Ok(Arc::clone(&runtime))),
        Arc::new(config),
        Arc::new(BallistaFunctionRegistry::default()),
        Arc::new(LoggingMetricsCollector::default()),
        vcores as usize,
        engine,
    );
    let flights = FlightServiceServer::new(BallistaFlightService::new(work_dir.to_owned()));
    let flights = tonic::transport::Server::builder().add_service(flights);
    tokio::spawn(flights.serve_with_incoming(TcpListenerStream::new(listener)));
    let health = ExecutorHealth::new();
    tokio::spawn(poll_loop(
        client,
        Arc::new(executor),
        BallistaCodec::default(),
        None,
        None,
        health,
    ));
    Ok(url)
}

fn write_tables(folder: &Path) -> anyhow::Result<()> {
    for table in Table::ALL {
        let (schema, batches) = table.whole(0.01)?;
        let file = fs::File::create(folder.join(format!("{}.parquet", table.name())))?;
        let mut writer = ArrowWriter::try_new(file, schema, None)?;
        for batch in &batches {
            writer.write(batch)?;
        }
        writer.close()?;
    }
    Ok(())
}

async fn remote(url: &str) -> anyhow::Result<SessionContext> {
    let state = SessionStateBuilder::new()
        .with_config(config())
        .with_default_features();
    Ok(SessionContext::remote_with_state(url, state.build()).await?)
}

async fn with_tables(session: SessionContext, folder: &Path) -> anyhow::Result<SessionContext> {
    for table in Table::ALL {
        let path = folder.join(format!("{}.parquet", table.name()));
        let path = path.to_str().context("a path of text")?;
        session
            .register_parquet(table.name(), path, ParquetReadOptions::default())
            .await?;
    }
    Ok(session)
}

/// The rows as sorted lines.
async fn answer(session: &SessionContext, sql: &str) -> anyhow::Result<Vec<String>> {
    let batches = session.sql(sql).await?.collect().await?;
    let table = pretty_format_batches(&batches)?.to_string();
    let mut lines: Vec<_> = table.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    Ok(lines)
}

#[test]
fn the_queries_of_tpch_have_plain_datafusions_rows_and_are_computed_by_jobs() {
    let windlass = windlass();
    let engine = Arc::new(WindlassEngine::new(&windlass));
    let folder = tempfile::tempdir().expect("a folder");
    write_tables(folder.path()).expect("tables");
    let work_dir = tempfile::tempdir().expect("a folder");
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../windlass-datafusion/tests/tpch");
    let compared = runtime().block_on(async {
        let url = cluster(engine, work_dir.path()).await?;
        let plain = with_tables(SessionContext::new(), folder.path()).await?;
        let ballista = with_tables(remote(&url).await?, folder.path()).await?;
        // At once, since Ballista looks for tasks each tenth of a second.
        let wrong = (1..=22).map(|number| {
            let sql = fs::read_to_string(queries.join(format!("q{number:02}.sql")));
            let (plain, ballista) = (&plain, &ballista);
            async move {
                let sql = sql?;
                let (expected, found) = (answer(plain, &sql).await?, answer(ballista, &sql).await?);
                let is_same = found == expected;
                anyhow::Ok((!is_same).then(|| format!("Q{number}: {found:#?}, not {expected:#?}")))
            }
        });
        let wrong = futures_util::future::try_join_all(wrong).await?;
        anyhow::Ok(wrong.into_iter().flatten().collect::<String>())
    });
    assert_eq!(compared.expect("every query has an answer"), "");
    let computed = windlass.pools().snapshot().cpu.expect("the pool has begun");
    assert!(computed.jobs.completed > 22, "{computed:?}");
}

#[test]
fn a_sessions_deadline_ends_its_jobs_on_the_executor() {
    let windlass = windlass();
    let engine = Arc::new(WindlassEngine::new(&windlass));
    let folder = tempfile::tempdir().expect("a folder");
    write_tables(folder.path()).expect("tables");
    let work_dir = tempfile::tempdir().expect("a folder");
    let failed = runtime().block_on(async {
        let url = cluster(engine, work_dir.path()).await?;
        let session = with_tables(remote(&url).await?, folder.path()).await?;
        session
            .sql("set windlass.deadline = '1us'")
            .await?
            .collect()
            .await?;
        let grouped = "select l_partkey, count(*) from lineitem group by l_partkey";
        let failed = answer(&session, grouped)
            .await
            .map_err(|error| format!("{error:#}"));
        anyhow::Ok(failed)
    });
    let failed = failed
        .expect("a cluster")
        .expect_err("the deadline is over at once");
    // Ballista passes errors on as they are debugged.
    let late = format!("{:?}", QueryEnded::DeadlineExceeded);
    assert!(failed.contains(&late), "{failed}");
}

/// An endless column-free table that counts its open streams.
#[derive(Debug)]
struct Endless {
    schema: SchemaRef,
    open: Arc<AtomicUsize>,
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        // Ordering: Relaxed. The test waits for the value.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PartitionStream for Endless {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        // Ordering: Relaxed. As above.
        self.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(Arc::clone(&self.open));
        let empty = RecordBatch::new_empty(Arc::clone(&self.schema));
        let rows = stream::repeat_with(move || {
            let _open = &open;
            Ok(empty.clone())
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}

fn endless(open: &Arc<AtomicUsize>) -> Arc<dyn ExecutionPlan> {
    let schema = Arc::new(Schema::empty());
    let partition = || {
        Arc::new(Endless {
            schema: Arc::clone(&schema),
            open: Arc::clone(open),
        }) as Arc<dyn PartitionStream>
    };
    let partitions = vec![partition(), partition()];
    let plan = StreamingTableExec::try_new(Arc::clone(&schema), partitions, None, [], true, None);
    Arc::new(plan.expect("one schema"))
}

fn stage(windlass: &Windlass, work_dir: &Path, open: &Arc<AtomicUsize>) -> Arc<dyn QueryStageExecutor> {
    let job = JobId::from("job");
    let work_dir = work_dir.to_str().expect("a path of text");
    let writer = ShuffleWriterExec::try_new(job.clone(), 1, endless(open), work_dir.to_owned());
    let writer = Arc::new(writer.expect("a plan"));
    let config = SessionConfig::new();
    let stage = WindlassEngine::new(windlass).create_query_stage_exec(
        job,
        1,
        1,
        vec![0, 1],
        writer,
        work_dir,
        &config,
    );
    stage.expect("a stage")
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(60), async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert!(waited.await.is_ok(), "never: {what}");
}

#[test]
fn a_stage_whose_future_is_dropped_leaves_no_job_and_no_stream() {
    let windlass = windlass();
    let open = Arc::new(AtomicUsize::new(0));
    let work_dir = tempfile::tempdir().expect("a folder");
    runtime().block_on(async {
        let stage = stage(&windlass, work_dir.path(), &open);
        let context = SessionContext::new().task_ctx();
        let running = tokio::spawn(async move { stage.execute_query_stage(1, context).await.map(drop) });
        // Ordering: Relaxed. See `Open`.
        until("both partitions are read", || open.load(Ordering::Relaxed) == 2).await;
        assert_eq!(windlass.snapshot().jobs.len(), 1, "a task is one job");
        running.abort();
        until("all is dropped", || open.load(Ordering::Relaxed) == 0).await;
        until("no job is open", || windlass.snapshot().jobs.is_empty()).await;
    });
}

#[test]
fn a_stopped_plan_ends_with_an_error_and_what_begins_later_as_well() {
    let windlass = windlass();
    let open = Arc::new(AtomicUsize::new(0));
    let root = Arc::new(WindlassExec::new(endless(&open), &windlass));
    runtime().block_on(async {
        let context = || SessionContext::new().task_ctx();
        let mut running = execute_stream(Arc::clone(&root) as _, context()).expect("it begins");
        running.next().await.expect("endless").expect("a batch");
        root.stop();
        let later = execute_stream(Arc::clone(&root) as _, context()).expect("it begins");
        for rows in [running, later] {
            let ended = rows
                .try_for_each(async |_batch| Ok(()))
                .await
                .expect_err("stopped");
            assert!(
                ended.to_string().contains(&QueryEnded::Cancelled.to_string()),
                "{ended}"
            );
        }
        until("all is dropped", || open.load(Ordering::Relaxed) == 0).await;
    });
}
