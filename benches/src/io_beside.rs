//! I/O beside CPU work: delay of a paced round trip over loopback while computation keeps all cores
//! busy, by where that runs.
//!
//! The loop is open: each round trip is due at a fixed moment, and its time runs from then. All use
//! one connection in order, so a late one delays those behind it, as for a client's heartbeats.
//! Client and echo are async tasks of one tokio runtime with two threads, the same for all rows.
//!
//! The runtime's timer rounds up to milliseconds twice, which is most of the measured time, as the
//! row *nowhere* shows. So each round trip is due at another place within the millisecond. With one
//! place a row that begins late by luck would lead throughout.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pools::Pools;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::THREADS;
use crate::bench::{About, Bench};
use crate::burn::{STEPS_1_MS, burn};
use crate::contender::{Contender, Outcome, Role};
use crate::machine;
use crate::options::Options;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

const PACE: Duration = Duration::from_millis(5);

const BYTES: usize = 64;

const IN_FLIGHT: usize = 8;

/// Steps of a CPU task of about 10 ms.
const STEPS: u64 = 10 * STEPS_1_MS;

/// Time of computation before the first round trip is due.
const SETTLE: Duration = Duration::from_millis(50);

const OURS: &str = "windlass pools";
const OURS_NICE: &str = "windlass pools, nice 19";
const RAYON: &str = "rayon, 2 threads, oneshot";

trait Place: Send + Sync + 'static {
    const IN_FLIGHT: usize = IN_FLIGHT;

    fn task(&self, seed: u64) -> impl Future<Output = u64> + Send;
}

struct Nowhere;

impl Place for Nowhere {
    const IN_FLIGHT: usize = 0;

    async fn task(&self, seed: u64) -> u64 {
        seed
    }
}

struct SameRuntime;

impl Place for SameRuntime {
    async fn task(&self, seed: u64) -> u64 {
        let result = burn(seed, STEPS);
        tokio::task::yield_now().await;
        result
    }
}

struct SpawnBlocking;

impl Place for SpawnBlocking {
    async fn task(&self, seed: u64) -> u64 {
        let task = tokio::task::spawn_blocking(move || burn(seed, STEPS));
        task.await.expect("nothing panics")
    }
}

struct Rayon(ThreadPool);

impl Place for Rayon {
    async fn task(&self, seed: u64) -> u64 {
        let (send, result) = tokio::sync::oneshot::channel();
        self.0
            .spawn(move || send.send(burn(seed, STEPS)).expect("its driver awaits it"));
        result.await.expect("nothing panics")
    }
}

struct Ours(Pools);

impl Place for Ours {
    async fn task(&self, seed: u64) -> u64 {
        let task = self.0.cpu().run(move |_cx| burn(seed, STEPS));
        task.await.expect("nothing panics")
    }
}

pub(crate) struct IoBeside;

impl Bench for IoBeside {
    fn about(&self) -> &'static About {
        &About {
            name: "io-beside",
            question: "paced round trips over loopback beside CPU work, by where that runs",
            page: "benches/io-beside.md",
            plots: "",
            rounds: 5,
            knobs: &[],
        }
    }

    fn peers(&self, _options: &Options) -> anyhow::Result<Vec<String>> {
        Ok(machine::locked(&["rayon", "tokio"]))
    }

    fn workloads(&self, options: &Options) -> anyhow::Result<Vec<Workload>> {
        Ok(vec![workload(options)])
    }
}

fn workload(options: &Options) -> Workload {
    let window = Duration::from_millis(options.of(2_000, 500));
    let ours = |runtime, nice| {
        let pools = Pools::builder().cpu_threads(THREADS).cpu_nice(nice);
        Ours(pools.runtime(runtime).build().expect("the numbers are in range"))
    };
    let contenders: Vec<Contender> = vec![
        row(OURS, Role::Ours, window, move |runtime| ours(runtime, 0)),
        row(OURS_NICE, Role::Ours, window, move |runtime| ours(runtime, 19)),
        row(RAYON, Role::Peer, window, |_| {
            let pool = ThreadPoolBuilder::new().num_threads(THREADS).build();
            Rayon(pool.expect("rayon starts"))
        }),
        row("spawn_blocking", Role::Peer, window, |_| SpawnBlocking),
        row("the same runtime", Role::Peer, window, |_| SameRuntime),
        row("nowhere", Role::Baseline, window, |_| Nowhere),
    ];
    Workload::new(
        "io beside CPU work",
        format!(
            "A round trip of {BYTES} bytes over loopback is due every {} ms, from the moment when \
             it was due to its end, beside CPU tasks of some 10 ms, {IN_FLIGHT} in flight, each \
             awaited by an async task that then starts the next. The runtime has {THREADS} threads. \
             Percentiles are of all rounds together, their spread is that of the rounds; a round \
             trip that had not ended with the round counts as if it had ended then.",
            PACE.as_millis(),
        ),
    )
    .columns([
        Column::percentile("p50, ms", 50.0),
        Column::percentile("p99, ms", 99.0),
        Column::percentile("max, ms", 100.0),
        Column::gained("CPU tasks/s", 0),
    ])
    .cold()
    .rows(contenders)
    .targets([
        Target::at_most(1.0, Of::Row(RAYON)).row(OURS_NICE),
        Target::at_most(0.7, Of::Row(RAYON)).row(OURS_NICE).column(1),
        Target::at_least(0.98, Of::Row(RAYON)).row(OURS_NICE).column(3),
        Target::at_most(1.0, Of::Row(RAYON)).row(OURS),
        Target::at_most(0.7, Of::Row(RAYON)).row(OURS).column(1),
        Target::at_least(0.98, Of::Row(RAYON)).row(OURS).column(3),
    ])
}

fn row<P: Place>(
    name: &'static str,
    role: Role,
    window: Duration,
    place: impl Fn(Handle) -> P + 'static,
) -> Contender {
    let start = move || {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .expect("tokio starts");
        let place = Arc::new(place(runtime.handle().clone()));
        move || drive(&runtime, &place, window)
    };
    Contender::new(name, role, start)
}

/// One round. Figures: CPU tasks per second in the window. Samples: milliseconds of round trips.
fn drive<P: Place>(runtime: &Runtime, place: &Arc<P>, window: Duration) -> Outcome {
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (samples, tasks_per_s) = runtime.block_on(async {
        let drivers = (0..P::IN_FLIGHT as u64).map(|driver| {
            let (place, stop, done) = (Arc::clone(place), Arc::clone(&stop), Arc::clone(&done));
            tokio::spawn(async move {
                let mut seed = driver;
                while !stop.load(Ordering::Relaxed) {
                    seed = place.task(seed).await;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let drivers: Vec<_> = drivers.collect();
        tokio::time::sleep(SETTLE).await;
        let (begun, before) = (Instant::now(), done.load(Ordering::Relaxed));
        // In a task, like a server's: this thread is outside the runtime.
        let samples = tokio::spawn(round_trips(begun, window))
            .await
            .expect("nothing panics");
        let tasks = done.load(Ordering::Relaxed) - before;
        let tasks_per_s = tasks as f64 / begun.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        // Leaves the cores to the next round, which may be another row's.
        for driver in drivers {
            driver.await.expect("nothing panics");
        }
        (samples.expect("loopback works"), tasks_per_s)
    });
    Outcome {
        answer: 1,
        measured: vec![if tasks_per_s > 0.0 { tasks_per_s } else { f64::NAN }],
        samples,
    }
}

/// Round trips at their due times, for `window` from `begun` on. Returns the milliseconds from due
/// time to end of each.
async fn round_trips(begun: Instant, window: Duration) -> io::Result<Vec<f64>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let echo = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let mut bytes = [0; BYTES];
        loop {
            match socket.read_exact(&mut bytes).await {
                Ok(_) => socket.write_all(&bytes).await?,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok::<_, io::Error>(()),
                Err(error) => return Err(error),
            }
        }
    });
    let mut socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let (end, mut due, mut samples) = (begun + window, begun, Vec::new());
    let ms = |due: Instant, ended: Instant| ended.saturating_duration_since(due).as_secs_f64() * 1e3;
    let mut bytes = [7; BYTES];
    let mut trips = 0;
    while due < end && Instant::now() < end {
        let due_here = due + within_a_millisecond(trips);
        tokio::time::sleep_until(due_here.into()).await;
        socket.write_all(&bytes).await?;
        socket.read_exact(&mut bytes).await?;
        samples.push(ms(due_here, Instant::now()));
        due += PACE;
        trips += 1;
    }
    // Round trips for which no time was left.
    while due < end {
        samples.push(ms(due, Instant::now().max(end)));
        due += PACE;
    }
    drop(socket);
    echo.await.map_err(io::Error::other)??;
    Ok(samples)
}

/// Due place of round trip number `n` within its millisecond: steps of the golden section, evenly
/// spread for any number.
fn within_a_millisecond(n: u32) -> Duration {
    let part_of_2_32 = u64::from(n.wrapping_mul(2_654_435_769));
    Duration::from_nanos((part_of_2_32 * 1_000_000) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_trip_that_was_due_gives_a_sample() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let samples = runtime.block_on(round_trips(Instant::now(), 4 * PACE)).unwrap();
        assert_eq!(samples.len(), 4);
        assert!(samples.iter().all(|&ms| ms > 0.0), "{samples:?}");
    }

    #[test]
    fn the_places_within_a_millisecond_are_spread_evenly() {
        for trips in [10, 100, 400] {
            let tenth = |n| (within_a_millisecond(n).as_nanos() / 100_000) as usize;
            let mut places = [0; 10];
            (0..trips).for_each(|n| places[tenth(n)] += 1);
            let even = trips / 10;
            assert!(
                places.iter().all(|&n| n >= even / 2 && n <= 2 * even),
                "{places:?}"
            );
        }
    }

    #[test]
    fn one_that_is_behind_counts_up_to_the_end_of_the_window() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let begun = Instant::now() - 10 * PACE;
        let samples = runtime.block_on(round_trips(begun, 10 * PACE)).unwrap();
        assert_eq!(samples.len(), 10);
        assert!(samples[0] >= 50.0 && samples[0] > samples[9], "{samples:?}");
    }
}
