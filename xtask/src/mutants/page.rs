//! The page with the tables of planted bugs, `README.md` beside this file: each between two marks.

use anyhow::Context as _;

use crate::workspace::Workspace;

const FILE: &str = "xtask/src/mutants/README.md";

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
    fn what_stands_between_the_marks_is_replaced_and_lost_marks_are_an_error() {
        let text = "one\n<!-- a: begin -->\nold\n<!-- a: end -->\ntwo\n";
        let new = replaced(text, "a", |old| old.replace("old", "new")).unwrap();
        assert_eq!(new, "one\n<!-- a: begin -->\n\nnew\n\n<!-- a: end -->\ntwo\n");
        assert!(replaced(text, "b", str::to_owned).is_err());
    }
}
