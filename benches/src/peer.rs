//! Other engines, used from Python, each in a process of its own a round.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde::de::DeserializeOwned;

use crate::options::{Knob, Options};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// Our engine's name in tables and in [`ENGINES`].
pub(crate) const OURS: &str = "windlass";

pub(crate) const ENGINES: Knob = Knob::new(
    "engines",
    "all",
    "windlass, duckdb, datafusion, datafusion-1024, polars, with commas between",
);

#[derive(Clone, Debug)]
pub(crate) struct Python {
    program: PathBuf,
    script: &'static str,
}

/// Installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Name in the script.
    key: &'static str,
    /// Name in tables.
    pub(crate) name: &'static str,
    version: String,
}

pub(crate) fn is_wanted(options: &Options, engine: &str) -> bool {
    let wanted = options.text(ENGINES.name);
    wanted == ENGINES.default || wanted.split(',').any(|name| name == engine)
}

impl Peer {
    pub(crate) fn versioned(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

impl Python {
    pub(crate) fn new(options: &Options, script: &'static str) -> Self {
        Self {
            program: options.python.clone(),
            script,
        }
    }

    /// The selected and installed ones of `known` (names in the script and in tables). Prints the
    /// missing ones, which are an error if a page is to be written.
    pub(crate) fn peers(
        &self,
        known: &[(&'static str, &'static str)],
        options: &Options,
    ) -> Result<Vec<Peer>> {
        let wanted: Vec<_> = known
            .iter()
            .copied()
            .filter(|(key, _)| is_wanted(options, key))
            .collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let (there, missing) = match self.versions() {
            Ok(versions) => split(&wanted, &versions),
            Err(error) => {
                eprintln!("{error:#}; --python chooses another");
                (Vec::new(), wanted.iter().map(|(_, name)| *name).collect())
            }
        };
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let how = "`pip install -r benches/peers/requirements.txt` has all peers";
            ensure!(
                options.write.is_none(),
                "a page has all peers, and {missing} is missing; {how}"
            );
            eprintln!("not installed: {missing}; {how}");
        }
        Ok(there)
    }

    /// The output of a process of its own, line by line. Other output is an error.
    pub(crate) fn run<T: DeserializeOwned>(
        &self,
        peer: &Peer,
        workload: &Path,
        arguments: &[String],
    ) -> Result<Vec<T>> {
        let mut all = vec![OsStr::new(peer.key), workload.as_os_str()];
        all.extend(arguments.iter().map(OsStr::new));
        let told: Result<Vec<T>, _> = self.output(&all)?.lines().map(serde_json::from_str).collect();
        told.with_context(|| format!("{} told something else than measurements", peer.name))
    }

    fn versions(&self) -> Result<BTreeMap<String, Option<String>>> {
        Ok(serde_json::from_str(&self.output(&["--versions"])?)?)
    }

    fn output(&self, arguments: &[impl AsRef<OsStr>]) -> Result<String> {
        let output = Command::new(&self.program)
            .arg(Path::new(FOLDER).join(self.script))
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        let (script, status) = (self.script, output.status);
        ensure!(status.success(), "{script} ended with {status}");
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// The installed ones, and the names of the missing ones.
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

    const KNOWN: [(&str, &str); 2] = [("duckdb", "DuckDB"), ("polars", "Polars")];

    #[test]
    fn what_is_not_installed_is_named() {
        let versions = [("duckdb", Some("2.0.0")), ("polars", None)];
        let versions = versions.map(|(key, version)| (key.to_owned(), version.map(str::to_owned)));
        let (there, missing) = split(&KNOWN, &versions.into());
        assert_eq!(there.len(), 1);
        assert_eq!(there[0].versioned(), "DuckDB 2.0.0");
        assert_eq!(missing, ["Polars"]);
    }

    #[test]
    fn without_an_interpreter_there_are_no_peers_and_no_page() {
        let benches = crate::benches();
        let peers = |more: &[&str]| {
            let words = ["groups", "--python", "windlass-no-such-python"];
            let words = words.iter().chain(more).map(std::ffi::OsString::from);
            let (_, options) = Options::read(words, &benches).unwrap();
            Python::new(&options, "group_by.py").peers(&KNOWN, &options)
        };
        assert_eq!(peers(&[]).unwrap(), []);
        let error = peers(&["--write", "."]).unwrap_err().to_string();
        for part in ["DuckDB, Polars", "benches/peers/requirements.txt"] {
            assert!(error.contains(part), "`{part}` is not in {error}");
        }
    }
}
