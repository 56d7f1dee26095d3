//! Unit and integration tests of a build with a bug, up to the first failure.

use super::bug::{Bug, Hint};
use super::build::TestBinary;
use super::verdict::{Verdict, limit};
use crate::process::{self, OverLimit};

/// Seconds of one test program: several times the longest without a bug.
const BINARY_SECONDS: u64 = 90;

/// Runs the tests of the bug's crate and those above it; `only_hinted`: only the one in its hint.
pub(super) fn run(binaries: &[TestBinary], bug: Option<Bug>, only_hinted: bool) -> anyhow::Result<Verdict> {
    let first = bug.and_then(|bug| binaries.iter().position(|binary| binary.package == bug.krate));
    let (mut passed, mut programs) = (0, 0);
    // The injector does not depend on the executor, so no bug can reach it.
    let reached = binaries.iter().skip(first.unwrap_or(0));
    let reached = reached.filter(|binary| bug.is_none() || binary.package != "injector");
    for binary in reached {
        let mut command = binary.command(bug);
        if only_hinted && let Some(Hint::Test(filter)) = bug.map(|bug| bug.hint) {
            command.arg(filter);
        }
        let mut failed = None;
        let ended = process::read_until(&mut command, limit(BINARY_SECONDS), |line| {
            passed += usize::from(line.ends_with("... ok"));
            failed = failed_test(line).map(str::to_owned);
            failed.is_some()
        });
        let package = &binary.package;
        programs += 1;
        match (ended, failed) {
            (_, Some(test)) => return Ok(Verdict::killed(format!("{package} `{test}`"))),
            (Ok(Some(status)), None) if !status.success() => {
                return Ok(Verdict::killed(format!("{package} (crash: {status})")));
            }
            (Ok(_), None) => {}
            (Err(error), None) if error.is::<OverLimit>() => {
                return Ok(Verdict::killed(format!("{package} (hang)")));
            }
            (Err(error), None) => return Err(error),
        }
    }
    Ok(Verdict::survived(format!(
        "{passed} tests of {programs} programs pass"
    )))
}

fn failed_test(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    // ` - should panic` may follow the name.
    Some(name.split(" - ").next().unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_that_failed_is_named() {
        assert_eq!(failed_test("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b - should panic ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b ... ok"), None);
    }
}
