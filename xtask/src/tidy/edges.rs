//! Synchronisation edges: every label has two ends in the code, a row in the memory model, and a
//! loom model.
//!
//! ```text
//! // Ordering: Release. Edge `sleep/publish`: pairs with ...      one end, in crates/*/src
//! // Ordering: Acquire. Edge `sleep/publish`: ...                 the other end
//! | `sleep/publish` | ... | `sleeper_registers_against_push` |    its row in docs/memory-model.md
//! ```
//!
//! An end publishes (Release, AcqRel, SeqCst) or observes (Acquire, AcqRel, SeqCst), and an edge
//! needs one of each at two sites. One read-modify-write or fence that several threads run may be
//! both ends, if its comment says that it "pairs with itself". A Relaxed site may name the edge
//! that it relies on without being an end.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_source::Comment;
use super::tree::{File, Tree};
use super::violation::Violation;

const MEMORY_MODEL: &str = "docs/memory-model.md";

#[derive(Debug, Default)]
struct Edge {
    sites: Vec<Site>,
}

#[derive(Debug)]
struct Site {
    path: String,
    line: usize,
    publishes: bool,
    observes: bool,
    with_itself: bool,
}

#[derive(Debug)]
struct Row {
    line: usize,
    models: Vec<String>,
}

pub(crate) fn count(tree: &Tree) -> usize {
    edges(tree).len()
}

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let edges = edges(tree);
    let (rows, mut found) = rows(tree);
    let models = models(tree);
    for (label, edge) in &edges {
        let first = &edge.sites[0];
        let mut report = |what: String| found.push(Violation::new(&first.path, first.line, what));
        if !edge.has_both_ends() {
            let places: Vec<String> = edge
                .sites
                .iter()
                .map(|site| format!("{}:{}", site.path, site.line))
                .collect();
            let lacks = edge.lacks();
            report(format!(
                "edge `{label}` lacks {lacks}, label the other end too (it is at {})",
                places.join(", ")
            ));
        }
        if !rows.contains_key(label) {
            report(format!(
                "edge `{label}` is not in {MEMORY_MODEL}, add its row with its ends and its loom model"
            ));
        }
    }
    for (label, row) in &rows {
        let mut report = |what: String| found.push(Violation::new(MEMORY_MODEL, row.line, what));
        if !edges.contains_key(label) {
            report(format!(
                "edge `{label}` has no site in crates/*/src, remove the row or label its ends"
            ));
        }
        if row.models.is_empty() {
            report(format!("edge `{label}` names no loom model in its last column"));
        }
        for model in row.models.iter().filter(|model| !models.contains(*model)) {
            report(format!(
                "edge `{label}`: no function `{model}` in any tests/loom, correct the model's name"
            ));
        }
    }
    found.extend(mentions(tree, &edges));
    found
}

pub(crate) fn models_of(tree: &Tree, edge: &str) -> Vec<String> {
    let (mut rows, _) = rows(tree);
    rows.remove(edge).map(|row| row.models).unwrap_or_default()
}

impl Edge {
    fn has_both_ends(&self) -> bool {
        let sites = self.sites.iter().enumerate();
        let paired = sites
            .clone()
            .any(|(i, one)| one.publishes && sites.clone().any(|(j, other)| i != j && other.observes));
        paired
            || self
                .sites
                .iter()
                .any(|site| site.publishes && site.observes && site.with_itself)
    }

    fn lacks(&self) -> &'static str {
        let publishes = self.sites.iter().any(|site| site.publishes);
        let observes = self.sites.iter().any(|site| site.observes);
        match (publishes, observes) {
            (true, false) => "an end that observes it (Acquire)",
            (false, true) => "an end that publishes it (Release)",
            (false, false) => "both ends",
            (true, true) => "a second site",
        }
    }
}

fn edges(tree: &Tree) -> BTreeMap<String, Edge> {
    let mut edges: BTreeMap<String, Edge> = BTreeMap::new();
    for (file, source) in tree.rust("crates/").filter(|(file, _)| file.is_product()) {
        for comment in &source.comments {
            for (line, clause) in clauses(comment) {
                let (orderings, _) = clause.split_once('.').unwrap_or((&clause, ""));
                let says = |words: &[&str]| words.iter().any(|word| orderings.contains(word));
                for label in labels(&clause) {
                    edges.entry(label).or_default().sites.push(Site {
                        path: file.path.clone(),
                        line,
                        publishes: says(&["Release", "AcqRel", "SeqCst"]),
                        observes: says(&["Acquire", "AcqRel", "SeqCst"]),
                        with_itself: clause.contains("pairs with itself"),
                    });
                }
            }
        }
    }
    edges
}

/// Clauses that begin with `Ordering:`, each joined to one line, with its first line.
fn clauses(comment: &Comment) -> Vec<(usize, String)> {
    let mut clauses: Vec<(usize, String)> = Vec::new();
    for (offset, line) in comment.text.lines().enumerate() {
        for (position, part) in line.split("Ordering:").enumerate() {
            if position > 0 {
                clauses.push((comment.line + offset, part.trim().to_owned()));
            } else if let Some((_, clause)) = clauses.last_mut() {
                clause.push(' ');
                clause.push_str(part.trim());
            }
        }
    }
    clauses
}

/// Labels after the word "edge" or "edges": code spans, separated by commas or "and".
pub(super) fn labels(text: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let lower = text.to_ascii_lowercase();
    for (at, word) in lower.match_indices("edge") {
        let mut rest = text[at + word.len()..].trim_start_matches('s').trim_start();
        while let Some((label, after)) = rest.strip_prefix('`').and_then(|span| span.split_once('`')) {
            if is_label(label) {
                labels.push(label.to_owned());
            }
            let after = after.trim_start_matches([',', ' ']);
            rest = after.strip_prefix("and ").unwrap_or(after);
        }
    }
    labels
}

/// `area/name`, in lower case with hyphens.
fn is_label(text: &str) -> bool {
    let fits = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    text.split_once('/')
        .is_some_and(|(area, name)| fits(area) && fits(name))
}

/// Table rows whose first cell is a label.
fn rows(tree: &Tree) -> (BTreeMap<String, Row>, Vec<Violation>) {
    let (mut rows, mut found) = (BTreeMap::new(), Vec::new());
    let Some(file) = tree.file(MEMORY_MODEL) else {
        return (rows, found);
    };
    for (index, line) in file.text.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').collect();
        let label = spans(cells[0]).into_iter().next().filter(|label| is_label(label));
        if let (true, Some(label)) = (line.trim_start().starts_with('|') && cells.len() > 1, label) {
            let row = Row {
                line: index + 1,
                models: spans(cells[cells.len() - 1]),
            };
            if let Some(earlier) = rows.insert(label.clone(), row) {
                let what = format!(
                    "edge `{label}` has a row at line {} already, keep one",
                    earlier.line
                );
                found.push(Violation::new(MEMORY_MODEL, index + 1, what));
            }
        }
    }
    (rows, found)
}

fn spans(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn models(tree: &Tree) -> BTreeSet<String> {
    let loom = tree
        .rust("crates/")
        .filter(|(file, _)| file.path.contains("/tests/loom/"));
    loom.flat_map(|(_, source)| source.tokens.windows(2))
        .filter(|pair| pair[0].text == "fn")
        .map(|pair| pair[1].text.clone())
        .collect()
}

fn mentions(tree: &Tree, edges: &BTreeMap<String, Edge>) -> Vec<Violation> {
    let unknown = |text: &str| -> Vec<String> {
        labels(text)
            .into_iter()
            .filter(|label| !edges.contains_key(label))
            .collect()
    };
    let report = |file: &File, line: usize, label: String| {
        let what = format!("mentions edge `{label}`, which no site in crates/*/src has; was it renamed?");
        Violation::new(&file.path, line, what)
    };
    let mut found = Vec::new();
    for file in tree.with_extension("md").filter(|file| file.path != MEMORY_MODEL) {
        for (index, line) in file.text.lines().enumerate() {
            found.extend(
                unknown(line)
                    .into_iter()
                    .map(|label| report(file, index + 1, label)),
            );
        }
    }
    for (file, source) in tree.rust("crates/") {
        for comment in &source.comments {
            let text = comment.text.split_whitespace().collect::<Vec<_>>().join(" ");
            found.extend(
                unknown(&text)
                    .into_iter()
                    .map(|label| report(file, comment.line, label)),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    const RELEASE: &str = "// Ordering: Release. Edge `sleep/publish`: pairs with the Acquire below.\n";
    const ACQUIRE: &str = "// Ordering: Acquire. Edge\n// `sleep/publish`: sees every push.\n";
    const ROW: &str =
        "| edge | ends | model |\n|---|---|---|\n| `sleep/publish` | a, b | `push_against_register` |\n";
    const MODEL: (&str, &str) = (
        "crates/a/tests/loom/main.rs",
        "//! Models.\nfn push_against_register() {}",
    );

    fn check_code(code: &str, memory_model: &str) -> Vec<Violation> {
        check(&Tree::planted(&[
            ("crates/a/src/lib.rs", code),
            (MEMORY_MODEL, memory_model),
            MODEL,
        ]))
    }

    #[test]
    fn an_edge_with_two_ends_a_row_and_a_model_passes() {
        assert_found(&check_code(&format!("{RELEASE}\nlet a;\n{ACQUIRE}"), ROW), &[]);
    }

    #[test]
    fn a_label_that_loses_its_partner_is_found() {
        assert_found(
            &check_code(RELEASE, ROW),
            &["crates/a/src/lib.rs:1: edge `sleep/publish` lacks an end that observes it"],
        );
        assert_found(&check_code(ACQUIRE, ROW), &["lacks an end that publishes it"]);
        assert_found(
            &check_code(&format!("{RELEASE}\n{RELEASE}"), ROW),
            &["lacks an end that observes it"],
        );
    }

    #[test]
    fn one_site_is_both_ends_only_if_it_says_so() {
        let site = "// Ordering: AcqRel. Edge `sleep/publish`: the last one sees the others.";
        assert_found(&check_code(site, ROW), &["lacks a second site"]);
        assert_found(
            &check_code(&site.replace("the last", "pairs with itself: the last"), ROW),
            &[],
        );
    }

    #[test]
    fn a_relaxed_site_is_no_end() {
        let code = format!("{RELEASE}\n// Ordering: Relaxed. Edge `sleep/publish` is carried by the fence.");
        assert_found(&check_code(&code, ROW), &["lacks an end that observes it"]);
    }

    #[test]
    fn several_labels_and_several_clauses_are_read() {
        let comment = Comment {
            line: 3,
            end: 4,
            kind: super::super::rust_source::CommentKind::Plain,
            text: " Ordering: SeqCst fence. Edges `a/b`, `c/d` and `e/f-2`.\n Ordering: Relaxed. Edge `g/h`."
                .to_owned(),
        };
        let clauses = clauses(&comment);
        assert_eq!(clauses[0].0, 3);
        assert_eq!(labels(&clauses[0].1), ["a/b", "c/d", "e/f-2"]);
        assert_eq!((clauses[1].0, labels(&clauses[1].1)), (4, vec!["g/h".to_owned()]));
    }

    #[test]
    fn an_edge_without_a_row_and_a_row_without_an_edge_are_found() {
        let both = format!("{RELEASE}\n{ACQUIRE}");
        assert_found(&check_code(&both, ""), &["is not in docs/memory-model.md"]);
        assert_found(
            &check_code("", ROW),
            &["docs/memory-model.md:3: edge `sleep/publish` has no site"],
        );
    }

    #[test]
    fn a_model_that_does_not_exist_is_found() {
        let both = format!("{RELEASE}\n{ACQUIRE}");
        assert_found(
            &check_code(&both, &ROW.replace("push_against", "pull_against")),
            &["no function `pull_against_register`"],
        );
        assert_found(
            &check_code(&both, &ROW.replace("`push_against_register`", "-")),
            &["names no loom model"],
        );
    }

    #[test]
    fn a_mention_of_an_edge_that_is_gone_is_found() {
        let files = [
            ("crates/a/src/sleep/README.md", "one\nsee edge `sleep/gone`."),
            ("crates/a/src/lib.rs", "/// Edge `a/b`."),
        ];
        assert_found(
            &check(&Tree::planted(&files)),
            &[
                "README.md:2: mentions edge `sleep/gone`",
                "lib.rs:1: mentions edge `a/b`",
            ],
        );
    }
}
