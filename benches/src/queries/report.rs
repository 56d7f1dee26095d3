//! The figures as tables, what was aimed at, and the generated part of the page about them.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use benches::generated;
use benches::number::short;

use super::figures::{Figures, Percentiles};
use super::plot;

/// As the marks of the page have it.
const COMMAND: &str = "cargo xtask bench --queries";
const PAGE: &str = "queries.md";
const PLOT: &str = "queries/short-beside-heavy.svg";

/// What our engine is called in tables.
pub(crate) const OURS: &str = "windlass";

/// Our p99 is to be at most so many times DuckDB's, by the number of heavy clients.
const AIMS: [(usize, f64); 2] = [(2, 0.6), (8, 0.4)];
const AIM_PEER: &str = "DuckDB";
/// Heavy throughput beside the short query is to be at least so many times that alone.
const HEAVY_KEPT: f64 = 0.95;

/// All that is said about a run, as Markdown.
pub(crate) fn markdown(figures: &[Figures]) -> String {
    let mut text = String::new();
    for verdict in verdicts(figures) {
        let met = if verdict.met { "met" } else { "missed" };
        let _ = writeln!(text, "- {}, **{met}**", verdict.text);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &summary(figures) + "\n" + &details(figures)
}

/// Replaces the generated part of the page in `folder`, and the plot beside it.
///
/// # Errors
///
/// When a file cannot be read or written, or when the page has no place for it.
pub(crate) fn write(folder: &Path, figures: &[Figures], about: &str) -> io::Result<()> {
    let drawn = plot::percentiles(figures).map_err(io::Error::other)?;
    let path = folder.join(PLOT);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(path, drawn)?;
    let text = format!("{about}\n\n{}\n![percentiles]({PLOT})\n", markdown(figures));
    generated::write(&folder.join(PAGE), COMMAND, &text)
}

struct Verdict {
    text: String,
    met: bool,
}

fn verdicts(figures: &[Figures]) -> Vec<Verdict> {
    let find = |engine: &str, clients: usize| {
        figures
            .iter()
            .find(|one| one.engine == engine && one.clients == clients)
    };
    let mut all = Vec::new();
    for (clients, at_most) in AIMS {
        if let (Some(ours), Some(peer)) = (find(OURS, clients), find(AIM_PEER, clients)) {
            let times = ours.latency.p99 / peer.latency.p99;
            all.push(Verdict {
                text: format!(
                    "p99 at H = {clients} ≤ {at_most} × {AIM_PEER}'s: {} ×",
                    short(times)
                ),
                met: ours.keeps_up() && times <= at_most,
            });
        }
    }
    for ours in figures.iter().filter(|one| one.engine == OURS) {
        if let Some(kept) = ours.heavy_kept() {
            all.push(Verdict {
                text: format!(
                    "heavy throughput at H = {} ≥ {HEAVY_KEPT} × alone: {} ×",
                    ours.clients,
                    short(kept)
                ),
                met: kept >= HEAVY_KEPT,
            });
        }
    }
    all
}

/// A row for each engine, a column for each number of clients.
fn summary(figures: &[Figures]) -> String {
    let mut clients: Vec<usize> = Vec::new();
    let mut engines: Vec<&str> = Vec::new();
    for one in figures {
        if !clients.contains(&one.clients) {
            clients.push(one.clients);
        }
        if !engines.contains(&one.engine.as_str()) {
            engines.push(&one.engine);
        }
    }
    let mut text = "| p50 / p99 ms, heavy queries/s beside |".to_owned();
    for heavy in &clients {
        match heavy {
            0 => text.push_str(" alone |"),
            heavy => _ = write!(text, " H = {heavy} |"),
        }
    }
    let _ = writeln!(text, "\n|---|{}", "--:|".repeat(clients.len()));
    for engine in engines {
        let _ = write!(text, "| {} |", named(engine));
        for heavy in &clients {
            let one = figures
                .iter()
                .find(|one| one.engine == engine && one.clients == *heavy);
            let _ = write!(text, " {} |", one.map_or_else(|| "–".to_owned(), cell));
        }
        text.push('\n');
    }
    text
}

fn cell(one: &Figures) -> String {
    let mut cell = if one.keeps_up() {
        format!("{} / {}", short(one.latency.p50), short(one.latency.p99))
    } else {
        "never catches up".to_owned()
    };
    if let Some(heavy) = one.heavy_beside_per_s {
        let _ = write!(cell, "; {}", short(heavy));
    }
    cell
}

fn details(figures: &[Figures]) -> String {
    let mut text = "| engine | H | p50 | p95 | p99 | p99 by round | max | client woke late: p50 / p99 / max | not asked | heavy/s \
                    alone | beside | kept |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for one in figures {
        let Percentiles { p50, p95, p99, max } = one.latency;
        let woke = one.woke_late.map_or_else(
            || "–".to_owned(),
            |late| format!("{} / {} / {}", short(late.p50), short(late.p99), short(late.max)),
        );
        let rounds: Vec<String> = one.p99_by_round.iter().map(|p99| short(*p99)).collect();
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {woke} | {} | {} | {} | {} |",
            named(&one.engine),
            one.clients,
            short(p50),
            short(p95),
            short(p99),
            rounds.join(", "),
            short(max),
            one.unasked,
            number(one.heavy_alone_per_s),
            number(one.heavy_beside_per_s),
            number(one.heavy_kept()),
        );
    }
    text
}

fn named(engine: &str) -> String {
    if engine == OURS {
        format!("**{engine}**")
    } else {
        engine.to_owned()
    }
}

/// Figures of one engine under one load.
#[cfg(test)]
pub(super) fn sample(engine: &str, clients: usize, p99: f64, kept: Option<f64>) -> Figures {
    let percentiles = Percentiles {
        p50: p99 / 4.0,
        p95: p99 / 2.0,
        p99,
        max: p99 * 2.0,
    };
    Figures {
        engine: engine.to_owned(),
        clients,
        latency: percentiles,
        p99_by_round: vec![p99],
        woke_late: Some(percentiles),
        unasked: 0,
        heavy_alone_per_s: kept.map(|_| 10.0),
        heavy_beside_per_s: kept.map(|kept| kept * 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_engine_and_says_who_never_catches_up() {
        let mut lost = sample("Polars", 2, 400.0, Some(1.0));
        lost.unasked = 7;
        let table = summary(&[
            sample(OURS, 0, 2.0, None),
            sample(OURS, 2, 4.0, Some(0.97)),
            sample("Polars", 0, 2.0, None),
            lost,
        ]);
        let expected = "| p50 / p99 ms, heavy queries/s beside | alone | H = 2 |
|---|--:|--:|
| **windlass** | 0.50 / 2.00 | 1.00 / 4.00; 9.70 |
| Polars | 0.50 / 2.00 | never catches up; 10.0 |
";
        assert_eq!(table, expected);
    }

    #[test]
    fn aims_are_judged_from_the_same_run() {
        let judge = |ours: f64, kept: f64| {
            let figures = [
                sample(OURS, 2, ours, Some(kept)),
                sample("DuckDB", 2, 10.0, Some(1.0)),
            ];
            verdicts(&figures)
                .into_iter()
                .map(|verdict| (verdict.text, verdict.met))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            judge(5.0, 0.96),
            [
                ("p99 at H = 2 ≤ 0.6 × DuckDB's: 0.50 ×".to_owned(), true),
                (
                    "heavy throughput at H = 2 ≥ 0.95 × alone: 0.96 ×".to_owned(),
                    true
                ),
            ]
        );
        assert!(judge(7.0, 0.9).iter().all(|(_, met)| !met));
        assert_eq!(
            verdicts(&[sample(OURS, 0, 1.0, None)]).len(),
            0,
            "nothing to compare"
        );
    }

    #[test]
    fn the_page_keeps_what_people_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join(PAGE);
        let [begin, end] = generated::marks(COMMAND);
        fs::write(&page, format!("by hand\n{begin}\nold\n{end}\n")).unwrap();
        write(folder.path(), &[sample(OURS, 0, 2.0, None)], "Today.").unwrap();
        let text = fs::read_to_string(&page).unwrap();
        assert!(text.starts_with("by hand\n") && text.contains("Today.") && !text.contains("old"));
        assert!(folder.path().join(PLOT).is_file());
    }
}
