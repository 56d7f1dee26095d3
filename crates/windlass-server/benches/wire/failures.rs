//! Several machines of which one dies again and again: `cargo xtask bench wire failures`.
//!
//! ```text
//!   4 clients with the 22 queries of TPC-H, in turn ┐
//!   1 client that goes in the midst of a query      ├─► server ─► worker, worker, …
//!   every few seconds SIGKILL, or SIGSTOP for a while ────────────────┘
//! ```
//!
//! Each answer must be that of one process, and each error must name a worker.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use nix::sys::signal::Signal;

use crate::answers::Answers;
use crate::clients;
use crate::engine::{Kind, Running, Tables};
use crate::options::Options;
use crate::process::{Held, Process};
use crate::queries;
use paced_load::percentile::at;

const KILLS: usize = 20;
const STOPS: usize = 5;
const QUERIES: usize = 1_000;

/// Longest time from a query to its answer or error: a worker that is gone is found within 5 s, and
/// the second attempt may meet another that is gone.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// Time after the load in which the processes get rid of what is left.
const SETTLES_WITHIN: Duration = Duration::from_secs(30);

/// How queries ended.
#[derive(Debug, Default)]
struct Ends {
    right: AtomicUsize,
    dropped: AtomicUsize,
    errors: Mutex<BTreeMap<String, usize>>,
    times: Mutex<Vec<Duration>>,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    ensure!(options.nodes >= 2, "failures need two workers or more: --nodes 2");
    let mut answers = Answers::default();
    let single = Options {
        nodes: 0,
        ..options.clone()
    };
    let one = Running::start(Kind::Windlass, Tables::Parquet, &single)?;
    answers.compare(&one, queries::TPCH.iter().copied())?;
    one.stop()?;

    let mut engine = Running::start(Kind::Windlass, Tables::Parquet, options)?;
    answers.compare(&engine, queries::TPCH.iter().copied())?;
    engine.ensure_distributed()?;
    println!(
        "22 answers over {} workers equal those of one process",
        options.nodes
    );
    let before = engine.held()?;
    let ends = Ends::default();
    let over = AtomicBool::new(false);
    let mut workers = engine.take_nodes();
    let started = Instant::now();
    let answered = thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let (engine, answers, ends, over) = (&engine, &answers, &ends, &over);
                scope.spawn(move || ask(engine, answers, ends, over, client))
            })
            .collect();
        let goes = scope.spawn(|| go_in_the_midst(&engine, &ends, &over));
        let broken = break_workers(&mut workers, &ends);
        // Ordering: Relaxed. It only requests a stop.
        over.store(true, Ordering::Relaxed);
        for client in clients.into_iter().chain([goes]) {
            client
                .join()
                .map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        broken
    });
    answered?;
    let took = started.elapsed();
    engine.give_nodes(workers);
    // The workers that are left are all there.
    answers.compare(&engine, queries::TPCH.iter().copied())?;
    ends.print(took);
    let after = settled(&engine, &before)?;
    print_held(&before, &after);
    engine.stop()
}

/// Asks queries until it is over.
fn ask(
    engine: &Running,
    answers: &Answers,
    ends: &Ends,
    over: &AtomicBool,
    client: usize,
) -> anyhow::Result<()> {
    let runtime = clients::runtime()?;
    let connected = runtime.block_on(clients::connect(engine))?;
    let mut turn = client * 5;
    // Ordering: Relaxed. As in `run`.
    while !over.load(Ordering::Relaxed) {
        let sql = queries::TPCH[turn % queries::TPCH.len()];
        turn += 1;
        let began = Instant::now();
        let ended = runtime
            .block_on(async { tokio::time::timeout(ANSWERS_WITHIN, connected.simple_query(sql)).await });
        let ended = ended.with_context(|| format!("no end within {ANSWERS_WITHIN:?}: {sql}"))?;
        ends.took(began.elapsed());
        match ended {
            Ok(messages) => {
                answers.ensure_right(sql, &messages)?;
                // Ordering: Relaxed. A count.
                ends.right.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => ends.failed(&error)?,
        }
    }
    Ok(())
}

/// A client that is gone before its answer comes, again and again.
fn go_in_the_midst(engine: &Running, ends: &Ends, over: &AtomicBool) -> anyhow::Result<()> {
    let runtime = clients::runtime()?;
    let mut turn = 0;
    // Ordering: Relaxed. As in `run`.
    while !over.load(Ordering::Relaxed) {
        let sql = queries::TPCH[turn * 7 % queries::TPCH.len()];
        turn += 1;
        let patience = Duration::from_millis(turn as u64 * 7_919 % 300 + 1);
        runtime.block_on(async {
            let client = clients::connect(engine).await?;
            let _gone = tokio::time::timeout(patience, client.simple_query(sql)).await;
            anyhow::Ok(())
        })?;
        // Ordering: Relaxed. A count.
        ends.dropped.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// Kills and stops workers at moments that differ, and waits until enough queries are answered.
fn break_workers(workers: &mut [Process], ends: &Ends) -> anyhow::Result<()> {
    for turn in 0..KILLS + STOPS {
        thread::sleep(moment(turn, 2_000));
        let count = workers.len();
        let worker = &mut workers[turn * 3 % count];
        if turn % 5 == 4 {
            worker.signal(Signal::SIGSTOP)?;
            thread::sleep(Duration::from_secs(6));
            worker.signal(Signal::SIGCONT)?;
        } else {
            worker.kill()?;
            thread::sleep(moment(turn + 1, 2_000));
            worker.restart()?;
        }
    }
    while ends.count() < QUERIES {
        thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// A time that differs from turn to turn, up to `max_ms`.
fn moment(turn: usize, max_ms: u64) -> Duration {
    // Steps by a prime go through all of them.
    Duration::from_millis((turn as u64 + 1) * 7_919 % max_ms + 1)
}

/// What each process holds once it holds no more files than before, or after a bound.
fn settled(engine: &Running, before: &[Held]) -> anyhow::Result<Vec<Held>> {
    let until = Instant::now() + SETTLES_WITHIN;
    loop {
        let held = engine.held()?;
        let is_settled = held.iter().zip(before).all(|(now, then)| now.files <= then.files);
        if is_settled || Instant::now() > until {
            return Ok(held);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn print_held(before: &[Held], after: &[Held]) {
    println!(
        "\n| process | resident MiB, before | after | threads, before | after | descriptors, before | after |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|");
    for (index, (then, now)) in before.iter().zip(after).enumerate() {
        let name = if index == 0 {
            "server".to_owned()
        } else {
            format!("worker {index}")
        };
        println!(
            "| {name} | {:.0} | {:.0} | {} | {} | {} | {} |",
            then.resident_mib, now.resident_mib, then.threads, now.threads, then.files, now.files
        );
    }
}

impl Ends {
    fn took(&self, time: Duration) {
        self.times
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .push(time);
    }

    fn count(&self) -> usize {
        self.times
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .len()
    }

    /// Notes an error.
    ///
    /// # Errors
    ///
    /// If it does not name a worker.
    fn failed(&self, error: &tokio_postgres::Error) -> anyhow::Result<()> {
        let told = error.as_db_error().with_context(|| format!("{error:#}"))?;
        ensure!(
            told.message().contains("http://127.0.0.1:"),
            "this error names no worker: {told}"
        );
        let mut errors = self
            .errors
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        *errors.entry(told.code().code().to_owned()).or_default() += 1;
        Ok(())
    }

    fn print(&self, took: Duration) {
        let mut times = self
            .times
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .clone();
        times.sort_unstable();
        let errors = self
            .errors
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        println!(
            "{KILLS} times SIGKILL, {STOPS} times SIGSTOP for 6 s, in {:.0} s: {} queries, {} right, errors that name a worker \
             {errors:?}, {} clients that went; p50 {:.0} ms, p99 {:.0}, longest {:.0}",
            took.as_secs_f64(),
            times.len(),
            // Ordering: Relaxed. All clients have ended.
            self.right.load(Ordering::Relaxed),
            self.dropped.load(Ordering::Relaxed),
            at(&times, 0.5),
            at(&times, 0.99),
            at(&times, 1.0),
        );
    }
}
