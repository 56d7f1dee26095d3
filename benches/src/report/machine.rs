//! When, where and with what a run was made.

use std::io;

use benches::machine;

/// The lock file that this program was compiled with.
const LOCK: &str = include_str!("../../../Cargo.lock");

/// Those whose versions matter.
const PEERS: [&str; 5] = ["rayon", "chili", "tokio", "async-executor", "crossbeam-channel"];

/// Date, processor, cores, command and versions, in sentences.
///
/// # Errors
///
/// When the number of cores is not to be had.
pub(super) fn sentences(command: &str) -> io::Result<String> {
    let date = machine::date();
    let cores = std::thread::available_parallelism()?;
    let threads = crate::THREADS;
    let peers: Vec<String> = PEERS
        .iter()
        .map(|peer| format!("{peer} {}", version(LOCK, peer).unwrap_or("of no version")))
        .collect();
    Ok(format!(
        "{date}, {}, {cores} cores, {threads} threads each unless the row says otherwise, `{command}`. Peers: {}.",
        machine::processor(),
        peers.join(", ")
    ))
}

fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| **line != name).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"2.0.1\"\n";
        assert_eq!(version(lock, "a"), Some("2.0.1"));
        assert_eq!(version(lock, "c"), None);
        for peer in PEERS {
            assert!(version(LOCK, peer).is_some(), "{peer}");
        }
    }
}
