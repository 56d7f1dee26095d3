//! The simulator's program: a swarm of seeds, one replayed run, or an exhaustive search.
//!
//! Exit code 0 means success, 1 failure, 2 a usage error.

#[path = "windlass-sim/exhaustive.rs"]
mod exhaustive;

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use std::time::{Duration, Instant};

use self::exhaustive::ExhaustiveRun;
use sim::{
    Choices, Course, FailingRun, Failure, Found, Oracle, Recording, ReplayLine, RunOptions, Scenario, Shrink,
    StrategyKind, Summary, Swarm, write_chrome_trace, write_html,
};

const USAGE: &str = "\
windlass-sim: runs the scheduler's own code in one thread, from seeds.

  windlass-sim [OPTIONS]                   a swarm: scenarios drawn from seeds, each run twice
  windlass-sim --replay LINE [OPTIONS]     the run of a failure's line
  windlass-sim --exhaustive [OPTIONS]      all runs of small configurations

  --seeds N           number of seeds (default 2000)
  --seed-base N       the first seed (default 0)
  --scenario CONFIG   a scenario for all seeds, as `scenario=tree,roots=1,size=4,workers=2`
  --strategy NAME     a strategy for all seeds: random, sticky, round-robin, earliest,
                      pct:DEPTH[:STEPS], delay:DELAYS[:STEPS]
  --expect-failure    exit with 0 if a seed fails, and print after how many schedules
  --steps N           steps of a run, at most: a longer one fails
  --twice             with --expect-failure: repeat every run, as without it
  --silence ORACLE    ignore this oracle, to see which other fails the run
  --failures FILE     write the oracle, trace hash and line of each failing run to FILE
  --replay-all FILE   replay all runs of such a file, and compare
  --coverage          print every coverage point
  --shrink            shrink each failure that is reported
  --report N          failures to report, at most (default 5)
  --out DIR           folder for the choices of failures (default target/windlass-sim)
  --choices FILE      with --replay: make the choices of this file
  --trace FILE        with --replay, or for the first seed: write a Chrome trace
  --html FILE         the same as a page: lanes, arrows, and a table of operations
  --help              print this

with --exhaustive, which comes first:
  --all               all configurations, instead of those that CI closes within a minute
  --scenario CONFIG   this one instead; `private=0,spin=0,credit=1` keep it small
  --preemptions K     with --scenario: only runs with at most K preemptions
  --seed N            with --scenario: the seed of what its jobs are made of (default 0)
  --expect-failure    with --scenario: exit with 0 if a run fails
  --limit N           schedules of a configuration, at most
  --seconds N         seconds of a configuration, at most
  --out DIR           as above
";

fn main() -> ExitCode {
    let outcome = match Command::parse(std::env::args().skip(1)) {
        Ok(Command::Help) => {
            print!("{USAGE}");
            Ok(true)
        }
        Ok(Command::Replay(replay)) => replay.run(),
        Ok(Command::ReplayAll(path)) => replay_all(&path),
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

const OUT: &str = "target/windlass-sim";

enum Command {
    Help,
    Replay(ReplayRun),
    ReplayAll(PathBuf),
    Exhaustive(ExhaustiveRun),
    Swarm(SwarmRun),
}

struct ReplayRun {
    line: ReplayLine,
    scenario: Scenario,
    silenced: Option<Oracle>,
    pictures: Pictures,
    shrink: bool,
    out: PathBuf,
}

struct SwarmRun {
    swarm: Swarm,
    expect_failure: bool,
    twice: bool,
    coverage: bool,
    failures: Option<PathBuf>,
    pictures: Pictures,
    reported: usize,
    shrink: bool,
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
        let (mut replay, mut choices, mut pictures) = (None, None, Pictures::default());
        let (mut expect_failure, mut twice, mut coverage, mut shrink) = (false, false, false, false);
        let (mut failures, mut replay_all) = (None, None);
        let mut reported = 5;
        let mut out = PathBuf::from(OUT);
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
                "--steps" => {
                    swarm.step_limit = Some(number("--steps", &value()?)?);
                    of_swarm = Some("--steps");
                }
                "--twice" => {
                    twice = true;
                    of_swarm = Some("--twice");
                }
                "--silence" => {
                    let oracle: Oracle = value()?.parse().map_err(|error| format!("--silence: {error}"))?;
                    swarm.silenced = Some(oracle);
                }
                "--failures" => {
                    failures = Some(PathBuf::from(value()?));
                    of_swarm = Some("--failures");
                }
                "--replay-all" => replay_all = Some(PathBuf::from(value()?)),
                "--coverage" => {
                    coverage = true;
                    of_swarm = Some("--coverage");
                }
                "--report" => {
                    reported = number("--report", &value()?)? as usize;
                    of_swarm = Some("--report");
                }
                "--shrink" => shrink = true,
                "--replay" => {
                    let line: ReplayLine = value()?.parse().map_err(|error| format!("--replay: {error}"))?;
                    let scenario =
                        Scenario::from_line(&line).map_err(|error| format!("--replay: {error}"))?;
                    replay = Some((line, scenario));
                }
                "--choices" => choices = Some(read_choices(Path::new(&value()?))?),
                "--trace" => pictures.trace = Some(PathBuf::from(value()?)),
                "--html" => pictures.html = Some(PathBuf::from(value()?)),
                "--out" => out = PathBuf::from(value()?),
                _ => return Err(format!("there is no option `{option}`; see --help")),
            }
        }
        if let Some(path) = replay_all {
            return match of_swarm {
                Some(option) => Err(format!("`{option}` does not go with `--replay-all`")),
                None if replay.is_some() => Err("`--replay` does not go with `--replay-all`".to_owned()),
                None => Ok(Self::ReplayAll(path)),
            };
        }
        match (replay, of_swarm) {
            (Some(_), Some(option)) => Err(format!("`{option}` does not go with `--replay`")),
            (Some((mut line, scenario)), None) => Ok(Self::Replay(ReplayRun {
                line: {
                    line.choices = choices.or(line.choices);
                    line
                },
                scenario,
                silenced: swarm.silenced,
                pictures,
                shrink,
                out,
            })),
            (None, _) if choices.is_some() => Err("`--choices` goes with `--replay` only".to_owned()),
            (None, _) if swarm.seeds == 0 => Err("`--seeds` is 0: nothing would be run".to_owned()),
            (None, _) => Ok(Self::Swarm(SwarmRun {
                swarm,
                expect_failure,
                twice,
                coverage,
                failures,
                pictures,
                reported,
                shrink,
                out,
            })),
        }
    }
}

impl ReplayRun {
    fn run(self) -> Result<bool, String> {
        let options = RunOptions {
            choices: self.line.choices.clone(),
            keep_events: true,
            silenced: self.silenced,
        };
        let mut outcome = self.scenario.run(self.line.strategy, self.line.seed, options);
        if let Err(failure) = &mut outcome
            && self.shrink
        {
            print!("{}", Shrinking::of(failure)?);
        }
        self.pictures.write(&outcome)?;
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
            "trace hash {:016x} after {} steps",
            course.trace_hash, course.steps
        );
        println!("{}", if outcome.is_ok() { "no failure" } else { "failure" });
        Ok(outcome.is_ok())
    }
}

impl SwarmRun {
    fn run(mut self) -> Result<bool, String> {
        if self.pictures.are_wanted() {
            let seed = self.swarm.seed_base;
            let (scenario, strategy) = self.swarm.draw(seed);
            let options = RunOptions {
                keep_events: true,
                ..RunOptions::default()
            };
            let mut outcome = scenario.run(strategy, seed, options);
            if let Err(failure) = &mut outcome
                && self.shrink
            {
                Shrinking::of(failure)?;
            }
            self.pictures.write(&outcome)?;
        }
        if self.expect_failure {
            self.swarm.twice = self.twice;
            self.swarm.stop_at_failure = self.failures.is_none();
        }
        let mut report = self.swarm.run();
        let mut shrinkings = Vec::new();
        for failure in report.failures.iter_mut().take(self.reported) {
            if self.shrink {
                shrinkings.push(Shrinking::of(failure)?);
            }
            report_failure(failure, &self.out)?;
        }
        if let Some(path) = &self.failures {
            let lines: Vec<String> = report
                .failures
                .iter()
                .map(|failure| FailingRun::of(failure).to_string() + "\n")
                .collect();
            std::fs::write(path, lines.concat())
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        if !shrinkings.is_empty() {
            print!("{}", Shrinkings(shrinkings));
        }
        print!("{report}");
        if self.coverage {
            print!("{}", report.coverage);
        }
        let unreached = if self.swarm.reaches_all() {
            report.unreached()
        } else {
            Vec::new()
        };
        Ok(match (report.failures.first(), self.expect_failure) {
            (None, false) if !unreached.is_empty() => {
                println!("swarm FAILED: never reached: {}", unreached.join(", "));
                false
            }
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

fn replay_all(path: &Path) -> Result<bool, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let (mut all, mut same) = (0, 0);
    for line in text.lines() {
        let run: FailingRun = line
            .parse()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        all += 1;
        match run.replay() {
            Ok(()) => same += 1,
            Err(other) => println!("{run}\n  this time: {other}"),
        }
    }
    println!("replayed {same} of {all}");
    Ok(same == all)
}

struct Shrinking {
    oracle: Oracle,
    before: (u64, usize),
    after: (u64, usize),
    runs: u64,
    took: Duration,
}

impl Shrinking {
    fn of(failure: &mut Failure) -> Result<Self, String> {
        let start = Instant::now();
        let shrunk = Shrink::default()
            .scenario(failure)
            .map_err(|error| format!("--shrink: {error}"))?;
        let took = start.elapsed();
        let before = failure.course.size();
        let after = shrunk.course.size();
        let runs = shrunk.found.as_deref().map_or(0, |Found { runs, .. }| *runs);
        *failure = shrunk;
        Ok(Self {
            oracle: failure.oracle,
            before,
            after,
            runs,
            took,
        })
    }
}

impl fmt::Display for Shrinking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            oracle,
            before: (steps_before, switches_before),
            after: (steps, switches),
            runs,
            took,
        } = self;
        let seconds = took.as_secs_f64();
        writeln!(
            f,
            "shrunk `{oracle}`: steps {steps_before} -> {steps}, switches {switches_before} -> {switches}, \
             {runs} runs, {seconds:.2} s"
        )
    }
}

struct Shrinkings(Vec<Shrinking>);

impl fmt::Display for Shrinkings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|shrinking| write!(f, "{shrinking}"))?;
        writeln!(
            f,
            "shrunk {} failures, in the median: steps {} -> {}, switches {} -> {}, {} runs, {:.2} s",
            self.0.len(),
            self.median(|one| one.before.0),
            self.median(|one| one.after.0),
            self.median(|one| one.before.1 as u64),
            self.median(|one| one.after.1 as u64),
            self.median(|one| one.runs),
            Duration::from_micros(self.median(|one| one.took.as_micros() as u64)).as_secs_f64(),
        )
    }
}

impl Shrinkings {
    fn median(&self, figure: impl Fn(&Shrinking) -> u64) -> u64 {
        let mut figures: Vec<u64> = self.0.iter().map(figure).collect();
        figures.sort_unstable();
        figures[figures.len() / 2]
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

#[derive(Default)]
struct Pictures {
    trace: Option<PathBuf>,
    html: Option<PathBuf>,
}

impl Pictures {
    fn are_wanted(&self) -> bool {
        self.trace.is_some() || self.html.is_some()
    }

    fn write(&self, outcome: &Result<Summary, Failure>) -> Result<(), String> {
        let course = course(outcome);
        if let Some(path) = &self.trace {
            write_file(path, |out| {
                write_chrome_trace(out, &course.events, &course.jobs, &course.actors)
            })?;
        }
        if let Some(path) = &self.html {
            let outcome = outcome.as_ref().map(|summary| &summary.course);
            write_file(path, |out| write_html(out, outcome))?;
        }
        Ok(())
    }
}

fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), String> {
    let written = File::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
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
