//! The matrix bug × layer, on the screen and in `README.md` beside.

use std::fmt::Write as _;

use anyhow::Context as _;

use super::layer::Layer;
use super::oracles::OnlyTable;
use super::verdict::Verdict;
use crate::table;
use crate::workspace::Workspace;

const FILE: &str = "xtask/src/mutants/README.md";

#[derive(Debug, Default)]
pub(super) struct Matrix(Vec<Row>);

#[derive(Debug, Clone)]
pub(super) struct Row {
    name: String,
    cells: [Option<String>; 3],
    killed: [bool; 3],
}

impl Row {
    pub(super) fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            cells: [const { None }; 3],
            killed: [false; 3],
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn set(&mut self, layer: Layer, verdict: &Verdict) {
        self.cells[layer as usize] = Some(verdict.cell());
        self.killed[layer as usize] = verdict.killed;
    }

    pub(super) fn is_killed(&self, layer: Layer) -> bool {
        self.killed[layer as usize]
    }

    fn cell(&self, column: usize) -> String {
        self.cells[column].clone().unwrap_or_default()
    }
}

impl Matrix {
    pub(super) fn push(&mut self, row: Row) {
        self.0.push(row);
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.0
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn print(&self) {
        let row = |row: &Row| [row.name.clone(), row.cell(0), row.cell(1), row.cell(2)];
        let rows: Vec<_> = self.0.iter().map(row).collect();
        println!();
        table::print(["planted bug", "unit", "sim", "loom"], &rows);
    }
}

impl Row {
    /// Merges this row into the document's table. Layers that did not run keep their verdicts.
    fn merged_into(&self, old: &str) -> String {
        let mut rows: Vec<[String; 4]> = old.lines().filter_map(old_row).collect();
        let place = rows
            .iter()
            .position(|old| old[0] == self.name)
            .unwrap_or_else(|| {
                rows.push([self.name.clone(), String::new(), String::new(), String::new()]);
                rows.len() - 1
            });
        for (column, cell) in self.cells.iter().enumerate() {
            if let Some(cell) = cell {
                rows[place][column + 1].clone_from(cell);
            }
        }
        // `none` first, then by number.
        rows.sort_by_key(|row| (number(&row[0]), row[0].clone()));
        let mut text = "| planted bug | unit | sim | loom |\n|---|---|---|---|\n".to_owned();
        for [name, unit, sim, loom] in rows {
            let name = if name == super::NONE {
                name
            } else {
                format!("`{name}`")
            };
            let _ = writeln!(text, "| {name} | {unit} | {sim} | {loom} |");
        }
        text
    }
}

fn number(name: &str) -> Option<u32> {
    name.strip_prefix('m')?.split('_').next()?.parse().ok()
}

fn old_row(line: &str) -> Option<[String; 4]> {
    let cells: Vec<&str> = line
        .strip_prefix("| ")?
        .strip_suffix('|')?
        .split('|')
        .map(str::trim)
        .collect();
    let [name, unit, sim, loom] = cells.try_into().ok()?;
    let name = name.trim_matches('`');
    let is_bug = name == super::NONE || super::Bug::of_name(name).is_some();
    is_bug.then(|| [name, unit, sim, loom].map(str::to_owned))
}

pub(super) fn write_row(workspace: &Workspace, row: &Row) -> anyhow::Result<()> {
    rewrite(workspace, "planted bugs", |old| row.merged_into(old))
}

pub(super) fn write_oracles(workspace: &Workspace, table: &OnlyTable) -> anyhow::Result<()> {
    rewrite(workspace, "oracles", |old| table.merged_into(old))
}

/// Replaces the text between the marks `name` in the document by what `new` makes of it.
pub(super) fn rewrite(
    workspace: &Workspace,
    name: &str,
    new: impl FnOnce(&str) -> String,
) -> anyhow::Result<()> {
    let path = workspace.root.join(FILE);
    let text = std::fs::read_to_string(&path)?;
    std::fs::write(&path, replaced(&text, name, new)?)?;
    Ok(())
}

fn replaced(text: &str, name: &str, new: impl FnOnce(&str) -> String) -> anyhow::Result<String> {
    let (begin, end) = (
        format!("<!-- {name}: begin -->\n"),
        format!("<!-- {name}: end -->"),
    );
    let parts = text.split_once(&begin).and_then(|(before, rest)| {
        let (old, after) = rest.split_once(&end)?;
        Some((before, old, after))
    });
    let (before, old, after) = parts.with_context(|| format!("{FILE} has lost the marks of `{name}`"))?;
    let new = new(old);
    Ok(format!("{before}{begin}\n{new}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_was_not_asked_keeps_what_it_said() {
        let mut row = Row::of("m03_no_wake");
        row.set(Layer::Sim, &Verdict::killed("`gate` 7".to_owned()));
        let old =
            "| none | – | – | – |\n| `m03_no_wake` | a test | old | a model |\n| `m99_gone` | a | b | c |\n";
        let text = format!("a\n<!-- planted bugs: begin -->\n{old}<!-- planted bugs: end -->\nb\n");
        let text = replaced(&text, "planted bugs", |old| row.merged_into(old)).unwrap();
        assert!(
            text.contains("| none | – | – | – |\n| `m03_no_wake` | a test | `gate` 7 | a model |\n"),
            "{text}"
        );
        assert!(!text.contains("m99_gone"), "{text}");
        assert!(text.starts_with("a\n") && text.ends_with("\nb\n"));
        assert!(replaced("no marks", "oracles", str::to_owned).is_err());
    }
}
