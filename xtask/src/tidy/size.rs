//! Long files, as warnings: past some 600 lines a file usually has a second concept.

use super::tree::Tree;
use super::violation::Violation;

const LINES_MAX: usize = 600;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let long = tree.rust("").map(|(file, _)| (file, file.text.lines().count()));
    long.filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(file, lines)| {
            let what = format!("{lines} lines, more than {LINES_MAX}; is there a second concept in it?");
            Violation::new(&file.path, lines, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    #[test]
    fn a_long_file_is_pointed_out() {
        let (long, short) = ("//! Line.\n".repeat(601), "//! Line.\n".repeat(600));
        let tree = Tree::planted(&[("crates/a/src/long.rs", &long), ("crates/a/src/short.rs", &short)]);
        assert_found(&check(&tree), &["crates/a/src/long.rs:601: 601 lines"]);
    }
}
