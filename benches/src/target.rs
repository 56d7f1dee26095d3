//! Aims, and whether a run met them.

use crate::number::short;

use crate::contender::Role;
use crate::report::Row;
use crate::stats::percentile;

pub(crate) struct Target {
    pub(crate) row: &'static str,
    pub(crate) column: usize,
    pub(crate) aim: Aim,
    pub(crate) of: Of,
    /// The least figure of ours that has the aim.
    from: f64,
}

#[derive(Clone, Copy)]
pub(crate) enum Aim {
    AtMost(f64),
    /// At least this many times the other, where more is better.
    AtLeast(f64),
    /// Both are times, and the row is to be at least this many times as fast. Of two rows the median
    /// of the rounds counts: they ran one after the other, on a machine that was as fast for both.
    AsFast(f64),
    /// Reported without an aim.
    Told,
}

pub(crate) enum Of {
    /// The best peer of the table, or the best of those named.
    Best(&'static [&'static str]),
    Row(&'static str),
    /// A part of a row's figure, with a name of its own.
    Share {
        row: &'static str,
        times: f64,
        called: &'static str,
    },
    /// A row's figure and so much more.
    More {
        row: &'static str,
        plus: f64,
        called: &'static str,
    },
    Number(f64),
}

impl Of {
    /// The lower bound of every scheduler on two cores.
    pub(crate) const HALF_OF_SERIAL: Self = Self::Share {
        row: "serial",
        times: 0.5,
        called: "the limit, serial / 2",
    };
}

pub(crate) const ALL_PEERS: Of = Of::Best(&[]);

impl Target {
    /// Our plain row in the first column.
    pub(crate) fn at_most(at_most: f64, of: Of) -> Self {
        Self::new(Aim::AtMost(at_most), of)
    }

    pub(crate) fn at_least(at_least: f64, of: Of) -> Self {
        Self::new(Aim::AtLeast(at_least), of)
    }

    pub(crate) fn as_fast(times: f64, of: Of) -> Self {
        Self::new(Aim::AsFast(times), of)
    }

    pub(crate) fn told(of: Of) -> Self {
        Self::new(Aim::Told, of)
    }

    fn new(aim: Aim, of: Of) -> Self {
        Self {
            row: "windlass",
            column: 0,
            aim,
            of,
            from: 0.0,
        }
    }

    /// No aim for smaller figures of ours.
    pub(crate) fn from(mut self, from: f64) -> Self {
        self.from = from;
        self
    }

    pub(crate) fn row(mut self, row: &'static str) -> Self {
        self.row = row;
        self
    }

    pub(crate) fn column(mut self, column: usize) -> Self {
        self.column = column;
        self
    }

    /// Panics on a missing row: such a target could never be missed.
    pub(crate) fn judge(&self, heads: &[&str], rows: &[Row]) -> Verdict {
        let figure = |row: &Row| row.figures[self.column].median;
        let find = |name: &str| {
            let row = rows.iter().find(|row| row.name == name);
            row.unwrap_or_else(|| panic!("a target names the row {name:?}, which is not there"))
        };
        let our_row = find(self.row);
        let ours = figure(our_row);
        let (other, called) = match &self.of {
            Of::Best(names) => {
                let peers: Vec<&Row> = if names.is_empty() {
                    rows.iter().filter(|row| row.role == Role::Peer).collect()
                } else {
                    names.iter().map(|name| find(name)).collect()
                };
                let best = peers.into_iter().min_by(|a, b| figure(a).total_cmp(&figure(b)));
                let best = best.expect("a workload with such a target has a peer");
                let called = match *names {
                    [_] => best.name.clone(),
                    [] => format!("the best peer ({})", best.name),
                    names => format!("the best of {} ({})", names.join(" and "), best.name),
                };
                (figure(best), called)
            }
            Of::Row(name) => (figure(find(name)), (*name).to_owned()),
            Of::Share { row, times, called } => (figure(find(row)) * times, (*called).to_owned()),
            Of::More { row, plus, called } => (figure(find(row)) + plus, (*called).to_owned()),
            Of::Number(number) => (*number, String::new()),
        };
        let head = if heads.len() > 1 {
            format!(" ({})", heads[self.column])
        } else {
            String::new()
        };
        let row = self.row;
        let ratio = ours / other;
        let (text, met) = match (&self.of, self.aim) {
            (Of::Number(_), Aim::AtMost(factor)) => {
                let limit = other * factor;
                let text = format!("{row}{head} ≤ {limit}: {}", short(ours));
                (text, Some(ours <= limit))
            }
            (Of::Number(_), Aim::AtLeast(factor)) => {
                let limit = other * factor;
                let text = format!("{row}{head} ≥ {limit}: {}", short(ours));
                (text, Some(ours >= limit))
            }
            (_, Aim::AtMost(factor)) => {
                let text = format!("{row}{head} ≤ {factor} × {called}: {} ×", short(ratio));
                (text, Some(ours <= factor * other))
            }
            (_, Aim::AtLeast(factor)) => {
                let text = format!("{row}{head} ≥ {factor} × {called}: {} ×", short(ratio));
                (text, Some(ours >= factor * other))
            }
            (of, Aim::AsFast(times)) => {
                let faster = match of {
                    Of::Row(name) => by_round(our_row, find(name), self.column),
                    _ => 1.0 / ratio,
                };
                let text = format!(
                    "{row}{head} is ≥ {times} × as fast as {called}: {} ×",
                    short(faster)
                );
                (text, Some(faster >= times))
            }
            (_, Aim::Told) => (format!("{row}{head} is at {} × {called}", short(ratio)), None),
        };
        match ours < self.from {
            true => Verdict {
                text: format!("{text}, no aim below {}", short(self.from)),
                met: None,
            },
            false => Verdict { text, met },
        }
    }
}

/// How many times as fast a row was as another, in the median round, or the lower one of two.
fn by_round(row: &Row, other: &Row, column: usize) -> f64 {
    let rounds = row.by_round[column].iter().zip(&other.by_round[column]);
    let mut faster: Vec<f64> = rounds.map(|(ours, other)| other / ours).collect();
    faster.sort_by(f64::total_cmp);
    percentile(&faster, 50.0)
}

#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) text: String,
    /// `None` without an aim.
    pub(crate) met: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Stats;

    fn row(name: &str, role: Role, figure: f64) -> Row {
        Row {
            name: name.to_owned(),
            role,
            rounds: 1,
            figures: vec![Stats::of(vec![figure])],
            by_round: vec![vec![figure]],
            samples: Vec::new(),
            cpu_per_wall: Some(1.0),
        }
    }

    #[test]
    fn a_verdict_comes_from_the_figures() {
        let rows = [
            row("windlass", Role::Ours, 3.0),
            row("slow", Role::Peer, 9.0),
            row("fast", Role::Peer, 4.0),
            row("serial", Role::Baseline, 2.0),
        ];
        let heads = ["ns"];
        let judge = |target: Target| target.judge(&heads, &rows);
        let best = judge(Target::at_most(0.9, ALL_PEERS));
        assert_eq!(best.text, "windlass ≤ 0.9 × the best peer (fast): 0.75 ×");
        assert_eq!(best.met, Some(true));
        assert_eq!(judge(Target::at_most(0.7, ALL_PEERS)).met, Some(false));
        let short = judge(Target::as_fast(2.0, ALL_PEERS).from(3.5));
        assert_eq!(
            short.text,
            "windlass is ≥ 2 × as fast as the best peer (fast): 1.33 ×, no aim below 3.50"
        );
        assert_eq!(short.met, None);
        assert_eq!(judge(Target::as_fast(2.0, ALL_PEERS).from(3.0)).met, Some(false));
        let two = judge(Target::at_most(0.5, Of::Best(&["slow", "fast"])));
        assert_eq!(
            two.text,
            "windlass ≤ 0.5 × the best of slow and fast (fast): 0.75 ×"
        );
        let share = Of::Share {
            row: "serial",
            times: 0.5,
            called: "the limit",
        };
        let told = judge(Target::told(share));
        assert_eq!(
            (told.text.as_str(), told.met),
            ("windlass is at 3.00 × the limit", None)
        );
        let number = judge(Target::at_most(1.0, Of::Number(0.0)));
        assert_eq!(
            (number.text.as_str(), number.met),
            ("windlass ≤ 0: 3.00", Some(false))
        );
        let judged = |target| {
            let Verdict { text, met } = judge(target);
            (text, met)
        };
        assert_eq!(
            judged(Target::as_fast(3.0, Of::Row("slow"))),
            ("windlass is ≥ 3 × as fast as slow: 3.00 ×".to_owned(), Some(true))
        );
        assert_eq!(judged(Target::as_fast(0.7, Of::Row("serial"))).1, Some(false));
        assert_eq!(
            judged(Target::at_least(0.5, Of::Row("fast"))),
            ("windlass ≥ 0.5 × fast: 0.75 ×".to_owned(), Some(true))
        );
        assert_eq!(judged(Target::at_least(4.0, Of::Number(1.0))).1, Some(false));
        let more = |plus| Of::More {
            row: "serial",
            plus,
            called: "serial + a bit",
        };
        assert_eq!(
            judged(Target::at_most(1.0, more(2.0))),
            ("windlass ≤ 1 × serial + a bit: 0.75 ×".to_owned(), Some(true))
        );
        assert_eq!(judged(Target::at_most(1.0, more(0.5))).1, Some(false));
    }

    #[test]
    fn rows_are_as_fast_as_in_the_median_round() {
        let times = |name: &str, rounds: &[f64]| Row {
            figures: vec![Stats::of(rounds.to_vec())],
            by_round: vec![rounds.to_vec()],
            ..row(name, Role::Ours, 0.0)
        };
        let judged = |ours: &[f64], other: &[f64]| {
            let target = Target::as_fast(1.85, Of::Row("one"));
            let Verdict { text, met } =
                target.judge(&["ms"], &[times("windlass", ours), times("one", other)]);
            (text, met)
        };
        let text = |faster: &str| format!("windlass is ≥ 1.85 × as fast as one: {faster} ×");
        // The machine was half as fast from the second round on, but for the other's third.
        let drifted = judged(&[10.0, 20.0, 20.0], &[19.0, 38.0, 20.0]);
        assert_eq!(drifted, (text("1.90"), Some(true)));
        assert_eq!(judged(&[10.0, 10.0], &[18.0, 19.0]), (text("1.80"), Some(false)));
    }

    #[test]
    fn numbers_keep_the_digits_that_mean_something() {
        let shown = [0.0, 0.00123, 0.5, 1.234, 12.34, 123.4, 12_345.6, f64::NAN].map(short);
        assert_eq!(
            shown,
            ["0", "0.00123", "0.50", "1.23", "12.3", "123", "12,346", "–"]
        );
    }
}
