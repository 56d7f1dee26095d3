//! Predictions beside measurements: a row for each load and number of threads, and the error.

use std::fmt::Write as _;

use benches::number::short;
use sim::{Costs, Profile};

use crate::calibrate::median;
use crate::load::Load;
use crate::threads::{Burner, Run, measure};
use crate::virtual_time::predict;

/// Tries of a round until nobody disturbs it.
const TRIES: usize = 12;

/// A prediction is the median of so many seeds.
const SEEDS: u64 = 5;

/// Fewer undisturbed runs say nothing.
const RUNS_MIN: usize = 3;

/// With so many nobody asks for more.
const RUNS_ENOUGH: usize = 5;

/// One load on one number of threads.
pub(crate) struct Row {
    load: Load,
    workers: usize,
    /// Undisturbed runs, in milliseconds.
    runs: Vec<f64>,
    /// Runs in all.
    tried: usize,
}

/// A row, and what was predicted for it.
pub(crate) struct Compared<'a> {
    row: &'a Row,
    profile: Profile,
    predicted_ms: f64,
}

impl Row {
    pub(crate) fn new(load: Load, workers: usize) -> Self {
        Self {
            load,
            workers,
            runs: Vec::new(),
            tried: 0,
        }
    }

    /// Runs it once more, again if others wanted the cores meanwhile.
    pub(crate) fn round(&mut self, burner: Burner) {
        let runs = std::iter::repeat_with(|| measure(&self.load, self.workers, burner));
        for run in runs.take(TRIES) {
            self.tried += 1;
            let Run { elapsed, .. } = run;
            if run.is_undisturbed() {
                self.runs.push(elapsed.as_secs_f64() * 1e3);
                break;
            }
        }
    }

    /// Whether there are enough undisturbed runs.
    pub(crate) fn is_enough(&self) -> bool {
        self.runs.len() >= RUNS_ENOUGH
    }

    /// Beside what the simulator says.
    pub(crate) fn compared(&self, costs: &Costs) -> Compared<'_> {
        let profiles: Vec<Profile> = (1..=SEEDS)
            .map(|seed| predict(&self.load, self.workers, costs, seed))
            .collect();
        let answered = |profile: &Profile| profile.answered_ns.unwrap_or(profile.elapsed_ns);
        Compared {
            row: self,
            profile: profiles[0],
            predicted_ms: median(profiles.iter().map(|profile| answered(profile) as f64 / 1e6)),
        }
    }
}

impl Compared<'_> {
    /// Percent by which the prediction is longer than the median of the runs, if there were enough of them.
    fn error(&self) -> Option<f64> {
        let measured = self.measured()?;
        Some((self.predicted_ms / measured - 1.0) * 100.0)
    }

    fn measured(&self) -> Option<f64> {
        (self.row.runs.len() >= RUNS_MIN).then(|| median(self.row.runs.iter().copied()))
    }

    fn line(&self) -> String {
        let Row {
            load,
            workers,
            runs,
            tried,
        } = self.row;
        let Profile {
            tasks,
            work_ns,
            span_ns,
            burdened_span_ns,
            ..
        } = self.profile;
        let (least, most) = runs.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), run| {
            (least.min(*run), most.max(*run))
        });
        let measured = self.measured().map_or("too few runs".to_owned(), |measured| {
            format!("{measured:.2} ({least:.2} … {most:.2})")
        });
        format!(
            "| {} | {workers} | {} | {} | {} | {} | {} | {measured} | {} of {tried} | {:.2} | {} |",
            load.name,
            short(tasks as f64),
            short(work_ns as f64 / 1e6),
            short(span_ns as f64 / 1e6),
            short(burdened_span_ns as f64 / 1e6),
            short(self.profile.lower_bound_ns(*workers) as f64 / 1e6),
            runs.len(),
            self.predicted_ms,
            self.error()
                .map_or("–".to_owned(), |error| format!("{error:+.1} %")),
        )
    }
}

const HEAD: &str = "\
| load | threads | tasks | T₁ | T∞ | burdened T∞ | at least | measured (spread) | undisturbed | predicted | error |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// Which rows a mean is about.
type Group<'a> = &'a dyn Fn(&Compared<'_>) -> bool;

/// All rows as a table in Markdown, and the mean error.
pub(crate) fn table(all: &[Compared<'_>]) -> String {
    let mut text = HEAD.to_owned();
    for compared in all {
        text.push_str(&compared.line());
        text.push('\n');
    }
    let mean = |of: Group<'_>| {
        let errors: Vec<f64> = all
            .iter()
            .filter(|compared| of(compared))
            .filter_map(|compared| compared.error().map(f64::abs))
            .collect();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    };
    let groups: [(&str, Group<'_>); 5] = [
        ("all rows", &|_| true),
        ("tasks of microseconds", &|compared| !compared.row.load.is_fine()),
        ("tasks of 100 ns and less", &|compared| {
            compared.row.load.is_fine()
        }),
        ("1 thread", &|compared| compared.row.workers == 1),
        ("2 threads", &|compared| compared.row.workers == 2),
    ];
    text.push_str("\nMean of the errors without their signs:");
    for (place, (name, of)) in groups.iter().enumerate() {
        let separator = if place == 0 { "" } else { "," };
        let mean = mean(of).map_or("–".to_owned(), |mean| format!("{mean:.1} %"));
        write!(text, "{separator} {name} {mean}").expect("a string takes all");
    }
    let missing = all.iter().filter(|compared| compared.error().is_none()).count();
    if missing > 0 {
        write!(
            text,
            "; {missing} rows are not in it, since fewer than {RUNS_MIN} of their runs were undisturbed"
        )
        .expect("a string takes all");
    }
    text.push_str(".\n");
    text
}
