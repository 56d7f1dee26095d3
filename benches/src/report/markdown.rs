//! Reports as Markdown, for the terminal and for pages.
//!
//! A single workload has a table with a line a row. A family has one table: a line for each row of
//! each member, or a line for each member with the rows as columns.

use super::{Report, Row};
use crate::contender::Role;
use crate::number::short;
use crate::workload::{Column, Family};

/// Cores; more than the system's own housekeeping.
const OTHERS_MAX: f64 = 0.1;

/// A heading, captions, aims, the table and, with `plot`, a picture: of one report, or of all
/// members of a family.
pub(super) fn section(reports: &[Report], plot: Option<&str>) -> String {
    let Some(first) = reports.first() else {
        return String::new();
    };
    let family = first.family.as_ref();
    let name = family.map_or(&first.name, |family| &family.name);
    let mut text = format!("### {name}\n\n");
    for (at, report) in reports.iter().enumerate() {
        // Members with different stories tell each; a common story appears once.
        if at == 0 || report.story != first.story || warning(report).is_some() {
            text += &caption(report, at == 0 || report.story != first.story);
        }
    }
    text.push('\n');
    let many = reports.len() > 1;
    let verdicts = reports
        .iter()
        .flat_map(|report| report.verdicts.iter().map(move |verdict| (report, verdict)));
    let mut aims = String::new();
    for (report, verdict) in verdicts {
        let of = if many {
            format!("{}: ", report.name)
        } else {
            String::new()
        };
        let mark = match verdict.met {
            Some(true) => ", **met**",
            Some(false) => ", **missed**",
            None => "",
        };
        aims += &format!("- {of}{}{mark}\n", verdict.text);
    }
    if !aims.is_empty() {
        text += &format!("{aims}\n");
    }
    text += &match family {
        Some(Family { pivot, .. }) if !pivot.is_empty() => pivoted(reports, pivot),
        // Without rows there are only verdicts.
        _ if reports.iter().all(|report| report.rows.is_empty()) => String::new(),
        _ => table(reports),
    };
    for report in reports.iter().filter(|report| !report.note.is_empty()) {
        text += &format!("\n{}\n", report.note);
    }
    if let Some(plot) = plot {
        text += &format!("\n![{name}]({plot})\n");
    }
    text
}

fn caption(report: &Report, with_story: bool) -> String {
    let rounds = match report.rounds {
        1 => "One round.".to_owned(),
        rounds => format!("{rounds} rounds."),
    };
    let story = if with_story {
        format!("{} {rounds}", report.story)
    } else {
        format!("{}:", report.name)
    };
    format!("{story}{}\n", warning(report).unwrap_or_default())
}

fn warning(report: &Report) -> Option<String> {
    let cores = report.others.filter(|cores| *cores > OTHERS_MAX)?;
    Some(format!(
        " **Others kept {cores:.2} cores busy meanwhile: take these figures with care.**"
    ))
}

fn table(reports: &[Report]) -> String {
    let Some(first) = reports.first() else {
        return String::new();
    };
    let layout = Layout::of(reports);
    let (mut head, mut rule) = match &first.family {
        Some(family) => (format!("| {} | contender |", family.axis), "|--:|---|".to_owned()),
        None => ("| contender |".to_owned(), "|---|".to_owned()),
    };
    for column in &first.columns {
        for title in [column.head()].into_iter().chain(layout.beside(column)) {
            head += &format!(" {title} |");
            rule += "--:|";
        }
    }
    if layout.cpu {
        head += " CPU / wall |";
        rule += "--:|";
    }
    let mut text = format!("{head}\n{rule}\n");
    for report in reports {
        for row in &report.rows {
            let member = report
                .family
                .as_ref()
                .map_or(String::new(), |family| format!(" {} |", family.label));
            text += &format!("|{member}{}\n", line(report, row, &layout));
        }
    }
    text
}

struct Layout {
    spread: bool,
    peers: bool,
    cpu: bool,
}

impl Layout {
    fn of(reports: &[Report]) -> Self {
        let rows = || reports.iter().flat_map(|report| &report.rows);
        Self {
            spread: reports.iter().any(|report| report.rounds > 1),
            peers: reports.iter().any(Report::has_peers),
            cpu: rows().any(|row| row.cpu_per_wall.is_some()),
        }
    }

    fn beside(&self, column: &Column) -> impl Iterator<Item = &'static str> {
        let is_judged = !matches!(column, Column::Told { .. });
        let beside = [(self.spread, "spread"), (self.peers, "× best peer")];
        let there = beside
            .into_iter()
            .filter(move |(is_there, _)| *is_there && is_judged);
        there.map(|(_, head)| head)
    }
}

fn line(report: &Report, row: &Row, layout: &Layout) -> String {
    let rounds = if row.rounds < report.rounds {
        format!(" ({} rounds)", row.rounds)
    } else {
        String::new()
    };
    let mut text = format!(" {}{rounds} |", named(row));
    for (index, (column, stats)) in report.columns.iter().zip(&row.figures).enumerate() {
        text += &format!(" {} |", short(stats.median));
        for head in layout.beside(column) {
            let cell = match head {
                "spread" if stats.median.is_nan() => "–".to_owned(),
                "spread" => format!("{} … {}", short(stats.min), short(stats.max)),
                _ => ratio(stats.median, report.best_peer(index)),
            };
            text += &format!(" {cell} |");
        }
    }
    if layout.cpu {
        let cpu = row.cpu_per_wall.map_or("–".to_owned(), |cpu| format!("{cpu:.2}"));
        text += &format!(" {cpu} |");
    }
    text
}

fn named(row: &Row) -> String {
    match row.role {
        Role::Ours => format!("**{}**", row.name),
        Role::Peer => row.name.clone(),
        Role::Baseline => format!("*{}*", row.name),
    }
}

fn ratio(figure: f64, best: Option<f64>) -> String {
    best.filter(|best| *best > 0.0)
        .map_or("–".to_owned(), |best| short(figure / best))
}

/// A line for each report: the given columns of each row, and the first of ours beside the best
/// peer's.
fn pivoted(reports: &[Report], columns: &[usize]) -> String {
    let Some(first) = reports.first() else {
        return String::new();
    };
    let axis = first.family.as_ref().map_or("", |family| family.axis);
    let heads: Vec<&str> = columns
        .iter()
        .map(|&column| first.columns[column].head())
        .collect();
    let peers = reports.iter().any(Report::has_peers);
    let names: Vec<&Row> = first.rows.iter().collect();
    let mut text = format!("{}:\n\n| {axis} |", heads.join(" / "));
    for row in &names {
        text += &format!(" {} |", named(row));
    }
    text += if peers { " ours × best peer |" } else { "" };
    text += &format!("\n|---|{}\n", "--:|".repeat(names.len() + usize::from(peers)));
    for report in reports {
        let label = report.family.as_ref().map_or("", |family| &family.label);
        text += &format!("| {label} |");
        for name in &names {
            let row = report.rows.iter().find(|row| row.name == name.name);
            text += &format!(
                " {} |",
                row.map_or("–".to_owned(), |row| cell(report, row, columns))
            );
        }
        if peers {
            let ours = report.rows.iter().find(|row| row.role == Role::Ours);
            let ours = ours.map_or(f64::NAN, |row| row.figures[columns[0]].median);
            text += &format!(" {} |", ratio(ours, report.best_peer(columns[0])));
        }
        text.push('\n');
    }
    text
}

fn cell(report: &Report, row: &Row, columns: &[usize]) -> String {
    match columns {
        [column] if report.rounds > 1 => {
            let stats = &row.figures[*column];
            let [median, min, max] = [stats.median, stats.min, stats.max].map(short);
            format!("{median} ({min} … {max})")
        }
        _ => {
            let figures = columns.iter().map(|&column| short(row.figures[column].median));
            figures.collect::<Vec<_>>().join(" / ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use crate::stats::Stats;

    #[test]
    fn a_section_has_caption_aims_table_and_picture() {
        let text = section(&[sample([2.0, 4.0])], Some("plots/sample.svg"));
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
        report.rows[1].cpu_per_wall = None;
        let expected = "\
| contender | ns | spread | CPU / wall |
|---|--:|--:|--:|
| **windlass** | 2.00 | 1.00 … 3.00 | 2.00 |
| **rayon** | – | – | – |
";
        assert_eq!(table(&[report]), expected);
    }

    fn family(pivot: &'static [usize]) -> [Report; 2] {
        [(8.0, [2.0, 4.0]), (32.0, [3.0, 2.0])].map(|(size, figures)| Report {
            name: format!("sample of {size}"),
            others: None,
            verdicts: Vec::new(),
            family: Some(Family {
                name: "samples".to_owned(),
                axis: "tasks",
                size,
                label: size.to_string(),
                pivot,
                plot: None,
            }),
            ..sample(figures)
        })
    }

    #[test]
    fn a_family_tells_its_story_once_and_has_one_table() {
        let expected = "\
### samples

Nothing is done. 3 rounds.

| tasks | contender | ns | spread | × best peer | CPU / wall |
|--:|---|--:|--:|--:|--:|
| 8 | **windlass** | 2.00 | 1.00 … 3.00 | 0.50 | 2.00 |
| 8 | rayon | 4.00 | 2.00 … 6.00 | 1.00 | 2.00 |
| 32 | **windlass** | 3.00 | 1.50 … 4.50 | 1.50 | 2.00 |
| 32 | rayon | 2.00 | 1.00 … 3.00 | 1.00 | 2.00 |
";
        assert_eq!(section(&family(&[]), None), expected);
    }

    #[test]
    fn a_pivot_has_the_ratio_of_ours_to_the_best_peer() {
        let text = section(&family(&[0]), None);
        let expected = "\
ns:

| tasks | **windlass** | rayon | ours × best peer |
|---|--:|--:|--:|
| 8 | 2.00 (1.00 … 3.00) | 4.00 (2.00 … 6.00) | 0.50 |
| 32 | 3.00 (1.50 … 4.50) | 2.00 (1.00 … 3.00) | 1.50 |
";
        assert!(text.ends_with(expected), "{text}");
    }
}
