//! Other engines, which are used from Python and so run in processes of their own, one for each round.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::figures::Measured;

/// The peers by the name that the script knows them by, and what they are called in tables.
pub(crate) const PEERS: [(&str, &str); 4] = [
    ("duckdb", "DuckDB"),
    ("datafusion", "DataFusion"),
    ("datafusion-1024", "DataFusion, batches of 1,024"),
    ("polars", "Polars, streaming"),
];

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");
const SCRIPT: &str = "short_beside_heavy.py";

/// An interpreter, and the script that it runs.
#[derive(Debug)]
pub(crate) struct Python {
    program: PathBuf,
    script: PathBuf,
}

/// A peer that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// What the script calls it.
    pub(crate) key: &'static str,
    /// What tables call it.
    pub(crate) name: &'static str,
    /// Its version.
    pub(crate) version: String,
}

/// The loads, as the script takes them.
#[derive(Debug)]
pub(crate) struct Loads<'a> {
    pub(crate) clients: &'a [usize],
    pub(crate) threads: usize,
    pub(crate) seconds: f64,
    pub(crate) pace_ms: f64,
}

impl Python {
    /// The interpreter called `program`.
    pub(crate) fn new(program: &Path) -> Self {
        Self {
            program: program.to_owned(),
            script: Path::new(FOLDER).join(SCRIPT),
        }
    }

    /// The peers that are installed, and in a sentence what is missing and how to get it.
    pub(crate) fn peers(&self) -> (Vec<Peer>, Option<String>) {
        let how = "with `pip install -r benches/peers/requirements.txt` they are measured as well";
        match self.versions() {
            Err(error) => {
                let missing = format!("no peers: {error:#}; a Python is chosen with --python, and {how}");
                (Vec::new(), Some(missing))
            }
            Ok(versions) => {
                let (there, missing) = split(&versions);
                let missing =
                    (!missing.is_empty()).then(|| format!("not installed: {}; {how}", missing.join(", ")));
                (there, missing)
            }
        }
    }

    /// All loads on a peer, once, in a process of its own.
    ///
    /// # Errors
    ///
    /// When the script fails; it has then said why on standard error.
    pub(crate) fn run(
        &self,
        peer: &Peer,
        workload: &Path,
        loads: &Loads<'_>,
    ) -> anyhow::Result<Vec<Measured>> {
        let text = |number: &dyn ToString| number.to_string();
        let mut arguments = vec!["--threads".to_owned(), text(&loads.threads)];
        arguments.extend(["--seconds".to_owned(), text(&loads.seconds)]);
        arguments.extend([
            "--pace-ms".to_owned(),
            text(&loads.pace_ms),
            "--clients".to_owned(),
        ]);
        arguments.extend(loads.clients.iter().map(ToString::to_string));
        let output = self.output(
            [OsStr::new(peer.key), workload.as_os_str()]
                .into_iter()
                .chain(arguments.iter().map(OsStr::new)),
        )?;
        let measured: Vec<Measured> = output
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{} told something else than measurements", peer.name))?;
        ensure!(
            measured.len() == loads.clients.len(),
            "{} told of {} loads, not of {}",
            peer.name,
            measured.len(),
            loads.clients.len()
        );
        Ok(measured)
    }

    fn versions(&self) -> anyhow::Result<BTreeMap<String, Option<String>>> {
        Ok(serde_json::from_str(&self.output([OsStr::new("--versions")])?)?)
    }

    fn output<'a>(&self, arguments: impl IntoIterator<Item = &'a OsStr>) -> anyhow::Result<String> {
        let output = Command::new(&self.program)
            .arg(&self.script)
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", self.program.display()))?;
        ensure!(output.status.success(), "{SCRIPT} ended with {}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Those that are installed, and the names of those that are not.
fn split(versions: &BTreeMap<String, Option<String>>) -> (Vec<Peer>, Vec<&'static str>) {
    let mut there = Vec::new();
    let mut missing = Vec::new();
    for (key, name) in PEERS {
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

    #[test]
    fn what_is_not_installed_is_named() {
        let versions = [("duckdb", Some("2.0.0")), ("polars", None)];
        let versions = versions
            .map(|(key, version)| (key.to_owned(), version.map(str::to_owned)))
            .into();
        let (there, missing) = split(&versions);
        assert_eq!(there.len(), 1);
        assert_eq!((there[0].name, there[0].version.as_str()), ("DuckDB", "2.0.0"));
        assert_eq!(
            missing,
            ["DataFusion", "DataFusion, batches of 1,024", "Polars, streaming"]
        );
    }

    #[test]
    fn without_an_interpreter_it_says_how_to_get_peers() {
        let (there, missing) = Python::new(Path::new("windlass-no-such-python")).peers();
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
