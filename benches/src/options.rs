//! The one reader of options. Options of one bench alone are its [`Knob`]s.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use lexopt::{Arg, Error, ValueExt as _};

use crate::bench::{About, Bench};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Knob {
    /// Without dashes.
    pub(crate) name: &'static str,
    /// Empty for a place on the machine. Another place makes no other measurement, so a page may be
    /// written with it.
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
}

impl Knob {
    pub(crate) const fn new(name: &'static str, default: &'static str, about: &'static str) -> Self {
        Self { name, default, about }
    }
}

#[derive(Debug)]
pub(crate) struct Options {
    /// Part of the names of the selected workloads.
    pub(crate) filter: String,
    pub(crate) rounds: Option<usize>,
    /// A first look: few rounds, shorter windows, smaller tables.
    pub(crate) quick: bool,
    /// The Python that has the peers.
    pub(crate) python: PathBuf,
    /// The workspace whose pages are to be written.
    pub(crate) write: Option<PathBuf>,
    knobs: &'static [Knob],
    values: BTreeMap<&'static str, String>,
    asked: String,
}

impl Options {
    /// Rejects unknown names, a number 0, and a page written from a part of its workloads.
    pub(crate) fn read(
        arguments: impl IntoIterator<Item = OsString>,
        benches: &[Box<dyn Bench>],
    ) -> Result<(&dyn Bench, Self), Error> {
        let mut parser = lexopt::Parser::from_args(arguments);
        let name = match parser.next()? {
            Some(Arg::Value(name)) => name.string()?,
            Some(other) => return Err(other.unexpected()),
            None => return Err("which bench?".into()),
        };
        let bench = benches.iter().find(|bench| bench.about().name == name);
        let bench = bench.ok_or_else(|| format!("there is no bench {name:?}"))?;
        let mut options = Self {
            filter: String::new(),
            rounds: None,
            quick: false,
            python: "python3".into(),
            write: None,
            knobs: bench.about().knobs,
            values: BTreeMap::new(),
            asked: name,
        };
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Long("rounds") => options.rounds = Some(parser.value()?.parse()?),
                Arg::Long("quick") => options.quick = true,
                Arg::Long("python") => options.python = parser.value()?.into(),
                Arg::Long("write") => options.write = Some(parser.value()?.into()),
                Arg::Long(name) => match bench.about().knobs.iter().find(|knob| knob.name == name) {
                    Some(knob) => _ = options.values.insert(knob.name, parser.value()?.string()?),
                    None => return Err(argument.unexpected()),
                },
                Arg::Value(filter) if options.filter.is_empty() => options.filter = filter.string()?,
                other => return Err(other.unexpected()),
            }
        }
        if options.rounds == Some(0) {
            return Err("--rounds takes a number from 1 on".into());
        }
        let is_usual = |knob: &Knob| knob.default.is_empty() || !options.values.contains_key(knob.name);
        let is_as_usual = options.knobs.iter().all(is_usual);
        let is_full = options.filter.is_empty() && !options.quick && is_as_usual;
        if options.write.is_some() && !is_full {
            return Err("--write is for a bench in full: with --rounds, --python and paths only".into());
        }
        if let Some(rounds) = options.rounds {
            options.asked += &format!(" --rounds {rounds}");
        }
        Ok((&**bench, options))
    }

    /// `full`, or `quick` for a first look.
    pub(crate) fn of(&self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }

    pub(crate) fn command(&self) -> String {
        format!("cargo xtask bench {} --write", self.asked)
    }

    /// The text of the knob `name`.
    ///
    /// # Panics
    ///
    /// The bench has no such knob.
    pub(crate) fn text(&self, name: &str) -> &str {
        let knob = self.knobs.iter().find(|knob| knob.name == name);
        let knob = knob.unwrap_or_else(|| panic!("the bench has no knob {name}"));
        self.values.get(name).map_or(knob.default, String::as_str)
    }

    /// The comma-separated numbers of the knob `name`.
    pub(crate) fn numbers<N: FromStr<Err: Display>>(&self, name: &str) -> anyhow::Result<Vec<N>> {
        let text = self.text(name);
        let numbers: Result<Vec<N>, _> = text.split(',').map(str::parse).collect();
        numbers.map_err(|error| anyhow::anyhow!("--{name} {text}: {error}"))
    }

    /// The number of the knob `name`, which is more than 0.
    pub(crate) fn number<N: FromStr<Err: Display> + PartialOrd + Default>(
        &self,
        name: &str,
    ) -> anyhow::Result<N> {
        match self.numbers(name)?.as_mut_slice() {
            [number] if *number > N::default() => Ok(std::mem::take(number)),
            _ => anyhow::bail!("--{name} takes a number that is more than 0"),
        }
    }
}

pub(crate) fn usage(benches: &[Box<dyn Bench>]) -> String {
    let mut text = "usage: benches BENCH [FILTER] [OPTIONS]

  FILTER            only workloads whose name contains it
  --rounds N        rounds of each row, 1 or more
  --quick           a first look: few rounds, shorter windows, smaller tables
  --python PROGRAM  the Python that has the peers (python3)
  --write FOLDER    also write the bench's page in this workspace, of the bench in full

benches:
"
    .to_owned();
    for bench in benches {
        let About {
            name,
            question,
            knobs,
            ..
        } = bench.about();
        text += &format!("  {name:<16} {question}\n");
        for Knob { name, default, about } in *knobs {
            let shown = format!(" ({default})");
            let default = if default.is_empty() { "" } else { &shown };
            text += &format!("    --{name:<14} {about}{default}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<(String, Options), Error> {
        let benches = crate::benches();
        let (bench, options) = Options::read(words.iter().map(OsString::from), &benches)?;
        Ok((bench.about().name.to_owned(), options))
    }

    #[test]
    fn a_bench_is_found_with_its_filter_and_rounds() {
        let (name, options) = read(&["executor", "tree", "--rounds", "5", "--quick"]).unwrap();
        assert_eq!((name.as_str(), options.filter.as_str()), ("executor", "tree"));
        assert_eq!((options.rounds, options.quick), (Some(5), true));
        let (_, options) = read(&["pipeline", "--rounds", "5", "--write", "."]).unwrap();
        assert_eq!(options.command(), "cargo xtask bench pipeline --rounds 5 --write");
        let (_, options) = read(&["scan", "--rg", "elsewhere", "--write", "."]).unwrap();
        assert_eq!(options.text("rg"), "elsewhere");
        assert_eq!(options.command(), "cargo xtask bench scan --write");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            &[][..],
            &["no-such-bench"],
            &["executor", "--rounds", "0"],
            &["executor", "--rounds", "many"],
            &["executor", "a", "b"],
            &["executor", "--slow"],
            &["executor", "tree", "--write", "."],
            &["executor", "--quick", "--write", "."],
            &["scan", "--scale", "0.01", "--write", "."],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_usage_names_every_bench_and_knob() {
        let benches = crate::benches();
        let usage = usage(&benches);
        for bench in &benches {
            assert!(usage.contains(bench.about().name));
            for knob in bench.about().knobs {
                assert!(usage.contains(&format!("--{}", knob.name)), "{}", knob.name);
            }
        }
    }
}
