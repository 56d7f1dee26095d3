//! Clients of a soak: some wait for their answers, some cancel, some die.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::TryStreamExt as _;
use paced_load::sleep_until;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls};

use crate::clients;
use crate::engine::Running;
use crate::queries;

/// The outcome of a statement whose client did not wait for it.
pub(super) const UNKNOWN: &str = "unknown";

const PACE: Duration = Duration::from_millis(50);

/// How many statements ended how, and the times of the short ones.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    counts: Mutex<BTreeMap<String, u64>>,
    latencies: Mutex<Vec<Duration>>,
}

impl Outcomes {
    pub(super) fn add(&self, outcome: &str) {
        let mut counts = self
            .counts
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        *counts.entry(outcome.to_owned()).or_default() += 1;
    }

    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.counts
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .clone()
    }

    pub(super) fn latencies(&self) -> Vec<Duration> {
        self.latencies
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .clone()
    }

    fn took(&self, time: Duration) {
        let mut latencies = self
            .latencies
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        latencies.push(time);
    }

    /// Notes the end of a statement.
    ///
    /// # Errors
    ///
    /// If it is not one of those that the load brings about.
    fn ended<T>(&self, ended: Result<T, tokio_postgres::Error>) -> anyhow::Result<()> {
        let error = match ended {
            Ok(_) => {
                self.add("ok");
                return Ok(());
            }
            Err(error) => error,
        };
        match error.code() {
            Some(code)
                if [
                    SqlState::QUERY_CANCELED,
                    SqlState::OUT_OF_MEMORY,
                    SqlState::DIVISION_BY_ZERO,
                ]
                .contains(code) =>
            {
                self.add(code.code());
                Ok(())
            }
            _ => Err(error).context("a statement of the soak"),
        }
    }
}

/// What an actor works with.
#[derive(Clone, Copy)]
struct Stage<'a> {
    server: &'a Running,
    outcomes: &'a Outcomes,
    over: &'a AtomicBool,
}

impl Stage<'_> {
    fn goes_on(&self) -> bool {
        // Ordering: Relaxed. It only requests a stop.
        !self.over.load(Ordering::Relaxed)
    }

    /// The heavy query of an actor's turn.
    fn heavy(&self, turn: u64) -> &'static str {
        let mix = queries::heavy("mix").unwrap_or_default();
        mix.get(turn as usize % mix.len().max(1))
            .copied()
            .unwrap_or("select 1")
    }
}

/// A time that differs from turn to turn, up to `max_ms`.
fn moment(turn: u64, max_ms: u64) -> Duration {
    // Steps by a prime go through all of them.
    Duration::from_millis(turn * 7_919 % max_ms + 1)
}

type Actor = fn(&Stage<'_>, u64) -> anyhow::Result<()>;

const ACTORS: &[Actor] = &[
    waits,
    waits,
    waits,
    cancels,
    cancels,
    times_out,
    times_out,
    dies,
    dies,
    stops_reading,
    comes_and_goes,
];

pub(super) fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: &'scope Running,
    outcomes: &'scope Outcomes,
    over: &'scope AtomicBool,
) -> Vec<ScopedJoinHandle<'scope, anyhow::Result<()>>> {
    let stage = Stage {
        server,
        outcomes,
        over,
    };
    let actors = ACTORS.iter().zip(0_u64..).map(|(actor, number)| {
        scope.spawn(move || {
            let mut turn = number;
            while stage.goes_on() {
                actor(&stage, turn)?;
                turn += 1;
            }
            Ok(())
        })
    });
    let mut actors: Vec<_> = actors.collect();
    actors.push(scope.spawn(move || asks_at_a_pace(&stage)));
    actors
}

fn connected(stage: &Stage<'_>) -> anyhow::Result<(tokio::runtime::Runtime, Client)> {
    let runtime = clients::runtime()?;
    let client = runtime.block_on(clients::connect(stage.server))?;
    Ok((runtime, client))
}

fn waits(stage: &Stage<'_>, turn: u64) -> anyhow::Result<()> {
    let (runtime, client) = connected(stage)?;
    for turn in turn..turn + 3 {
        stage
            .outcomes
            .ended(runtime.block_on(client.simple_query(stage.heavy(turn))))?;
    }
    Ok(())
}

fn cancels(stage: &Stage<'_>, turn: u64) -> anyhow::Result<()> {
    let (runtime, client) = connected(stage)?;
    runtime.block_on(async {
        for turn in turn..turn + 5 {
            let cancel = async {
                tokio::time::sleep(moment(turn, 400)).await;
                client.cancel_token().cancel_query(NoTls).await
            };
            let (ended, cancelled) = tokio::join!(client.simple_query(stage.heavy(turn)), cancel);
            cancelled?;
            stage.outcomes.ended(ended)?;
        }
        Ok(())
    })
}

fn times_out(stage: &Stage<'_>, turn: u64) -> anyhow::Result<()> {
    let (runtime, client) = connected(stage)?;
    runtime.block_on(async {
        for turn in turn..turn + 5 {
            let timeout = moment(turn, 1_000).as_millis();
            client
                .simple_query(&format!("set statement_timeout = {timeout}"))
                .await?;
            stage
                .outcomes
                .ended(client.simple_query(stage.heavy(turn)).await)?;
        }
        Ok(())
    })
}

/// Its connection is gone when the runtime is dropped.
fn dies(stage: &Stage<'_>, turn: u64) -> anyhow::Result<()> {
    let (runtime, client) = connected(stage)?;
    stage.outcomes.add(UNKNOWN);
    let asked = client.simple_query(stage.heavy(turn));
    // Whether it ends in time is not of interest.
    let _ = runtime.block_on(async { tokio::time::timeout(moment(turn, 300), asked).await });
    Ok(())
}

/// Takes a few rows of many, waits, and is gone.
fn stops_reading(stage: &Stage<'_>, turn: u64) -> anyhow::Result<()> {
    let (runtime, client) = connected(stage)?;
    // To describe it, and to run it.
    stage.outcomes.add("ok");
    stage.outcomes.add(UNKNOWN);
    runtime.block_on(async {
        let rows = client
            .query_raw("select * from lineitem", std::iter::empty::<i32>())
            .await?;
        let mut rows = std::pin::pin!(rows);
        for _ in 0..moment(turn, 5_000).as_millis() {
            rows.try_next().await?;
        }
        anyhow::Ok(())
    })?;
    std::thread::sleep(moment(turn, 2_000));
    Ok(())
}

fn comes_and_goes(stage: &Stage<'_>, turn: u64) -> anyhow::Result<()> {
    let (runtime, client) = connected(stage)?;
    runtime.block_on(async {
        let row = client
            .query_one("select $1::bigint + 1", &[&(turn as i64)])
            .await?;
        anyhow::ensure!(row.get::<_, i64>(0) == turn as i64 + 1);
        // To describe it, and to run it.
        stage.outcomes.add("ok");
        stage.outcomes.add("ok");
        stage.outcomes.ended(client.simple_query("select 1 / 0").await)?;
        client.simple_query("begin").await?;
        client
            .simple_query("declare c cursor for select o_orderkey from orders")
            .await?;
        // To describe it.
        stage.outcomes.add("ok");
        let rows = client.simple_query("fetch 10 from c").await?;
        anyhow::ensure!(clients::rows(&rows).len() == 10);
        stage.outcomes.add(UNKNOWN);
        client.simple_query("rollback").await?;
        tokio::time::sleep(moment(turn, 200)).await;
        Ok(())
    })
}

fn asks_at_a_pace(stage: &Stage<'_>) -> anyhow::Result<()> {
    let (runtime, client) = connected(stage)?;
    let mut due = Instant::now();
    while stage.goes_on() {
        sleep_until(due);
        let asked = client.simple_query("select c_name, c_acctbal from customer where c_custkey = 123");
        stage.outcomes.ended(runtime.block_on(asked))?;
        stage.outcomes.took(due.elapsed());
        due += PACE;
    }
    Ok(())
}
