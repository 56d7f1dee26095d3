//! Planted bugs stay plantable: each patch applies to the tree, and its named test exists.

use std::collections::BTreeMap;

use super::tree::{File, Tree};
use super::violation::Violation;
use crate::mutants::patch::{FOLDER, Patch};

const ORACLES: &str = "crates/sim/src/oracle.rs";

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let folder = format!("{FOLDER}/");
    let mut named: BTreeMap<String, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for file in tree.files().filter(|file| file.path.starts_with(&folder)) {
        match read(tree, file) {
            Ok(patch) => {
                if let Some(other) = named.insert(patch.name, &file.path) {
                    found.push(Violation::new(&file.path, 1, format!("has the name of {other}")));
                }
            }
            Err(error) => found.push(Violation::new(&file.path, 1, format!("{error:#}"))),
        }
    }
    found
}

fn read(tree: &Tree, file: &File) -> anyhow::Result<Patch> {
    let patch = Patch::parse(&file.path, &file.text)?;
    for change in &patch.files {
        let Some(changed) = tree.file(&change.path) else {
            anyhow::bail!("does not apply: there is no {}", change.path);
        };
        if let Err(error) = change.apply(&changed.text) {
            anyhow::bail!("does not apply: {error}; make it anew");
        }
    }
    for name in &patch.by {
        let exists = match patch.layer.name() {
            "sim" => tree
                .file(ORACLES)
                .is_some_and(|file| file.text.contains(&format!("= \"{name}\""))),
            _ => tree.rust(&format!("crates/{}/", patch.krate)).any(|(_, source)| {
                let mut pairs = source.tokens.windows(2);
                pairs.any(|pair| pair[0].text == "fn" && pair[1].text == *name)
            }),
        };
        anyhow::ensure!(exists, "no {} is called `{name}`", patch.layer.noun());
    }
    Ok(patch)
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    const CODE: &str = "//! A story of a file.\nfn f() {\n    wake();\n    drop(a);\n}\n";
    const PATCH: &str = "breaks: A wake.\nlayer: unit\nby: it_wakes\n\n--- a/crates/pools/src/a.rs\n\
        +++ b/crates/pools/src/a.rs\n@@ -2,3 +2,2 @@\n fn f() {\n-    wake();\n     drop(a);\n";

    fn found(patch: &str, code: &str) -> Vec<Violation> {
        check(&Tree::planted(&[
            ("mutants/pools/no_wake.patch", patch),
            ("crates/pools/src/a.rs", code),
            ("crates/pools/tests/a.rs", "#[test] fn it_wakes() {}"),
            (ORACLES, "    Gate = \"gate\","),
        ]))
    }

    #[test]
    fn a_patch_that_applies_passes() {
        assert_found(&found(PATCH, CODE), &[]);
        assert_found(
            &found(&PATCH.replace("unit\nby: it_wakes", "sim\nby: gate"), CODE),
            &[],
        );
    }

    #[test]
    fn patches_whose_context_was_edited_are_found() {
        for code in [
            CODE.replace("wake", "unpark"),
            CODE.replace("drop(a)", "drop(b)"),
            CODE.replace("fn f", "pub fn f"),
        ] {
            assert_found(&found(PATCH, &code), &["no_wake.patch:1: does not apply"]);
        }
        let edited = PATCH.replace("     drop(a)", "     drop( a )");
        assert_found(&found(&edited, CODE), &["no_wake.patch:1: does not apply"]);
    }

    #[test]
    fn a_test_or_an_oracle_that_is_gone_is_found() {
        let found_for = |by: &str| found(&PATCH.replace("unit\nby: it_wakes", by), CODE);
        assert_found(
            &found_for("loom\nby: it_sleeps"),
            &["no model is called `it_sleeps`"],
        );
        assert_found(&found_for("sim\nby: gates"), &["no oracle is called `gates`"]);
    }

    #[test]
    fn two_patches_of_one_name_are_found() {
        let tree = Tree::planted(&[
            ("mutants/pools/no_wake.patch", PATCH),
            (
                "mutants/query/no_wake.patch",
                &PATCH.replace("crates/pools", "crates/query"),
            ),
            ("crates/pools/src/a.rs", CODE),
            ("crates/query/src/a.rs", CODE),
            ("crates/pools/tests/a.rs", "fn it_wakes() {}"),
            ("crates/query/tests/a.rs", "fn it_wakes() {}"),
        ]);
        assert_found(&check(&tree), &["has the name of mutants/pools/no_wake.patch"]);
    }
}
