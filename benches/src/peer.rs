//! Other engines, which are used from Python and so run in processes of their own, one for each round.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::de::DeserializeOwned;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// An interpreter, and the script that it runs.
#[derive(Debug)]
pub struct Python {
    program: PathBuf,
    script: &'static str,
}

/// A peer that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// What the script calls it.
    pub key: &'static str,
    /// What tables call it.
    pub name: &'static str,
    /// Its version.
    pub version: String,
}

impl Python {
    /// The interpreter called `program`, for the script of that name among the peers.
    pub fn new(program: &Path, script: &'static str) -> Self {
        Self {
            program: program.to_owned(),
            script,
        }
    }

    /// Those of `known` that are installed (what the script calls them, and what tables do), and in a sentence what is missing and how to get it.
    pub fn peers(&self, known: &[(&'static str, &'static str)]) -> (Vec<Peer>, Option<String>) {
        let how = "with `pip install -r benches/peers/requirements.txt` they are measured as well";
        match self.versions() {
            Err(error) => {
                let missing = format!("no peers: {error:#}; a Python is chosen with --python, and {how}");
                (Vec::new(), Some(missing))
            }
            Ok(versions) => {
                let (there, missing) = split(known, &versions);
                let missing =
                    (!missing.is_empty()).then(|| format!("not installed: {}; {how}", missing.join(", ")));
                (there, missing)
            }
        }
    }

    /// What the script tells of a peer, line by line, in a process of its own.
    ///
    /// # Errors
    ///
    /// When the script fails, and has said why on standard error; or tells something else.
    pub fn run<T: DeserializeOwned>(
        &self,
        peer: &Peer,
        workload: &Path,
        arguments: Vec<OsString>,
    ) -> anyhow::Result<Vec<T>> {
        let mut all: Vec<OsString> = vec![peer.key.into(), workload.into()];
        all.extend(arguments);
        let told: Result<Vec<T>, _> = self.output(&all)?.lines().map(serde_json::from_str).collect();
        told.with_context(|| format!("{} told something else than measurements", peer.name))
    }

    fn versions(&self) -> anyhow::Result<BTreeMap<String, Option<String>>> {
        Ok(serde_json::from_str(&self.output(&["--versions"])?)?)
    }

    fn output(&self, arguments: &[impl AsRef<OsStr>]) -> anyhow::Result<String> {
        let output = Command::new(&self.program)
            .arg(Path::new(FOLDER).join(self.script))
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        ensure!(
            output.status.success(),
            "{} ended with {}",
            self.script,
            output.status
        );
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Those that are installed, and the names of those that are not.
fn split(
    known: &[(&'static str, &'static str)],
    versions: &BTreeMap<String, Option<String>>,
) -> (Vec<Peer>, Vec<&'static str>) {
    let mut there = Vec::new();
    let mut missing = Vec::new();
    for &(key, name) in known {
        match versions.get(key).cloned().flatten() {
            Some(version) => there.push(Peer { key, name, version }),
            None => missing.push(name),
        }
    }
    (there, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [(&str, &str); 3] = [
        ("duckdb", "DuckDB"),
        ("datafusion", "DataFusion"),
        ("polars", "Polars"),
    ];

    #[test]
    fn what_is_not_installed_is_named() {
        let versions = [("duckdb", Some("2.0.0")), ("polars", None)];
        let versions = versions
            .map(|(key, version)| (key.to_owned(), version.map(str::to_owned)))
            .into();
        let (there, missing) = split(&KNOWN, &versions);
        assert_eq!(there.len(), 1);
        assert_eq!((there[0].name, there[0].version.as_str()), ("DuckDB", "2.0.0"));
        assert_eq!(missing, ["DataFusion", "Polars"]);
    }

    #[test]
    fn without_an_interpreter_it_says_how_to_get_peers() {
        let (there, missing) = Python::new(Path::new("windlass-no-such-python"), "group_by.py").peers(&KNOWN);
        assert!(there.is_empty());
        let missing = missing.unwrap();
        for part in [
            "windlass-no-such-python",
            "benches/peers/requirements.txt",
            "--python",
        ] {
            assert!(missing.contains(part), "`{part}` is not in {missing}");
        }
    }
}
