//! Manifests: shared settings stand in the workspace, and all packages come from the registry.

use toml::{Table, Value};

use super::tree::{File, Tree};
use super::violation::Violation;

const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

/// The one crate that stands in a registry's place (`docs/decisions/0050-coroutines-for-loom.md`).
const PATCH: &str = "crates/loom-coroutines/Cargo.toml";

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut asked = Vec::new();
    let mut workspace = None;
    for file in tree
        .files()
        .filter(|file| file.path == "Cargo.toml" || file.path.ends_with("/Cargo.toml"))
        .filter(|file| !file.path.starts_with("xtask/tests/outside/"))
    {
        match file.text.parse::<Table>() {
            Err(error) => found.push(Violation::new(&file.path, 1, error.message().to_owned())),
            Ok(table) if file.path == "Cargo.toml" => workspace = Some((file, table)),
            Ok(table) => member(file, &table, &mut asked, &mut found),
        }
    }
    if let Some((file, table)) = workspace {
        root(file, &table, &asked, &mut found);
    }
    found
}

fn member(file: &File, table: &Table, asked: &mut Vec<String>, found: &mut Vec<Violation>) {
    let mut report =
        |key: &str, what: String| found.push(Violation::new(&file.path, line_of(file, key), what));
    let inherits =
        |value: Option<&Value>| value.and_then(|v| v.get("workspace")) == Some(&Value::Boolean(true));
    if !inherits(table.get("lints")) {
        report(
            "[lints]",
            "does not inherit the lints, add `[lints] workspace = true`".to_owned(),
        );
    }
    let package = table.get("package");
    // A patch has the version that its dependents ask for.
    let is_patch = file.path == PATCH;
    for key in INHERITED
        .iter()
        .filter(|key| !(is_patch && **key == "version"))
        .filter(|key| !inherits(package.and_then(|package| package.get(**key))))
    {
        report(
            key,
            format!("`{key}` is not inherited, write `{key}.workspace = true`"),
        );
    }
    if package.and_then(|package| package.get("description")).is_none() {
        report(
            "[package]",
            "has no `description`, say in a line what the crate is".to_owned(),
        );
    }
    for (name, value) in dependencies(table) {
        if inherits(Some(value)) {
            asked.push(name.clone());
        } else {
            report(
                name,
                format!("`{name}` is not from the workspace table, write `{name}.workspace = true`"),
            );
        }
    }
}

fn root(file: &File, table: &Table, asked: &[String], found: &mut Vec<Violation>) {
    let mut report =
        |key: &str, what: String| found.push(Violation::new(&file.path, line_of(file, key), what));
    if table.contains_key("replace") {
        report(
            "[replace]",
            "`[replace]` is out of use, write `[patch]`".to_owned(),
        );
    }
    let patches = table.get("patch").and_then(Value::as_table);
    for (name, value) in patches
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table)
        .flatten()
    {
        if !is_of_the_workspace(value) {
            report(
                "[patch",
                format!("the patch of `{name}` is no crate of the workspace, use a released version"),
            );
        }
    }
    let dependencies = table
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"));
    for (name, value) in dependencies.and_then(Value::as_table).into_iter().flatten() {
        let path = value.get("path");
        if value.get("git").is_some() || path.is_some() && !is_of_the_workspace(value) {
            report(
                name,
                format!("`{name}` comes from outside the workspace and the registry, use a release"),
            );
        }
        if path.is_none() && !asked.contains(name) {
            report(name, format!("no member asks for `{name}`, remove it"));
        }
    }
}

fn is_of_the_workspace(dependency: &Value) -> bool {
    let path = dependency.get("path").and_then(Value::as_str);
    path.is_some_and(|path| path.starts_with("crates/"))
}

fn dependencies(table: &Table) -> Vec<(&String, &Value)> {
    let targets = table
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values);
    let tables = std::iter::once(table).chain(targets.filter_map(Value::as_table));
    let kinds = tables.flat_map(|table| {
        ["dependencies", "dev-dependencies", "build-dependencies"]
            .into_iter()
            .filter_map(|kind| table.get(kind))
    });
    kinds.filter_map(Value::as_table).flatten().collect()
}

fn line_of(file: &File, key: &str) -> usize {
    file.text
        .lines()
        .position(|line| line.starts_with(key))
        .map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::violation::assert_found;
    use super::*;

    const MEMBER: &str = "[package]\nname = \"a\"\ndescription = \"A.\"\nversion.workspace = true\nedition.workspace = true
rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n";

    fn check_member(text: &str) -> Vec<Violation> {
        check(&Tree::planted(&[("crates/a/Cargo.toml", text)]))
    }

    #[test]
    fn a_member_that_inherits_passes() {
        assert_found(
            &check_member(&format!("{MEMBER}[dependencies]\nloom.workspace = true\n")),
            &[],
        );
        assert_found(
            &check_member(&format!(
                "{MEMBER}[dev-dependencies]\nb = {{ workspace = true, features = [] }}\n"
            )),
            &[],
        );
    }

    #[test]
    fn a_member_that_goes_its_own_way_is_found() {
        let own_edition = MEMBER.replace("edition.workspace = true", "edition = \"2021\"");
        assert_found(
            &check_member(&own_edition),
            &["crates/a/Cargo.toml:5: `edition` is not inherited"],
        );
        let no_lints = MEMBER.replace("[lints]\nworkspace = true\n", "");
        assert!(
            check_member(&no_lints)
                .iter()
                .any(|v| v.to_string().contains("lints"))
        );
        for wrong in [
            "[dependencies]\nb = \"1\"",
            "[target.'cfg(x)'.dev-dependencies]\nb = { path = \"../b\" }",
        ] {
            assert_found(
                &check_member(&format!("{MEMBER}{wrong}")),
                &["`b` is not from the workspace table"],
            );
        }
    }

    #[test]
    fn git_patches_and_unasked_dependencies_of_the_workspace_are_found() {
        let root = "[workspace.dependencies]\na = { path = \"crates/a\" }\nb = { git = \"x\" }\nc = \"1\"\n[patch.crates-io]\nd = { git = \"x\" }\ne = { path = \"crates/e\" }\n";
        let tree = Tree::planted(&[("Cargo.toml", root)]);
        assert_found(
            &check(&tree),
            &[
                "Cargo.toml:5: the patch of `d`",
                "`b` comes from outside",
                "no member asks for `b`",
                "no member asks for `c`",
            ],
        );
    }

    #[test]
    fn a_manifest_that_does_not_parse_is_found() {
        assert_eq!(check_member("[package").len(), 1);
    }
}
