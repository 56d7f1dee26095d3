//! The engines: plain DataFusion, two ways to keep its short queries short, and windlass.

use std::sync::Arc;

use anyhow::Context as _;
use arrow::array::RecordBatch;
use clap::ValueEnum;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use pipeline_exec::PipelineExecutor;
use pools::{AsyncJob, JobOptions, Pools};
use tokio::runtime::{Builder, Runtime};
use windlass_datafusion::{Windlass, WindlassExt, WindlassOptions};

use crate::tables::Tables;

/// Also the number of partitions of a plan.
pub(crate) const THREADS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    Plain,
    #[value(name = "batches-1024")]
    SmallBatches,
    SecondRuntime,
    /// Each query, planning included, is a future of a job.
    Windlass,
    /// The client plans.
    Session,
    /// As `session`, with `windlass.operators = true`.
    Operators,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::SmallBatches => "batches-1024",
            Self::SecondRuntime => "second-runtime",
            Self::Windlass => "windlass",
            Self::Session => "session",
            Self::Operators => "operators",
        }
    }
}

#[derive(Clone)]
pub(crate) struct Engine {
    session: SessionContext,
    cpu: Cpu,
}

#[derive(Clone)]
enum Cpu {
    Here,
    Runtime(Arc<Runtime>),
    Windlass(Windlass),
}

impl Engine {
    pub(crate) async fn new(
        kind: Kind,
        tables: &Tables,
        main: Option<usize>,
        spares: usize,
    ) -> anyhow::Result<Self> {
        let mut config = SessionConfig::new().with_target_partitions(THREADS);
        if kind == Kind::SmallBatches {
            config = config.with_batch_size(1_024);
        }
        let cpu = match kind {
            Kind::Plain | Kind::SmallBatches => Cpu::Here,
            Kind::SecondRuntime => {
                let runtime = Builder::new_multi_thread()
                    .worker_threads(THREADS)
                    .thread_name("cpu")
                    .enable_all()
                    .build()?;
                Cpu::Runtime(Arc::new(runtime))
            }
            Kind::Windlass | Kind::Session | Kind::Operators => {
                let mut executor = PipelineExecutor::builder().threads(THREADS).spares(spares);
                if let Some(main) = main {
                    executor = executor.roles(main, THREADS - main);
                }
                Cpu::Windlass(Windlass::install(Pools::from_executor(executor.build()?))?)
            }
        };
        let (session, cpu) = match cpu {
            Cpu::Windlass(windlass) if kind != Kind::Windlass => {
                let options = WindlassOptions {
                    operators: kind == Kind::Operators,
                    ..WindlassOptions::default()
                };
                let config = config.with_option_extension(options);
                let state = SessionStateBuilder::new()
                    .with_config(config)
                    .with_default_features()
                    .with_windlass(&windlass)
                    .build();
                (SessionContext::new_with_state(state), Cpu::Here)
            }
            cpu => (SessionContext::new_with_config(config), cpu),
        };
        tables.register(&session, THREADS).await?;
        Ok(Self { session, cpu })
    }

    pub(crate) async fn query(&self, sql: &'static str) -> anyhow::Result<Vec<RecordBatch>> {
        self.run(self.plain_query(sql)).await
    }

    pub(crate) async fn run<F>(&self, query: F) -> anyhow::Result<Vec<RecordBatch>>
    where
        F: Future<Output = datafusion::common::Result<Vec<RecordBatch>>> + Send + 'static,
    {
        Ok(match &self.cpu {
            Cpu::Here => query.await?,
            Cpu::Runtime(runtime) => runtime.spawn(query).await.context("the second runtime")??,
            Cpu::Windlass(windlass) => windlass.spawn(JobOptions::new(), query).await??,
        })
    }

    pub(crate) fn plain_query(
        &self,
        sql: &'static str,
    ) -> impl Future<Output = datafusion::common::Result<Vec<RecordBatch>>> + Send + 'static {
        let session = self.session.clone();
        async move { session.sql(sql).await?.collect().await }
    }

    pub(crate) fn session(&self) -> &SessionContext {
        &self.session
    }

    pub(crate) fn job(&self, options: JobOptions) -> Option<AsyncJob> {
        match &self.cpu {
            Cpu::Windlass(windlass) => Some(windlass.pools().cpu().open(options)),
            Cpu::Here | Cpu::Runtime(_) => None,
        }
    }

    pub(crate) fn jobs_in_flight(&self) -> usize {
        match &self.cpu {
            Cpu::Windlass(windlass) => {
                let executor = windlass.snapshot().pools.cpu;
                executor.map_or(0, |executor| executor.queue_depth)
            }
            Cpu::Here | Cpu::Runtime(_) => 0,
        }
    }
}
