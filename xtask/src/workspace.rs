//! `cargo metadata`: the root, the build folder, the members and their dependencies.
//!
//! Read as plain JSON (`docs/decisions/0005-cargo-metadata-as-plain-json.md`).

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::process;

#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Follows `CARGO_TARGET_DIR`.
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Relative to the root, with `/`.
    pub(crate) folder: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// Kind (`bin`, `test`, ...) and name.
    pub(crate) targets: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether only tests, examples and benches use it.
    pub(crate) dev: bool,
}

impl Workspace {
    pub(crate) fn load() -> anyhow::Result<Workspace> {
        let output = process::cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .stderr(Stdio::piped())
            .output()
            .context("cannot run `cargo metadata`")?;
        if !output.status.success() {
            bail!(
                "`cargo metadata` failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        let metadata = serde_json::from_slice(&output.stdout).context("`cargo metadata` printed no JSON")?;
        Workspace::from_metadata(&metadata)
    }

    fn from_metadata(metadata: &Value) -> anyhow::Result<Workspace> {
        let root = PathBuf::from(text(metadata, "workspace_root")?);
        let target = PathBuf::from(text(metadata, "target_directory")?);
        let packages = list(metadata, "packages")?
            .iter()
            .map(|package| Package::from_metadata(package, &root))
            .collect::<anyhow::Result<_>>()?;
        Ok(Workspace {
            root,
            target,
            packages,
        })
    }

    pub(crate) fn with_target<'a>(
        &'a self,
        kind: &'a str,
        name: &'a str,
    ) -> impl Iterator<Item = &'a Package> {
        self.packages
            .iter()
            .filter(move |package| package.has_target(kind, name))
    }
}

impl Workspace {
    /// Builds and runs a member's program in release mode; its arguments come last. `kind` is `bin`
    /// or `example`.
    pub(crate) fn program(&self, package: &str, kind: &str, name: &str) -> anyhow::Result<Command> {
        if !self.with_target(kind, name).any(|found| found.name == package) {
            bail!("crate `{package}` has no {kind} `{name}`");
        }
        let mut command = process::cargo();
        command.args(["run", "--release", "--quiet", "--package", package]);
        command.arg(format!("--{kind}")).args([name, "--"]);
        Ok(command)
    }
}

impl Package {
    fn from_metadata(package: &Value, root: &std::path::Path) -> anyhow::Result<Package> {
        let manifest = PathBuf::from(text(package, "manifest_path")?);
        let folder = manifest.parent().unwrap_or(&manifest);
        let folder = folder
            .strip_prefix(root)
            .unwrap_or(folder)
            .to_string_lossy()
            .replace('\\', "/");
        let dependencies = list(package, "dependencies")?
            .iter()
            .map(|dependency| {
                let dev = dependency["kind"].as_str() == Some("dev");
                Ok(Dependency {
                    name: text(dependency, "name")?.to_owned(),
                    dev,
                })
            })
            .collect::<anyhow::Result<_>>()?;
        let mut targets = Vec::new();
        for target in list(package, "targets")? {
            let name = text(target, "name")?;
            for kind in list(target, "kind")? {
                targets.push((kind.as_str().unwrap_or_default().to_owned(), name.to_owned()));
            }
        }
        Ok(Package {
            name: text(package, "name")?.to_owned(),
            folder,
            dependencies,
            targets,
        })
    }

    pub(crate) fn has_target(&self, kind: &str, name: &str) -> bool {
        self.targets.iter().any(|(k, n)| k == kind && n == name)
    }
}

fn text<'a>(value: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    value[key]
        .as_str()
        .with_context(|| format!("`cargo metadata` has no text `{key}`"))
}

fn list<'a>(value: &'a Value, key: &str) -> anyhow::Result<&'a Vec<Value>> {
    value[key]
        .as_array()
        .with_context(|| format!("`cargo metadata` has no list `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_becomes_members_with_their_arrows_and_targets() {
        let metadata = serde_json::json!({
            "workspace_root": "/w", "target_directory": "/w/target",
            "packages": [{
                "name": "sim", "manifest_path": "/w/crates/sim/Cargo.toml",
                "dependencies": [{"name": "executor-core", "kind": null}, {"name": "proptest", "kind": "dev"}],
                "targets": [{"name": "windlass-sim", "kind": ["bin"]}],
            }],
        });
        let workspace = Workspace::from_metadata(&metadata).unwrap();
        let sim = workspace.with_target("bin", "windlass-sim").next().unwrap();
        assert_eq!(sim.folder, "crates/sim");
        assert!(!sim.dependencies[0].dev && sim.dependencies[1].dev);
        assert!(workspace.with_target("test", "loom").next().is_none());
    }

    #[test]
    fn metadata_without_a_root_is_an_error_that_names_the_key() {
        let error = Workspace::from_metadata(&serde_json::json!({})).unwrap_err();
        assert!(error.to_string().contains("workspace_root"), "{error}");
    }
}
