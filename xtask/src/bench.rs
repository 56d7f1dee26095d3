//! `cargo xtask bench [FILTER] [--rounds N] [--quick] [--long]`: our own micro-benches, then the comparison with others.
//!
//! A full run also writes what it found into `benches/README.md`, with plots; a filtered or a quick one prints only.
//!
//! `cargo xtask bench --queries [ARGS...]` is another comparison: a short query beside heavy ones, here and in other engines. Its program
//! has its own usage; with `--write` it writes `benches/queries.md`.
//!
//! `cargo xtask bench --groups [ARGS...]` groups rows by keys of many kinds, here and in other engines. `cargo xtask bench --overlap [ARGS...]`
//! reads a table from a file and from a server that is slow, beside computing over it. `cargo xtask bench --lists [ARGS...]`
//! is about the lists that grow in chunks, and how a partition is found; with `--write` it writes `benches/lists.md`.
//!
//! `cargo xtask bench --datafusion [MODE] [ARGS...]` asks DataFusion as it is and on windlass: short queries beside heavy ones, and more.

use std::ffi::{OsStr, OsString};

use lexopt::{Arg, ValueExt as _};

use crate::process::{self, Limit, cargo};
use crate::usage::{Misuse, Outcome};
use crate::workspace::Workspace;

/// The option that asks for queries, and the one of those that writes figures into the documentation.
const QUERIES: &str = "--queries";
/// The option that asks for groups.
const GROUPS: &str = "--groups";
/// The option that asks for reading beside computing.
const OVERLAP: &str = "--overlap";
/// The option that asks for lists.
const LISTS: &str = "--lists";
/// The option that asks for DataFusion, whose bench is with the crate that runs it.
const DATAFUSION: &str = "--datafusion";
const WRITE: &str = "--write";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq)]
struct Options {
    filter: Option<String>,
    rounds: Option<usize>,
    quick: bool,
    long: bool,
}

/// Runs both, or the one about queries, groups, reading beside computing, or lists; the first failure ends it.
pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    for (option, name) in [
        (QUERIES, "queries"),
        (GROUPS, "groups"),
        (OVERLAP, "overlap"),
        (LISTS, "lists"),
    ] {
        if arguments.iter().any(|argument| argument == option) {
            let workspace = Workspace::load()?;
            let mut program = workspace.program("benches", "bin", name)?;
            program.args(for_program(
                option,
                &arguments,
                workspace.root.join("benches").as_os_str(),
            ));
            return process::pass_through(&mut program, Limit::NONE);
        }
    }
    if arguments.iter().any(|argument| argument == DATAFUSION) {
        let mut bench = cargo();
        bench.args([
            "bench",
            "--package",
            "windlass-datafusion",
            "--bench",
            "beside",
            "--",
        ]);
        bench.args(arguments.iter().filter(|argument| *argument != DATAFUSION));
        return process::pass_through(&mut bench, Limit::NONE);
    }
    let options = Options::read(arguments).map_err(|error| Misuse::new(error.to_string()))?;
    let workspace = Workspace::load()?;
    let mut micro = cargo();
    micro.args(["bench", "--package", "benches", "--benches", "--"]);
    if options.quick {
        micro.arg("--quick");
    }
    let own = process::pass_through(micro.args(&options.filter), Limit::NONE)?;
    if own != Outcome::Passed {
        return Ok(own);
    }
    let mut compare = cargo();
    compare.args([
        "run",
        "--release",
        "--package",
        "benches",
        "--bin",
        "compare",
        "--",
    ]);
    compare.args(options.for_compare());
    if options.is_full() {
        compare.arg("--write").arg(workspace.root.join("benches"));
    }
    process::pass_through(&mut compare, Limit::NONE)
}

/// The arguments of the program that `option` asks for; it writes into `folder`.
fn for_program(option: &str, arguments: &[OsString], folder: &OsStr) -> Vec<OsString> {
    let others = arguments.iter().filter(|argument| *argument != option);
    let passed_on = others.flat_map(|argument| {
        let folder = (argument == WRITE).then(|| folder.to_owned());
        std::iter::once(argument.clone()).chain(folder)
    });
    passed_on.collect()
}

impl Options {
    fn read(arguments: Vec<OsString>) -> Result<Self, lexopt::Error> {
        let mut options = Self::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => options.rounds = Some(parser.value()?.parse()?),
                Arg::Long("quick") => options.quick = true,
                Arg::Long("long") => options.long = true,
                Arg::Value(filter) if options.filter.is_none() => options.filter = Some(filter.string()?),
                other => return Err(other.unexpected()),
            }
        }
        if options.rounds == Some(0) {
            return Err("--rounds takes a number from 1 on".into());
        }
        Ok(options)
    }

    /// Whether all workloads are measured in full, so that the README may take it as the latest.
    fn is_full(&self) -> bool {
        self.filter.is_none() && !self.quick
    }

    fn for_compare(&self) -> Vec<String> {
        let rounds = self.rounds.map(|rounds| format!("--rounds={rounds}"));
        let quick = self.quick.then(|| "--quick".to_owned());
        let long = self.long.then(|| "--long".to_owned());
        [self.filter.clone(), rounds, quick, long]
            .into_iter()
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, lexopt::Error> {
        Options::read(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn filter_rounds_and_quick_are_passed_on() {
        let options = read(&["tree", "--rounds", "5", "--quick"]).unwrap();
        assert_eq!(options.for_compare(), ["tree", "--rounds=5", "--quick"]);
        assert_eq!(read(&["--long"]).unwrap().for_compare(), ["--long"]);
        assert!(!options.is_full());
        assert!(read(&["--rounds", "5"]).unwrap().is_full());
        assert!(!read(&["tree"]).unwrap().is_full());
    }

    #[test]
    fn arguments_about_queries_are_passed_on_and_writing_gets_its_folder() {
        let words = ["--rounds", "3", "--queries", "--write"].map(OsString::from);
        let passed_on = for_program(QUERIES, &words, OsStr::new("benches"));
        assert_eq!(passed_on, ["--rounds", "3", "--write", "benches"]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            &["--rounds", "0"][..],
            &["--rounds", "many"],
            &["a", "b"],
            &["--slow"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
