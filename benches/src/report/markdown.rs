//! A report as Markdown, for the terminal and for the README.

use std::fmt::Write as _;

use super::{Report, Row};
use crate::contender::Role;
use crate::target::short;

/// More than the system's own housekeeping.
const OTHERS_MAX: f64 = 0.1;

/// A heading, the caption with what is aimed at, the table and, with `plot`, a picture.
pub(super) fn section(report: &Report, plot: Option<&str>) -> String {
    let mut text = format!("### {}\n\n{}\n\n", report.name, caption(report));
    for verdict in &report.verdicts {
        let mark = match verdict.met {
            Some(true) => ", **met**",
            Some(false) => ", **missed**",
            None => "",
        };
        line(&mut text, &format!("- {}{mark}", verdict.text));
    }
    if !report.verdicts.is_empty() {
        text.push('\n');
    }
    text.push_str(&table(report));
    if let Some(plot) = plot {
        line(&mut text, &format!("\n![{}]({plot})", report.name));
    }
    text
}

fn caption(report: &Report) -> String {
    let rounds = match report.rounds {
        1 => "One round.".to_owned(),
        rounds => format!("{rounds} rounds."),
    };
    let others = match report.others {
        Some(cores) if cores > OTHERS_MAX => {
            format!(" **Others kept {cores:.2} cores busy meanwhile: take these figures with care.**")
        }
        _ => String::new(),
    };
    format!("{} {rounds}{others}", report.story)
}

fn table(report: &Report) -> String {
    let mut head = "| contender |".to_owned();
    let mut rule = "|---|".to_owned();
    let spread = report.rounds > 1;
    for column in &report.heads {
        let columns = [
            (true, *column),
            (spread, "spread"),
            (report.has_peers(), "× best peer"),
        ];
        for (_, title) in columns.into_iter().filter(|(is_there, _)| *is_there) {
            push(&mut head, format_args!(" {title} |"));
            push(&mut rule, format_args!("--:|"));
        }
    }
    let mut text = format!("{head} CPU / wall |\n{rule}--:|\n");
    for row in &report.rows {
        line(&mut text, &row_text(report, row, spread));
    }
    text
}

fn row_text(report: &Report, row: &Row, spread: bool) -> String {
    let rounds = if row.rounds < report.rounds {
        format!(" ({} rounds)", row.rounds)
    } else {
        String::new()
    };
    let name = match row.role {
        Role::Ours => format!("**{}**", row.name),
        Role::Peer => row.name.clone(),
        Role::Baseline => format!("*{}*", row.name),
    };
    let mut text = format!("| {name}{rounds} |");
    for (column, stats) in row.figures.iter().enumerate() {
        push(&mut text, format_args!(" {} |", short(stats.median)));
        if spread && stats.median.is_nan() {
            push(&mut text, format_args!(" – |"));
        } else if spread {
            push(
                &mut text,
                format_args!(" {} … {} |", short(stats.min), short(stats.max)),
            );
        }
        if report.has_peers() {
            let best = report.best_peer(column).filter(|best| *best > 0.0);
            let ratio = best.map_or_else(|| "–".to_owned(), |best| short(stats.median / best));
            push(&mut text, format_args!(" {ratio} |"));
        }
    }
    let cpu = row
        .cpu_per_wall
        .map_or_else(|| "–".to_owned(), |cpu| format!("{cpu:.2}"));
    push(&mut text, format_args!(" {cpu} |"));
    text
}

fn line(text: &mut String, line: &str) {
    push(text, format_args!("{line}\n"));
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::super::{Stats, sample};
    use super::*;

    #[test]
    fn a_section_has_caption_aims_table_and_picture() {
        let text = section(&sample([2.0, 4.0]), Some("plots/sample.svg"));
        let expected = "\
### sample

Nothing is done. 3 rounds. **Others kept 0.50 cores busy meanwhile: take these figures with care.**

- windlass ≤ rayon, **met**

| contender | ns | spread | × best peer | CPU / wall |
|---|--:|--:|--:|--:|
| **windlass** | 2.00 | 1.00 … 3.00 | 0.50 | 2.00 |
| rayon | 4.00 | 2.00 … 6.00 | 1.00 | 2.00 |

![sample](plots/sample.svg)
";
        assert_eq!(text, expected);
    }

    #[test]
    fn without_peers_there_is_no_ratio_and_without_a_figure_no_spread() {
        let mut report = sample([2.0, 4.0]);
        report.rows[1].role = Role::Ours;
        report.rows[1].figures[0] = Stats::of(vec![f64::NAN]);
        let expected = "\
| contender | ns | spread | CPU / wall |
|---|--:|--:|--:|
| **windlass** | 2.00 | 1.00 … 3.00 | 2.00 |
| **rayon** | – | – | 2.00 |
";
        assert_eq!(table(&report), expected);
    }
}
