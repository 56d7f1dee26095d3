//! What a person sees who asks for help, or who mistypes.
//!
//! A command line that cannot be understood is a [`Misuse`]: it is answered with the list of subcommands and exit
//! code 2, so that a script can tell "you called me wrongly" from "the check failed".

use std::ffi::OsString;
use std::fmt;
use std::process::ExitCode;

const LIST: &str = "\
cargo xtask <subcommand>

  ci [--quick]     everything that CI runs, with a table at the end; --quick: format, lints, tidy, small crates
  tidy             layers, synchronisation edges, links, file stories, manifests, leftovers
  loom [FILTER]    build and run the loom models; prints model, bound, executions, seconds
  mutants [NAME...]  planted bugs, each on every layer of tests (--layer unit|sim|loom, --quick: on the cheapest one,
                   --write: the matrix into docs/testing.md, --replays: failing runs again from their lines, --shrunk: how small they get)
  sim [ARGS...]    the simulator; without arguments its CI swarm (--seeds N, --replay LINE, ...);
                   --predict: virtual time beside runs on threads, and curves (--loads, --workers, --write)
                   --load: short jobs beside heavy ones, and speed-up, in virtual time (--workers, --heavies, --write)
  record [ARGS...] real runs on threads, recorded and checked (--events N, --cost, --trace FILE, --planted NAME)
  bench [FILTER]   micro-benches, then the comparison with others; a full run writes benches/README.md
                   (--rounds N, --quick: a first look, --long: also what takes minutes);
                   --queries: a short query beside heavy ones, here and in other engines (--rounds, --seconds, --write)
                   --groups: GROUP BY with few and many groups, here and in other engines (--rounds, --runs, --rows)
                   --lists: lists that grow in chunks, and finding a partition (--rounds, --write)
                   --datafusion [MODE]: DataFusion as it is and on windlass (beside, each, shorts, cancel, objects, timeline)
  weaken [FILTER]  each atomic ordering made weaker, in a copy: which loom model notices
  docs [--open]    rustdoc of the workspace, warnings denied
  outside          small crates outside the workspace, each on one library alone
";

/// Prints the subcommands.
pub(crate) fn run() -> anyhow::Result<Outcome> {
    print!("{LIST}");
    Ok(Outcome::Passed)
}

/// Whether the arguments of a subcommand ask for help, and for nothing else.
pub(crate) fn asks_for_help(arguments: &[OsString]) -> bool {
    matches!(arguments, [only] if only == "--help" || only == "-h")
}

/// How a subcommand ended when nothing stopped it from doing its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Passed,
    /// It ran to its end and found something wrong, which it has already printed.
    Failed,
    /// A program that it passed the arguments on to ended with this exit code.
    Exited(u8),
}

/// A command line that makes no sense.
#[derive(Debug)]
pub(crate) struct Misuse(String);

impl Misuse {
    /// `problem` names the argument and what is wrong with it.
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

/// Reads the flags of a subcommand that takes only the flags in `known`; returns which of them were given.
///
/// # Errors
///
/// A [`Misuse`] for anything else on the command line.
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

/// The exit code of the whole program; prints what stopped it.
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
