//! Short jobs beside heavy ones, and one job on many workers, in virtual time: tables and plots.
//!
//! `cargo xtask sim --load` runs it. Nothing is measured here: every figure is the simulator's, and the same on every machine.

mod picture;
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use benches::{generated, program};
use lexopt::{Arg, ValueExt as _};
use sim::Failure;

use table::{Beside, Flood, SpeedUp};

const USAGE: &str = "usage: load [--workers NUMBERS] [--heavies NUMBERS] [--write FOLDER]

  --workers NUMBERS  numbers of workers, with commas between (default 1,2,4,8,16,32,64)
  --heavies NUMBERS  numbers of heavy clients, with commas between (default 0,1,2,4,8,16)
  --write FOLDER     also write latency.md and its pictures in this folder; with all workers and clients";

/// As the marks of the page have it.
const COMMAND: &str = "cargo xtask sim --load --write";
const PAGE: &str = "latency.md";
const LATENCY: &str = "images/latency-beside.svg";
const SPEED_UP: &str = "images/speed-up-of-a-job.svg";

fn main() -> ExitCode {
    program::run(Options::read(lexopt::Parser::from_env()), USAGE, run)
}

/// What the command line asks for.
#[derive(Debug, PartialEq)]
struct Options {
    workers: Vec<usize>,
    heavies: Vec<u32>,
    folder: Option<PathBuf>,
}

impl Options {
    fn read(mut parser: lexopt::Parser) -> Result<Self, lexopt::Error> {
        let mut options = Self {
            workers: (0..=6).map(|power| 1 << power).collect(),
            heavies: vec![0, 1, 2, 4, 8, 16],
            folder: None,
        };
        let mut chosen = false;
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("workers") => {
                    options.workers = program::numbers("--workers", &parser.value()?.string()?)?;
                    chosen = true;
                }
                Arg::Long("heavies") => {
                    options.heavies = program::numbers("--heavies", &parser.value()?.string()?)?;
                    chosen = true;
                }
                Arg::Long("write") => options.folder = Some(parser.value()?.into()),
                other => return Err(other.unexpected()),
            }
        }
        if options.workers.iter().any(|workers| !(1..=256).contains(workers)) {
            return Err("--workers takes numbers from 1 to 256".into());
        }
        if chosen && options.folder.is_some() {
            return Err(
                "--write is for all workers and clients, so neither with --workers nor with --heavies".into(),
            );
        }
        Ok(options)
    }
}

fn run(options: &Options) -> io::Result<()> {
    let Options {
        workers,
        heavies,
        folder,
    } = options;
    let loads = workers
        .iter()
        .flat_map(|&workers| heavies.iter().map(move |&heavies| (workers, heavies)));
    let beside = all(loads.map(|(workers, heavies)| Beside::simulated(workers, heavies)))?;
    let latency = table::beside(&beside);
    println!("Short jobs of 1 ms beside heavy ones of 1 s, in virtual time\n\n{latency}");
    let flood = table::flood(&all(workers.iter().map(|&workers| Flood::simulated(workers)))?);
    println!("Beside more short jobs than there is time for\n\n{flood}");
    let jobs = [1_000, 100]
        .into_iter()
        .flat_map(|slot_us| workers.iter().map(move |&workers| (workers, slot_us)));
    let speed_ups = all(jobs.map(|(workers, slot_us)| SpeedUp::simulated(workers, slot_us)))?;
    let speed_up = table::speed_up(&speed_ups);
    println!("One job of 1,000 slots, all workers asleep when it comes\n\n{speed_up}");
    if let Some(folder) = folder {
        let text = format!(
            "### Short jobs beside heavy ones\n\n\
             ![99th percentile of short jobs over the number of heavy clients]({LATENCY})\n\n{latency}\n\
             ### More short jobs than there is time for\n\n{flood}\n\
             ### One job of 1,000 slots\n\n\
             ![what part of the possible speed-up a job of a thousand slots reaches, over workers]({SPEED_UP})\n\n{speed_up}"
        );
        let pictures = [
            (LATENCY, picture::beside(&beside)),
            (SPEED_UP, picture::speed_up(&speed_ups)),
        ];
        for (name, drawn) in pictures {
            save(folder, name, &drawn.map_err(io::Error::other)?)?;
        }
        generated::write(&folder.join(PAGE), COMMAND, &text)?;
    }
    Ok(())
}

/// All of them, or what the first oracle that found fault said.
fn all<T>(runs: impl Iterator<Item = Result<T, Failure>>) -> io::Result<Vec<T>> {
    runs.collect::<Result<_, _>>().map_err(io::Error::other)
}

fn save(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let path = folder.join(name);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, lexopt::Error> {
        Options::read(lexopt::Parser::from_args(words))
    }

    #[test]
    fn workers_and_clients_can_be_chosen() {
        let options = read(&["--workers", "2,64", "--heavies", "8"]).unwrap();
        assert_eq!((options.workers, options.heavies), (vec![2, 64], vec![8]));
        assert_eq!(read(&[]).unwrap().workers.last(), Some(&64));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            &["--workers", "0"][..],
            &["--workers", "1,x"],
            &["--heavies", "2", "--write", "docs"],
            &["all"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
