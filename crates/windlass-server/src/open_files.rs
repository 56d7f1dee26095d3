//! How many files the process may have open: connections are files, and tables as well.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files beside those of connections: tables, spilled rows, what the process itself has.
const OTHER_FILES: usize = 1_000;

/// Raises the limit as far as the system lets a process do that, and warns if it stays too low for
/// this many connections. Many systems begin at 1,024 and allow far more.
pub(crate) fn allow(connections: usize) {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        if soft < hard {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        }
        Ok(hard)
    });
    match raised {
        Ok(limit) if limit < connections.saturating_add(OTHER_FILES) as u64 => {
            tracing::warn!(limit, connections, "few files may be open: see `ulimit -n`");
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the limit of open files stays as it is"),
    }
}
