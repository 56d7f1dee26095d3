//! `cargo xtask mutants [NAME...]`: plants bugs on purpose, and reports whether the tests, models
//! and oracles that should notice them do.
//!
//! A bug is a patch in `mutants/CRATE` (docs/decisions/0047), built in a copy of the tree.
//!
//! ```text
//!   unit    lib and integration tests of the patch's crate, debug
//!   sim     windlass-sim, release: the first oracle that fails a run, from seed 0
//!   loom    the models of the patch's crate, release
//! ```
//!
//! ```text
//!   NAME...      the patches whose names contain one of these; all without one
//!   --write      the rows into mutants/README.md beside
//!   --compile    whether all patches compile, without tests: CI's step `patches`
//!   --shrunk     how small failing runs of the simulator get     --write      as above
//!   --replays    1,000 failing runs again from their lines
//! ```
//!
//! It fails if a patch survives, if only a check that it does not name notices it, or if the tree
//! without a patch fails a check that one names.

mod layer;
mod page;
pub(crate) mod patch;
pub(crate) mod patched;
mod replays;
mod shrunk;
mod swarm;

use std::ffi::OsString;

use crate::process::Limit;
use crate::usage::{Misuse, Outcome};
use crate::workspace::Workspace;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Arguments {
    names: Vec<String>,
    write: bool,
    compile: bool,
    replays: bool,
    shrunk: bool,
}

pub(crate) fn run(arguments: Vec<OsString>) -> anyhow::Result<Outcome> {
    let Arguments {
        names,
        write,
        compile,
        replays,
        shrunk,
    } = Arguments::parse(arguments)?;
    let workspace = Workspace::load()?;
    let passed = if compile {
        let compiled = patched::compile::compile(&workspace, Limit::NONE)?;
        println!("mutants: {}", compiled.summary());
        compiled.passed()
    } else if replays {
        replays::run(&workspace, &names)?
    } else if shrunk {
        shrunk::run(&workspace, &names, write)?;
        true
    } else {
        let report = patched::run(&workspace, &names, write)?;
        report.print();
        report.passed()
    };
    Ok(if passed { Outcome::Passed } else { Outcome::Failed })
}

fn is_named(name: &str, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|part| name.contains(part))
}

impl Arguments {
    fn parse(arguments: Vec<OsString>) -> anyhow::Result<Self> {
        let mut parsed = Self::default();
        let mut parser = lexopt::Parser::from_args(arguments);
        let misuse = |error: lexopt::Error| Misuse::new(error.to_string());
        while let Some(argument) = parser.next().map_err(misuse)? {
            match argument {
                lexopt::Arg::Long("write") => parsed.write = true,
                lexopt::Arg::Long("compile") => parsed.compile = true,
                lexopt::Arg::Long("replays") => parsed.replays = true,
                lexopt::Arg::Long("shrunk") => parsed.shrunk = true,
                lexopt::Arg::Value(name) => parsed.names.push(name.to_string_lossy().into_owned()),
                other => return Err(misuse(other.unexpected()).into()),
            }
        }
        if parsed.replays && (parsed.shrunk || parsed.write) {
            let what = "`--replays` goes with neither `--shrunk` nor `--write`";
            return Err(Misuse::new(what.to_owned()).into());
        }
        if parsed.compile
            && (parsed
                != Arguments {
                    compile: true,
                    ..Self::default()
                })
        {
            let what = "`--compile` goes alone: it compiles all patches";
            return Err(Misuse::new(what.to_owned()).into());
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> anyhow::Result<Arguments> {
        Arguments::parse(words.iter().map(Into::into).collect())
    }

    #[test]
    fn names_and_what_to_do_with_them() {
        let parsed = parse(&["no_wake", "half", "--shrunk", "--write"]).unwrap();
        assert!(parsed.shrunk && parsed.write && !parsed.replays);
        assert!(is_named("executor-core/half_a_batch", &parsed.names));
        assert!(!is_named("executor-core/retry_is_empty", &parsed.names));
        assert!(is_named("executor-core/retry_is_empty", &[]));
        for wrong in [
            &["--layer", "unit"][..],
            &["--replays", "--write"],
            &["--replays", "--shrunk"],
            &["--compile", "no_wake"],
            &["--compile", "--write"],
        ] {
            assert!(parse(wrong).unwrap_err().is::<Misuse>(), "{wrong:?}");
        }
    }
}
