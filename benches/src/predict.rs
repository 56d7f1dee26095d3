//! Predicts makespans from the simulator's virtual time, and the error of that on the cores at
//! hand.
//!
//! ```text
//!   rounds:  calibrate ─► loads on 1 and 2 threads, in turn ─┐
//!                │                                           ├─► error of each prediction
//!                └─► costs ─► loads in the simulator ────────┘
//!                                   └─► curves to 1,024 workers, with their bounds
//! ```

mod calibrate;
mod disturbance;
mod load;
mod threads;
mod virtual_time;

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::Result;
use sim::{Costs, Profile};

use crate::bench::{About, Bench};
use crate::contender::{Contender, Outcome, Role};
use crate::interleave;
use crate::number::short;
use crate::options::{Knob, Options};
use crate::report::Report;
use crate::stats::{Stats, median};
use crate::workload::{Column, Workload};
use calibrate::Calibration;
use load::{COARSE, FINE, LARGE, Load};
use threads::{Burner, measure};
use virtual_time::predict;

/// Numbers of threads, as far as there are cores.
const THREADS: [usize; 2] = [1, 2];

/// Tries of a round until no other program disturbs it.
const TRIES: usize = 12;

/// Seeds whose median is a prediction.
const SEEDS: u64 = 5;

/// Fewer undisturbed runs say nothing.
const RUNS_MIN: usize = 3;

/// Workers of a curve in a first look.
const WORKERS_QUICK: usize = 16;

const KNOBS: &[Knob] = &[Knob::new(
    "workers",
    "1,2,4,8,16,32,64,128,256,512,1024",
    "numbers of workers of the curves, 1 to 1,024",
)];

pub(crate) struct Predict;

impl Bench for Predict {
    fn about(&self) -> &'static About {
        &About {
            name: "predict",
            question: "the simulator's virtual time beside the clock, and curves to 1,024 workers",
            page: "benches/predict.md",
            plots: "predict",
            rounds: 11,
            knobs: KNOBS,
        }
    }

    fn run(&self, options: &Options, show: &mut dyn FnMut(Report)) -> Result<()> {
        let mut workers: Vec<usize> = options.numbers("workers")?;
        anyhow::ensure!(
            workers.iter().all(|workers| (1..=1_024).contains(workers)),
            "--workers takes numbers from 1 to 1,024"
        );
        workers.retain(|workers| !options.quick || *workers <= WORKERS_QUICK);
        let wanted = |load: &&Load| load.name.contains(&options.filter);
        let measured: Vec<Load> = COARSE.iter().chain(&FINE).filter(wanted).copied().collect();
        anyhow::ensure!(!measured.is_empty(), "no load is called {:?}", options.filter);
        let (report, costs) = errors(&measured, self.rounds_of(options))?;
        show(report);
        for load in LARGE.iter().filter(wanted) {
            let one_ns = predict(load, 1, &costs, 1).elapsed_ns;
            for &workers in &workers {
                show(interleave::run(
                    Point::predicted(load, workers, &costs, one_ns).workload(load),
                    1,
                )?);
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Measured {
    calibration: Calibration,
    burners: Vec<Burner>,
    /// Milliseconds of each row's undisturbed runs.
    runs: Vec<Vec<f64>>,
}

/// Returns the loads beside their predictions, and the costs used.
fn errors(loads: &[Load], rounds: usize) -> Result<(Report, Costs)> {
    let cores = std::thread::available_parallelism()?.get();
    let threads = || THREADS.into_iter().filter(move |threads| *threads <= cores);
    let rows: Vec<(Load, usize)> = loads
        .iter()
        .flat_map(|load| threads().map(|threads| (*load, threads)))
        .collect();
    let measured = Rc::new(RefCell::new(Measured {
        runs: vec![Vec::new(); rows.len()],
        ..Measured::default()
    }));
    let calibrate = Rc::clone(&measured);
    let calibrate = Contender::baseline("calibration", move || {
        let measured = Rc::clone(&calibrate);
        move || {
            let mut measured = measured.borrow_mut();
            measured.calibration.round();
            measured.burners.push(Burner::measure());
            Outcome::verified(vec![f64::NAN])
        }
    });
    let row = |(at, &(load, workers)): (usize, &(Load, usize))| {
        let measured = Rc::clone(&measured);
        Contender::ours(name_of(&load, workers), move || {
            let measured = Rc::clone(&measured);
            move || {
                let mut measured = measured.borrow_mut();
                let burner = measured.burners[measured.burners.len() - 1];
                let runs = (0..TRIES).map(|_| measure(&load, workers, burner));
                let undisturbed = runs.into_iter().find(threads::Run::is_undisturbed);
                let ms = undisturbed.map(|run| run.elapsed.as_secs_f64() * 1e3);
                measured.runs[at].extend(ms);
                Outcome::verified(vec![ms.unwrap_or(f64::NAN)])
            }
        })
    };
    let workload = Workload::new(
        "predictions",
        "Loads on threads, from the call that hands them over until the caller knows that all has \
         run, and in the simulator. A round in which other programs wanted the cores is tried \
         again.",
    )
    .columns([Column::measured("measured, ms", 0)])
    .cold()
    .rows([calibrate])
    .rows(rows.iter().enumerate().map(row))
    .elsewhere();
    let mut report = interleave::run(workload, rounds)?;
    report.rows.remove(0);
    let measured = measured.borrow();
    let costs = measured.calibration.costs();
    add_predictions(&mut report, &rows, &measured.runs, &costs);
    let step_ns = |burner: &Burner| burner.step_ns();
    report.note += &format!(
        "\nA step of the burnt work took {:.3} ns, {} wanted a core in the last minute. What \
         operations cost:\n\n```text\n{costs}```",
        median(measured.burners.iter().map(step_ns)),
        load_average(),
    );
    Ok((report, costs))
}

fn name_of(load: &Load, workers: usize) -> String {
    format!(
        "{}, {workers} thread{}",
        load.name,
        if workers == 1 { "" } else { "s" }
    )
}

fn add_predictions(report: &mut Report, rows: &[(Load, usize)], runs: &[Vec<f64>], costs: &Costs) {
    let heads = [
        "predicted, ms",
        "error, %",
        "undisturbed",
        "tasks",
        "T₁, ms",
        "T∞, ms",
        "burdened T∞, ms",
        "at least, ms",
    ];
    report
        .columns
        .extend(heads.map(|head| Column::Told { head, index: 0 }));
    let mut errors: Vec<(&(Load, usize), f64)> = Vec::new();
    for ((at, runs), row) in rows.iter().zip(runs).zip(&mut report.rows) {
        let (load, workers) = at;
        let profiles: Vec<Profile> = (1..=SEEDS)
            .map(|seed| predict(load, *workers, costs, seed))
            .collect();
        let answered = |profile: &Profile| ms(profile.answered_ns.unwrap_or(profile.elapsed_ns));
        let predicted = median(profiles.iter().map(answered));
        let error = if runs.len() < RUNS_MIN {
            f64::NAN
        } else {
            (predicted / median(runs.iter().copied()) - 1.0) * 100.0
        };
        errors.push((at, error));
        let profile = &profiles[0];
        let figures = [
            predicted,
            error,
            runs.len() as f64,
            profile.tasks as f64,
            ms(profile.work_ns),
            ms(profile.span_ns),
            ms(profile.burdened_span_ns),
            ms(profile.lower_bound_ns(*workers)),
        ];
        row.figures.extend(figures.map(|figure| Stats::of(vec![figure])));
    }
    report.note = mean_errors(&errors);
}

/// The rows of a mean.
type Group = (&'static str, fn(&(Load, usize)) -> bool);

fn mean_errors(errors: &[(&(Load, usize), f64)]) -> String {
    let groups: [Group; 5] = [
        ("all rows", |_| true),
        ("tasks of microseconds", |(load, _)| !load.is_fine()),
        ("tasks of 100 ns and less", |(load, _)| load.is_fine()),
        ("1 thread", |(_, threads)| *threads == 1),
        ("2 threads", |(_, threads)| *threads == 2),
    ];
    let mean = |(name, is_of): Group| {
        let of = errors.iter().filter(|(row, error)| is_of(row) && !error.is_nan());
        let of: Vec<f64> = of.map(|(_, error)| error.abs()).collect();
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        format!("{name} {} %", short(mean))
    };
    let means = groups.map(mean).join(", ");
    let missing = errors.iter().filter(|(_, error)| error.is_nan()).count();
    format!(
        "Mean of the errors without their signs: {means}; {missing} rows have fewer than {RUNS_MIN} \
         undisturbed runs and are not in it.\n"
    )
}

/// A load on some workers: its time and bounds.
struct Point {
    workers: usize,
    profile: Profile,
    /// Time on one worker, costs included, in nanoseconds.
    one_ns: u64,
}

impl Point {
    fn predicted(load: &Load, workers: usize, costs: &Costs, one_ns: u64) -> Self {
        Self {
            workers,
            profile: predict(load, workers, costs, 1),
            one_ns,
        }
    }

    /// Bound of a greedy scheduler in which each task waits until a worker was woken for it.
    fn burdened_ns(&self) -> u64 {
        self.profile.burdened_span_ns + self.one_ns.div_ceil(self.workers as u64)
    }

    /// Speed-up is over the work on one worker without costs.
    fn workload(&self, load: &Load) -> Workload {
        let profile = &self.profile;
        let row = |name, role, ns: u64| {
            let figures = vec![ms(ns), profile.work_ns as f64 / ns.max(1) as f64];
            Contender::new(name, role, move || {
                let figures = figures.clone();
                move || Outcome::verified(figures.clone())
            })
        };
        let story = format!(
            "{} tasks, T₁ {} ms, T∞ {} ms, parallelism {}.",
            short(profile.tasks as f64),
            short(ms(profile.work_ns)),
            short(ms(profile.span_ns)),
            short(profile.parallelism()),
        );
        let name = format!("{}, {} workers", load.name, self.workers);
        let mut workload = Workload::new(name, story)
            .columns([Column::measured("ms", 0), Column::gained("speed-up", 1)])
            .cold()
            .rows([
                row("predicted", Role::Ours, profile.elapsed_ns),
                row("greedy, burdened", Role::Baseline, self.burdened_ns()),
                row("at most", Role::Baseline, profile.lower_bound_ns(self.workers)),
            ])
            .elsewhere()
            .family(format!("curve: {}", load.name), "workers", self.workers as f64);
        if let Some(family) = &mut workload.family {
            family.pivot = &[0, 1];
            family.plot = Some(1);
        }
        workload
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The load average of the last minute.
fn load_average() -> String {
    let average = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    average
        .split_whitespace()
        .next()
        .unwrap_or("an unknown number")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_lies_below_its_bound_and_rises() {
        let costs = Costs::default();
        let one_ns = predict(&COARSE[0], 1, &costs, 1).elapsed_ns;
        let mut before = 0.0;
        for workers in [1, 2, 4] {
            let point = Point::predicted(&COARSE[0], workers, &costs, one_ns);
            let report = interleave::run(point.workload(&COARSE[0]), 1).unwrap();
            let [predicted, burdened, at_most] = [0, 1, 2].map(|row| report.rows[row].figures[1].median);
            assert!(predicted <= at_most && predicted > burdened / 2.0);
            assert!(predicted > before, "{predicted} after {before}");
            before = predicted;
        }
    }

    #[test]
    fn loads_are_measured_and_predicted_and_few_runs_say_nothing() {
        let (report, _) = errors(&COARSE[..1], 1).unwrap();
        let error = report
            .columns
            .iter()
            .position(|column| column.head() == "error, %")
            .unwrap();
        assert_eq!(report.rows[0].name, "tree, 1 thread");
        assert!(report.rows.iter().all(|row| row.figures[error].median.is_nan()));
        assert!(report.rows.iter().all(|row| row.figures[1].median > 0.0));
        assert!(report.note.contains("rows have fewer than 3"), "{}", report.note);
    }

    #[test]
    fn the_mean_error_has_no_signs() {
        let rows = [(COARSE[0], 1), (FINE[0], 2)];
        let note = mean_errors(&[(&rows[0], -10.0), (&rows[1], 20.0)]);
        for text in [
            "all rows 15.0 %",
            "tasks of microseconds 10.0 %",
            "2 threads 20.0 %",
        ] {
            assert!(note.contains(text), "{text} is not in {note}");
        }
    }
}
