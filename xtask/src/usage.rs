//! The help text, and errors in a command line.
//!
//! An invalid command line is a [`Misuse`]: help text and exit code 2, which scripts can tell from
//! a failed check.

use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;

const LIST: &str = "\
cargo xtask <subcommand>

  ci [--quick]     everything that CI runs, with a table at the end; --quick: format, lints, tidy, small crates
  tidy             layers, synchronisation edges, links, file stories, manifests, leftovers
  loom [FILTER]    build and run the loom models; prints model, bound, executions, seconds
  mutants [NAME...]  planted bugs, each shown to the test, model or oracle that must notice it (--write: the table into xtask/src/mutants/README.md,
                   --compile: whether all patches compile, --replays: failing runs again from their lines,
                   --shrunk: how small they get)
  sim [ARGS...]    the simulator; without arguments its CI swarm (--seeds N, --replay LINE, ...);
  record [ARGS...] real runs on threads, recorded and checked (--events N, --cost, --trace FILE, --planted NAME)
  bench [BENCH] [FILTER]  one bench beside its peers: executor, pipeline, io-beside, queries, groups, kinds,
                   hits, concurrent, flipped, overlap, lists, predict, load, scan
                   (--rounds N, --quick: a first look, --long: also what takes minutes, --write: its page);
                   micro: criterion over our own parts; datafusion [MODE]: DataFusion as it is and on windlass
  weaken [FILTER]  each atomic ordering made weaker, in a copy: which loom model notices
  docs [--open]    rustdoc of the workspace, warnings denied
  outside          small crates outside the workspace, each on one library alone
";

pub(crate) fn run() -> anyhow::Result<Outcome> {
    print!("{LIST}");
    Ok(Outcome::Passed)
}

pub(crate) fn asks_for_help(arguments: &[OsString]) -> bool {
    matches!(arguments, [only] if only == "--help" || only == "-h")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    /// Exit code of the program that got the arguments.
    Exited(u8),
}

#[derive(Debug)]
pub(crate) struct Misuse(String);

impl Misuse {
    pub(crate) fn new(problem: String) -> Misuse {
        Misuse(problem)
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// Reads a subcommand's flags, all in `known`; returns which were given.
pub(crate) fn flags<const N: usize>(arguments: Vec<OsString>, known: [&str; N]) -> anyhow::Result<[bool; N]> {
    let mut given = [false; N];
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next().map_err(|error| Misuse::new(error.to_string()))? {
        let position = match &argument {
            lexopt::Arg::Long(name) => known.iter().position(|flag| flag == name),
            lexopt::Arg::Short(_) | lexopt::Arg::Value(_) => None,
        };
        match position {
            Some(position) => given[position] = true,
            None => return Err(Misuse::new(argument.unexpected().to_string()).into()),
        }
    }
    Ok(given)
}

pub(crate) fn exit_code(outcome: anyhow::Result<Outcome>) -> ExitCode {
    match outcome {
        Ok(Outcome::Passed) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::FAILURE,
        Ok(Outcome::Exited(code)) => ExitCode::from(code),
        Err(error) if error.is::<Misuse>() => {
            eprintln!("xtask: {error}\n\n{LIST}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_flag_is_read_and_an_unknown_one_is_a_misuse() {
        assert_eq!(
            flags(vec!["--quick".into()], ["quick", "open"]).unwrap(),
            [true, false]
        );
        assert_eq!(flags(vec![], ["quick"]).unwrap(), [false]);
        for wrong in ["--slow", "-q", "word"] {
            let error = flags(vec![wrong.into()], ["quick"]).unwrap_err();
            assert!(error.is::<Misuse>(), "{error}");
            assert!(error.to_string().contains(wrong), "{error}");
        }
    }
}
