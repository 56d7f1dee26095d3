//! The simulator from the command line: a swarm of seeds, or one run again.
//!
//! Exit code 0 means that what was asked for came true, 1 that it did not, 2 that the question made no sense.

#[path = "windlass-sim/exhaustive.rs"]
mod exhaustive;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::exhaustive::ExhaustiveRun;
use sim::{
    Choices, Course, Failure, Recording, ReplayLine, RunOptions, Scenario, StrategyKind, Summary, Swarm,
    write_chrome_trace,
};

const USAGE: &str = "\
windlass-sim: runs the scheduler's own code in one thread, from seeds.

  windlass-sim [OPTIONS]                   a swarm: scenarios drawn from seeds, each run twice
  windlass-sim --replay LINE [OPTIONS]     one run again, as a failure's line says
  windlass-sim --exhaustive [OPTIONS]      all runs of small configurations

  --seeds N           how many seeds (default 2000)
  --seed-base N       the first seed (default 0)
  --scenario CONFIG   always this one, as `scenario=tree,roots=1,size=4,workers=2`
  --strategy NAME     always this one: random, sticky, round-robin, earliest, pct:DEPTH[:STEPS], delay:DELAYS[:STEPS]
  --expect-failure    exit with 0 if some seed fails, and say within how many schedules
  --marks             print every coverage mark
  --out DIR           where the choices of a failure go (default target/windlass-sim)
  --choices FILE      with --replay: make the choices of this file
  --trace FILE        with --replay, or for the first seed: write a Chrome trace
  --help              this

with --exhaustive, which comes first:
  --all               all configurations, and not only those that CI closes within a minute
  --scenario CONFIG   this one instead; `private=0,spin=0,credit=1` keep it small
  --preemptions K     with --scenario: only runs with at most K preemptions
  --seed N            with --scenario: what its jobs are made of is drawn from N (default 0)
  --expect-failure    with --scenario: exit with 0 if some run fails
  --limit N           give up after N schedules of a configuration
  --seconds N         give up after N seconds of a configuration
  --out DIR           as above
";

fn main() -> ExitCode {
    let outcome = match Command::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{USAGE}");
            Ok(true)
        }
        Ok(Command::Replay(replay)) => replay.run(),
        Ok(Command::Exhaustive(exhaustive)) => exhaustive.run(),
        Ok(Command::Swarm(swarm)) => swarm.run(),
        Err(message) => Err(message),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("windlass-sim: {message}");
            ExitCode::from(2)
        }
    }
}

/// Where the choices of a failure go.
const OUT: &str = "target/windlass-sim";

enum Command {
    Help,
    Replay(ReplayRun),
    Exhaustive(ExhaustiveRun),
    Swarm(SwarmRun),
}

struct ReplayRun {
    line: ReplayLine,
    scenario: Scenario,
    choices: Option<Choices>,
    trace: Option<PathBuf>,
    out: PathBuf,
}

struct SwarmRun {
    swarm: Swarm,
    expect_failure: bool,
    marks: bool,
    trace: Option<PathBuf>,
    out: PathBuf,
}

impl Command {
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = arguments.peekable();
        if arguments.next_if(|option| option == "--exhaustive").is_some() {
            return if arguments.next_if(|option| option == "--help").is_some() {
                Ok(Self::Help)
            } else {
                ExhaustiveRun::parse(arguments).map(Self::Exhaustive)
            };
        }
        let mut swarm = Swarm::new(0, 2000);
        let (mut replay, mut choices, mut trace) = (None, None, None);
        let (mut expect_failure, mut marks) = (false, false);
        let mut out = PathBuf::from(OUT);
        // Options that only one of the two forms knows.
        let mut of_swarm: Option<&str> = None;
        while let Some(option) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or_else(|| format!("`{option}` needs a value; see --help"))
            };
            match option.as_str() {
                "--help" | "-h" => return Ok(Self::Help),
                "--seeds" => {
                    swarm.seeds = number("--seeds", &value()?)?;
                    of_swarm = Some("--seeds");
                }
                "--seed-base" => {
                    swarm.seed_base = number("--seed-base", &value()?)?;
                    of_swarm = Some("--seed-base");
                }
                "--scenario" => {
                    swarm.scenario = Some(scenario(&value()?)?);
                    of_swarm = Some("--scenario");
                }
                "--strategy" => {
                    let strategy: StrategyKind =
                        value()?.parse().map_err(|error| format!("--strategy: {error}"))?;
                    swarm.strategy = Some(strategy);
                    of_swarm = Some("--strategy");
                }
                "--expect-failure" => {
                    expect_failure = true;
                    of_swarm = Some("--expect-failure");
                }
                "--marks" => {
                    marks = true;
                    of_swarm = Some("--marks");
                }
                "--replay" => {
                    let line: ReplayLine = value()?.parse().map_err(|error| format!("--replay: {error}"))?;
                    let scenario =
                        Scenario::from_line(&line).map_err(|error| format!("--replay: {error}"))?;
                    replay = Some((line, scenario));
                }
                "--choices" => choices = Some(read_choices(Path::new(&value()?))?),
                "--trace" => trace = Some(PathBuf::from(value()?)),
                "--out" => out = PathBuf::from(value()?),
                _ => return Err(format!("there is no option `{option}`; see --help")),
            }
        }
        match (replay, of_swarm) {
            (Some(_), Some(option)) => Err(format!("`{option}` does not go with `--replay`")),
            (Some((line, scenario)), None) => Ok(Self::Replay(ReplayRun {
                line,
                scenario,
                choices,
                trace,
                out,
            })),
            (None, _) if choices.is_some() => Err("`--choices` goes with `--replay` only".to_owned()),
            (None, _) if swarm.seeds == 0 => Err("`--seeds` is 0: nothing would be run".to_owned()),
            (None, _) => Ok(Self::Swarm(SwarmRun {
                swarm,
                expect_failure,
                marks,
                trace,
                out,
            })),
        }
    }
}

impl ReplayRun {
    /// Runs it, and shows what came of it. Whether it went well.
    fn run(self) -> Result<bool, String> {
        let options = RunOptions {
            choices: self.choices,
            keep_events: true,
        };
        let outcome = self.scenario.run(self.line.strategy, self.line.seed, options);
        if let Some(path) = &self.trace {
            write_trace(path, course(&outcome))?;
        }
        match &outcome {
            Ok(summary) => {
                println!("{}", self.line);
                println!("{:#?}", summary.metrics);
                println!("{} ns of virtual time", summary.makespan_ns);
            }
            Err(failure) => report_failure(failure, &self.out)?,
        }
        let course = course(&outcome);
        println!(
            "trace hash {:016x} after {} micro-steps",
            course.trace_hash, course.micro_steps
        );
        println!("{}", if outcome.is_ok() { "no failure" } else { "failure" });
        Ok(outcome.is_ok())
    }
}

impl SwarmRun {
    /// Runs all seeds, and shows the table. Whether what was expected came true.
    fn run(mut self) -> Result<bool, String> {
        if let Some(path) = &self.trace {
            let seed = self.swarm.seed_base;
            let (scenario, strategy) = self.swarm.draw(seed);
            let options = RunOptions {
                keep_events: true,
                ..RunOptions::default()
            };
            write_trace(path, course(&scenario.run(strategy, seed, options)))?;
        }
        if self.expect_failure {
            self.swarm.twice = false;
            self.swarm.stop_at_failure = true;
        }
        let report = self.swarm.run();
        for failure in report.failures.iter().take(5) {
            report_failure(failure, &self.out)?;
        }
        print!("{report}");
        if self.marks {
            print!("{}", report.marks);
        }
        Ok(match (report.failures.first(), self.expect_failure) {
            (None, false) => {
                println!("swarm ok: {} seeds, no failure", report.seeds);
                true
            }
            (Some(_), false) => {
                println!(
                    "swarm FAILED: {} of {} seeds",
                    report.failures.len(),
                    report.seeds
                );
                false
            }
            (Some(failure), true) => {
                println!(
                    "failure found, as expected: `{}` in schedule {} of {}",
                    failure.oracle, report.schedules, self.swarm.seeds
                );
                true
            }
            (None, true) => {
                println!(
                    "no failure in {} schedules, but one was expected",
                    report.schedules
                );
                false
            }
        })
    }
}

fn course(outcome: &Result<Summary, Failure>) -> &Course {
    match outcome {
        Ok(summary) => &summary.course,
        Err(failure) => &failure.course,
    }
}

fn report_failure(failure: &Failure, out: &Path) -> Result<(), String> {
    println!("{failure}");
    let path = out.join(format!("{:016x}.json", failure.course.trace_hash));
    failure
        .write_choices(&path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("choices: {}\n", path.display());
    Ok(())
}

fn write_trace(path: &Path, course: &Course) -> Result<(), String> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write_chrome_trace(&mut out, &course.events, &course.parties)?;
        io::Write::flush(&mut out)
    });
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn read_choices(path: &Path) -> Result<Choices, String> {
    let recording =
        Recording::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(recording.choices)
}

fn scenario(text: &str) -> Result<Scenario, String> {
    let fields = text.parse().map_err(|error| format!("--scenario: {error}"))?;
    Scenario::from_fields(fields).map_err(|error| format!("--scenario: {error}"))
}

fn number(option: &str, text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("`{option} {text}`: not a whole number of 64 bits"))
}
