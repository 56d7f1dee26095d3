//! The loads on other engines.

use std::ffi::OsString;
use std::path::Path;

use anyhow::ensure;
use benches::peer::{Peer, Python};

use super::figures::Measured;

/// The peers by the name that the script knows them by, and what they are called in tables.
pub(crate) const PEERS: [(&str, &str); 4] = [
    ("duckdb", "DuckDB"),
    ("datafusion", "DataFusion"),
    ("datafusion-1024", "DataFusion, batches of 1,024"),
    ("polars", "Polars, streaming"),
];

/// What runs a load on them.
pub(crate) const SCRIPT: &str = "short_beside_heavy.py";

/// The loads, as the script takes them.
#[derive(Debug)]
pub(crate) struct Loads<'a> {
    pub(crate) clients: &'a [usize],
    pub(crate) threads: usize,
    pub(crate) seconds: f64,
    pub(crate) pace_ms: f64,
    /// Each query reads the files.
    pub(crate) from_files: bool,
}

/// All loads on a peer, once, in a process of its own.
///
/// # Errors
///
/// When the script fails; it has then said why on standard error.
pub(crate) fn run(
    python: &Python,
    peer: &Peer,
    workload: &Path,
    loads: &Loads<'_>,
) -> anyhow::Result<Vec<Measured>> {
    let mut arguments: Vec<OsString> = vec!["--threads".into(), loads.threads.to_string().into()];
    arguments.extend(["--seconds".into(), loads.seconds.to_string().into()]);
    arguments.extend([
        "--pace-ms".into(),
        loads.pace_ms.to_string().into(),
        "--clients".into(),
    ]);
    if loads.from_files {
        arguments.insert(0, "--from-files".into());
    }
    arguments.extend(loads.clients.iter().map(|clients| clients.to_string().into()));
    let measured: Vec<Measured> = python.run(peer, workload, arguments)?;
    ensure!(
        measured.len() == loads.clients.len(),
        "{} told of {} loads, not of {}",
        peer.name,
        measured.len(),
        loads.clients.len()
    );
    Ok(measured)
}
