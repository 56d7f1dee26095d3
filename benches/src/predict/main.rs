//! Predicts makespans from the simulator's virtual time, and says how far off that is on the cores at hand.
//!
//! `cargo xtask sim --predict` runs it. What operations cost is measured first, then loads are run on threads and in the simulator:
//!
//! ```text
//!   rounds:  calibrate ─► loads on 1 and 2 threads, in turn ─┐
//!                │                                           ├─► error of each prediction
//!                └─► costs ─► loads in the simulator ────────┘
//!                                   └─► curves to 1,024 workers, with their bounds
//! ```

mod calibrate;
mod comparison;
mod curve;
mod disturbance;
mod load;
mod threads;
mod virtual_time;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::available_parallelism;

use benches::{generated, machine, program};
use lexopt::{Arg, ValueExt as _};
use sim::Costs;

use calibrate::Calibration;
use comparison::Row;
use curve::Curve;
use load::{COARSE, FINE, LARGE, Load};
use threads::Burner;

const USAGE: &str = "usage: predict [--loads NAMES] [--workers NUMBERS] [--rounds N] [--write FOLDER]

  --loads NAMES      only loads whose names contain one of these, with commas between
  --workers NUMBERS  numbers of workers of the curves, with commas between (default 1,2,4,…,1024)
  --rounds N         rounds of measurements, 3 or more (default 11)
  --write FOLDER     also write prediction.md and its picture in this folder; of all loads and workers";

/// Threads that loads are measured on, as far as there are cores.
const THREADS: [usize; 2] = [1, 2];

/// Rounds in which only loads run of which there are too few undisturbed runs.
const FURTHER_ROUNDS: usize = 12;

/// As the marks of the page have it.
const COMMAND: &str = "cargo xtask sim --predict --write";
const PAGE: &str = "prediction.md";
const PICTURE: &str = "images/speed-up.svg";

fn main() -> ExitCode {
    program::run(Options::read(lexopt::Parser::from_env()), USAGE, run)
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    loads: Vec<String>,
    workers: Vec<usize>,
    rounds: usize,
    folder: Option<PathBuf>,
}

impl Options {
    fn read(mut parser: lexopt::Parser) -> Result<Self, lexopt::Error> {
        let mut options = Self {
            loads: Vec::new(),
            workers: (0..=10).map(|power| 1 << power).collect(),
            rounds: 11,
            folder: None,
        };
        let mut chosen = false;
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("loads") => {
                    options.loads = parser.value()?.string()?.split(',').map(str::to_owned).collect();
                    chosen = true;
                }
                Arg::Long("workers") => {
                    options.workers = program::numbers("--workers", &parser.value()?.string()?)?;
                    chosen = true;
                }
                Arg::Long("rounds") => options.rounds = parser.value()?.parse()?,
                Arg::Long("write") => options.folder = Some(parser.value()?.into()),
                other => return Err(other.unexpected()),
            }
        }
        if options.rounds < 3 {
            return Err("--rounds takes a number from 3 on".into());
        }
        if options
            .workers
            .iter()
            .any(|workers| !(1..=1_024).contains(workers))
        {
            return Err("--workers takes numbers from 1 to 1,024".into());
        }
        if chosen && options.folder.is_some() {
            return Err(
                "--write is for all loads and workers, so neither with --loads nor with --workers".into(),
            );
        }
        Ok(options)
    }

    fn wants(&self, load: &Load) -> bool {
        self.loads.is_empty() || self.loads.iter().any(|name| load.name.contains(name))
    }
}

fn run(options: &Options) -> io::Result<()> {
    let cores = available_parallelism()?.get();
    let wanted =
        |loads: &[Load]| -> Vec<Load> { loads.iter().copied().filter(|load| options.wants(load)).collect() };
    let measured = [wanted(&COARSE), wanted(&FINE)].concat();
    if measured.is_empty() {
        return Err(io::Error::other(format!("no load is called {:?}", options.loads)));
    }
    let threads = || THREADS.into_iter().filter(|threads| *threads <= cores);
    let mut rows: Vec<Row> = measured
        .iter()
        .flat_map(|load| threads().map(|threads| Row::new(*load, threads)))
        .collect();
    let (costs, burners) = measure(&mut rows, options.rounds);

    let head = format!(
        "{}, {}, {cores} cores, {} rounds, load average {}. Times in milliseconds. A step of the burnt work took {:.3} ns \
         ({:.3} … {:.3}).\n",
        machine::date(),
        machine::processor(),
        options.rounds,
        load_average(),
        Burner::median(burners.clone()).step_ns(),
        burners
            .iter()
            .map(|burner| burner.step_ns())
            .fold(f64::INFINITY, f64::min),
        burners.iter().map(|burner| burner.step_ns()).fold(0.0, f64::max),
    );
    println!("{head}\n{costs}");
    let compared: Vec<_> = rows.iter().map(|row| row.compared(&costs)).collect();
    let errors = comparison::table(&compared);
    println!("{errors}");
    let mut curves = Vec::new();
    for load in wanted(&LARGE) {
        let curve = Curve::predicted(&load, &options.workers, &costs);
        println!("{}", curve.table());
        curves.push(curve);
    }
    if let Some(folder) = &options.folder {
        let tables: Vec<String> = curves.iter().map(Curve::table).collect();
        let text = format!(
            "{head}\n### Costs\n\n```text\n{costs}```\n\n### Errors\n\n{errors}\n### Curves\n\n\
             ![speed-up over workers]({PICTURE})\n\n{}",
            tables.join("\n")
        );
        write(folder, &text, &curves)?;
    }
    Ok(())
}

/// Calibrates and measures in turn.
fn measure(rows: &mut [Row], rounds: usize) -> (Costs, Vec<Burner>) {
    let mut calibration = Calibration::default();
    let mut burners = Vec::new();
    for _ in 0..rounds {
        calibration.round();
        let burner = Burner::measure();
        burners.push(burner);
        rows.iter_mut().for_each(|row| row.round(burner));
    }
    // On a busy machine some have hardly been undisturbed.
    for _ in 0..FURTHER_ROUNDS {
        let lacking = rows.iter_mut().filter(|row| !row.is_enough());
        let burner = Burner::median(burners.clone());
        lacking.for_each(|row| row.round(burner));
    }
    (calibration.costs(), burners)
}

fn write(folder: &Path, text: &str, curves: &[Curve]) -> io::Result<()> {
    let picture = folder.join(PICTURE);
    if let Some(folder) = picture.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(picture, curve::picture(curves).map_err(io::Error::other)?)?;
    generated::write(&folder.join(PAGE), COMMAND, text)
}

/// How many wanted a core in the last minute, where the system tells.
fn load_average() -> String {
    let average = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    average.split_whitespace().next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, lexopt::Error> {
        Options::read(lexopt::Parser::from_args(words))
    }

    #[test]
    fn loads_and_workers_can_be_chosen() {
        let options = read(&["--loads", "tree,job", "--workers", "1,64", "--rounds", "3"]).unwrap();
        assert_eq!((options.workers.as_slice(), options.rounds), (&[1, 64][..], 3));
        assert!(options.wants(&COARSE[1]) && !options.wants(&COARSE[2]));
        assert_eq!(read(&[]).unwrap().workers.last(), Some(&1_024));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            &["--workers", "0"][..],
            &["--workers", "1,x"],
            &["--rounds", "1"],
            &["--loads", "tree", "--write", "docs"],
            &["tree"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
