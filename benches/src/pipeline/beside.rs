//! Short jobs at a pace, beside heavy ones for every worker: time of the short ones, and throughput
//! of the heavy ones.
//!
//! The loop is open: each short job is due at a fixed moment, and its time runs from then. A client
//! that waited for one job before the next would ask less often while the system is slow
//! (*coordinated omission*). The client itself may wake late, which every time here includes; a row
//! of its own shows how much.
//! that, and a row of its own shows how much.

mod hosts;
mod load;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use self::hosts::{Host, Pool, Threads};
use self::load::{Heavy, Shorts, Signal};
use super::{rayon_of, windlass};
use crate::THREADS;
use crate::contender::{Contender, Outcome};
use crate::options::Options;
use crate::stats::percentile;
use crate::target::{Of, Target};
use crate::workload::{Column, Workload};

/// Two quanta, in milliseconds.
const TWO_QUANTA_MS: f64 = 4.0;

/// Time of heavy jobs before the first short one is due.
const SETTLE: Duration = Duration::from_millis(200);

#[derive(Clone, Copy)]
struct Mix {
    /// Clients, each of which runs heavy jobs one after the other.
    heavy: u64,
    /// Time between two due short jobs.
    pace: Duration,
    /// One of ten jobs panics.
    panics: bool,
    /// Time in which short jobs come.
    window: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Both,
    OnlyShort,
    OnlyHeavy,
    /// The short jobs' client wakes and submits nothing.
    ClientAlone,
}

pub(super) fn workloads(options: &Options) -> Vec<Workload> {
    let window = Duration::from_millis(options.of(1_000, 400));
    let mix = |heavy, pace_ms| Mix {
        heavy,
        pace: Duration::from_millis(pace_ms),
        panics: false,
        window,
    };
    let storm = Mix {
        panics: true,
        ..mix(8, 20)
    };
    vec![
        workload("short beside 2 heavy", mix(2, 20)),
        workload("short beside 8 heavy", mix(8, 20)),
        workload("many short beside 8 heavy", mix(8, 5)),
        workload("short beside 8 heavy, panics", storm),
    ]
}

fn workload(name: &str, mix: Mix) -> Workload {
    let ours = move |name, part| {
        let start = move || {
            let host = windlass();
            move || drive(&host, mix, part)
        };
        Contender::ours(name, start)
    };
    let rayon = move || {
        let host = Pool(rayon_of(THREADS));
        move || drive(&host, mix, Part::Both)
    };
    let client = move || {
        let host = windlass();
        move || drive(&host, mix, Part::ClientAlone)
    };
    let contenders: Vec<Contender> = vec![
        ours("windlass", Part::Both),
        Contender::peer("rayon", rayon),
        Contender::peer("a thread for each job", move || {
            move || drive(&Threads, mix, Part::Both)
        }),
        ours(ALONE, Part::OnlyShort),
        ours(HEAVY_ALONE, Part::OnlyHeavy),
        Contender::baseline("how late the client wakes", client),
    ];
    Workload::new(
        name,
        format!(
            "A job of one slot of some 1 ms is due every {} ms, from the moment when it was due to \
             its end, beside {} clients that each run one heavy job after the other, of {} slots of \
             some 1 ms.{} Percentiles are of all rounds together, their spread is that of the \
             rounds; what had not ended with the round counts as if it had ended then, or later. \
             Rayon's heavy jobs are par_iter of slots, its short ones spawned; with a thread for \
             each job the operating system decides. The last row is the short jobs' client beside \
             our heavy ones, which wakes and submits nothing; *from submit* leaves out what it was \
             late.",
            mix.pace.as_millis(),
            mix.heavy,
            load::SLOTS,
            if mix.panics {
                " One of ten jobs panics, short ones and heavy ones."
            } else {
                ""
            },
        ),
    )
    .columns([
        Column::percentile("p50, ms", 50.0),
        Column::percentile("p95, ms", 95.0),
        Column::percentile("p99, ms", 99.0),
        Column::percentile("max, ms", 100.0),
        Column::measured("p99 from submit, ms", 0),
        Column::gained("heavy slots/s", 1),
    ])
    .cold()
    .rows(contenders)
    .targets([
        Target::at_most(
            1.0,
            Of::More {
                row: ALONE,
                plus: TWO_QUANTA_MS,
                called: "alone + 2 quanta",
            },
        )
        .column(2),
        Target::at_least(0.15, Of::Row(HEAVY_ALONE)).column(5),
    ])
}

const ALONE: &str = "windlass, short alone";
const HEAVY_ALONE: &str = "windlass, heavy alone";

/// The answer is 1 if every job ended as it should. Figures: the short jobs' 99th percentile
/// without the client's lateness, and heavy slots per second.
fn drive(host: &dyn Host, mix: Mix, part: Part) -> Outcome {
    let signal = Signal::new();
    let heavy_number = AtomicU64::new(0);
    let heavy_clients = if part == Part::OnlyShort { 0 } else { mix.heavy };
    let jobs = mix.window.as_nanos() / mix.pace.as_nanos();
    let shorts = Shorts::new(jobs as usize, mix.panics);
    let (samples, late, slots_per_s) = thread::scope(|scope| {
        for _ in 0..heavy_clients {
            scope.spawn(|| {
                while !signal.is_stopped() {
                    let number = heavy_number.fetch_add(1, Ordering::Relaxed);
                    host.heavy(&Arc::new(Heavy::new(number, mix.panics, &signal)));
                }
            });
        }
        thread::sleep(SETTLE);
        let (begun, slots) = (Instant::now(), signal.slots());
        let late = open_loop(begun, mix, |number| match part {
            Part::Both | Part::OnlyShort => host.short(shorts.job(number)),
            Part::OnlyHeavy | Part::ClientAlone => {}
        });
        let slots = signal.slots() - slots;
        let slots_per_s = slots as f64 / begun.elapsed().as_secs_f64();
        signal.stop();
        let samples = match part {
            Part::Both | Part::OnlyShort => shorts.wait_ms(begun, mix.pace),
            Part::ClientAlone => return (late, Vec::new(), slots_per_s),
            Part::OnlyHeavy => Vec::new(),
        };
        (samples, late, slots_per_s)
    });
    let mut from_submit: Vec<f64> = samples
        .iter()
        .zip(&late)
        .map(|(took, late)| took - late)
        .collect();
    from_submit.sort_by(f64::total_cmp);
    let slots_per_s = Some(slots_per_s).filter(|_| heavy_clients > 0);
    Outcome {
        answer: 1,
        measured: vec![percentile(&from_submit, 99.0), slots_per_s.unwrap_or(f64::NAN)],
        samples,
    }
}

/// A late job does not delay the others. Returns how late each was, in milliseconds.
fn open_loop(begun: Instant, mix: Mix, mut submit: impl FnMut(usize)) -> Vec<f64> {
    let mut late = Vec::new();
    let mut due = begun;
    while due < begun + mix.window {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        late.push(due.elapsed().as_secs_f64() * 1e3);
        submit(late.len() - 1);
        due += mix.pace;
    }
    thread::sleep((begun + mix.window).saturating_duration_since(Instant::now()));
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_submission_delays_no_other_and_counts_as_late() {
        let mix = Mix {
            heavy: 0,
            pace: Duration::from_millis(1),
            panics: false,
            window: Duration::from_millis(5),
        };
        let mut submitted = Vec::new();
        let late = open_loop(Instant::now(), mix, |number| {
            submitted.push(number);
            if number == 0 {
                thread::sleep(Duration::from_millis(4));
            }
        });
        assert_eq!(submitted, [0, 1, 2, 3, 4]);
        assert!(
            late[1] >= 3.0,
            "due at 1 ms, submitted at 4 ms or later: {late:?}"
        );
    }
}
