//! `windlass-sim --exhaustive`: all runs of small configurations, and a table of the closed ones.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use sim::{Configuration, Scenario, Search, SearchReport};

pub(crate) struct ExhaustiveRun {
    scenario: Option<Scenario>,
    preemptions: Option<u32>,
    seed: u64,
    all: bool,
    expect_failure: bool,
    schedules_max: u64,
    time_max: Duration,
    out: PathBuf,
}

impl ExhaustiveRun {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut run = Self {
            scenario: None,
            preemptions: None,
            seed: 0,
            all: false,
            expect_failure: false,
            schedules_max: u64::MAX,
            time_max: Duration::MAX,
            out: PathBuf::from(super::OUT),
        };
        while let Some(option) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| format!("`{option}` needs a value; see --help"))
            };
            match option.as_str() {
                "--scenario" => run.scenario = Some(super::scenario(&value()?)?),
                "--preemptions" => {
                    let text = value()?;
                    let bound = text
                        .parse()
                        .map_err(|_| format!("`--preemptions {text}`: not a whole number of 32 bits"))?;
                    run.preemptions = Some(bound);
                }
                "--seed" => run.seed = super::number("--seed", &value()?)?,
                "--limit" => run.schedules_max = super::number("--limit", &value()?)?,
                "--seconds" => run.time_max = Duration::from_secs(super::number("--seconds", &value()?)?),
                "--expect-failure" => run.expect_failure = true,
                "--all" => run.all = true,
                "--out" => run.out = PathBuf::from(value()?),
                _ => {
                    return Err(format!(
                        "there is no option `{option}` with `--exhaustive`; see --help"
                    ));
                }
            }
        }
        if run.scenario.is_some() && run.all {
            return Err("`--all` means the list, and `--scenario` one that is not on it".to_owned());
        }
        if run.scenario.is_none() && (run.preemptions.is_some() || run.expect_failure || run.seed != 0) {
            return Err("`--preemptions`, `--seed` and `--expect-failure` go with `--scenario`".to_owned());
        }
        Ok(run)
    }

    pub(crate) fn run(self) -> Result<bool, String> {
        let searches = match self.scenario.clone() {
            Some(scenario) => {
                let mut search = Search::new(scenario).map_err(|error| format!("--scenario: {error}"))?;
                search.preemptions = self.preemptions;
                search.seed = self.seed;
                vec![("as asked", search)]
            }
            None => Configuration::ALL
                .iter()
                .filter(|configuration| self.all || configuration.in_ci)
                .map(|configuration| (configuration.name, configuration.search()))
                .collect(),
        };
        let count = searches.len();
        let mut rows = Rows::default();
        for (name, mut search) in searches {
            search.schedules_max = self.schedules_max;
            search.time_max = self.time_max;
            let report = search.run(|report| show_progress(name, report));
            clear_progress();
            if let Some(failure) = &report.failure {
                super::report_failure(failure, &self.out)?;
            }
            rows.add(name, &search, &report);
        }
        rows.print();
        let Rows {
            closed,
            failed,
            states,
            ..
        } = rows;
        if self.expect_failure {
            println!(
                "{}",
                if failed > 0 {
                    "failure found, as expected"
                } else {
                    "no failure, but one was expected"
                }
            );
            return Ok(failed > 0);
        }
        let passed = closed == count;
        let verdict = if passed { "ok" } else { "FAILED" };
        println!(
            "exhaustive {verdict}: {closed} of {count} configurations closed, {failed} failures, {states} states"
        );
        Ok(passed)
    }
}

#[derive(Default)]
struct Rows {
    rows: Vec<[String; 8]>,
    closed: usize,
    failed: usize,
    states: u64,
}

impl Rows {
    const HEAD: [&str; 8] = [
        "configuration",
        "preemptions",
        "states",
        "choices",
        "schedules",
        "steps",
        "seconds",
        "closed",
    ];

    fn add(&mut self, name: &str, search: &Search, report: &SearchReport) {
        self.closed += usize::from(report.closed);
        self.failed += usize::from(report.failure.is_some());
        self.states += report.states;
        let bound = search
            .preemptions
            .map_or_else(|| "any".to_owned(), |bound| format!("<= {bound}"));
        let closed = match (&report.failure, report.closed) {
            (Some(failure), _) => format!("FAILED: {}", failure.oracle),
            (None, true) => "yes".to_owned(),
            (None, false) => "no, gave up".to_owned(),
        };
        self.rows.push([
            name.to_owned(),
            bound,
            report.states.to_string(),
            report.choices.to_string(),
            report.schedules.to_string(),
            report.steps.to_string(),
            format!("{:.2}", report.elapsed.as_secs_f64()),
            closed,
        ]);
    }

    fn print(&self) {
        let head = Self::HEAD.map(str::to_owned);
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&head]).map(|row| row[column].len());
            cells.max().unwrap_or(0)
        };
        for row in [&head].into_iter().chain(&self.rows) {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let width = width(column);
                match column {
                    0 | 7 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                }
            });
            println!("  {}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
    }
}

/// One changing line on a terminal; elsewhere nothing, to keep logs short.
fn show_progress(name: &str, report: &SearchReport) {
    let mut stderr = std::io::stderr();
    if !stderr.is_terminal() || !report.schedules.is_multiple_of(1 << 14) {
        return;
    }
    // A failed write is ignored.
    let _ = write!(
        stderr,
        "\r{name}: {} states, {} schedules, {:.0} s ",
        report.states,
        report.schedules,
        report.elapsed.as_secs_f64()
    );
}

fn clear_progress() {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\x1b[K");
    }
}
