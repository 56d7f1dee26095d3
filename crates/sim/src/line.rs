//! The replay line, which reproduces a run.
//!
//! ```text
//! windlass-sim 1 scenario=tree,tasks=31,workers=4,end=join random 42 0*12.1*3/2
//!              │ │                                         │      │  └ choices, if any
//!              │ └ what is run, as fields                  │      └ seed
//!              └ version of this format                    └ strategy
//! ```
//!
//! [Choices](Choices) replace those of the strategy. A scenario still draws from the seed.

use std::fmt;
use std::str::FromStr;

use crate::choices::Choices;
use crate::schedule::StrategyKind;

/// Version of the format. It changes when an old line would mean a different run.
const VERSION: &str = "1";
const PROGRAM: &str = "windlass-sim";

/// What a replay line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayLine {
    /// The scenario and its settings.
    pub fields: Fields,
    /// The strategy that makes the choices.
    pub strategy: StrategyKind,
    /// The seed of the strategy and the scenario.
    pub seed: u64,
    /// Choices that replace the strategy's.
    pub choices: Option<Choices>,
}

/// Named values, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

/// A replay line that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineError(pub(crate) String);

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LineError {}

impl fmt::Display for ReplayLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            fields,
            strategy,
            seed,
            choices,
        } = self;
        write!(f, "{PROGRAM} {VERSION} {fields} {strategy} {seed}")?;
        match choices {
            Some(choices) => write!(f, " {choices}"),
            None => Ok(()),
        }
    }
}

impl FromStr for ReplayLine {
    type Err = LineError;

    fn from_str(line: &str) -> Result<Self, LineError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (five, choices) = words.split_at(words.len().min(5));
        let (&[program, version, fields, strategy, seed], [] | [_]) = (five, choices) else {
            return Err(LineError(format!(
                "a replay line is `{PROGRAM} {VERSION} <config> <strategy> <seed> [<choices>]`, five words or six; this has {}",
                words.len()
            )));
        };
        if program != PROGRAM {
            return Err(LineError(format!(
                "a replay line begins with `{PROGRAM}`, not with `{program}`"
            )));
        }
        if version != VERSION {
            return Err(LineError(format!(
                "this is version `{version}` of the replay line; version {VERSION} is known here"
            )));
        }
        Ok(Self {
            fields: fields.parse()?,
            strategy: strategy.parse().map_err(LineError)?,
            seed: seed
                .parse()
                .map_err(|_| LineError(format!("the seed `{seed}` is no whole number of 64 bits")))?,
            choices: choices.first().map(|choices| choices.parse()).transpose()?,
        })
    }
}

impl Fields {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    pub(crate) fn with(&self, name: &str, value: Option<&str>) -> Self {
        let mut own = self.clone();
        match (own.0.iter().position(|(other, _)| other == name), value) {
            (Some(place), Some(value)) => own.0[place].1 = value.to_owned(),
            (Some(place), None) => {
                own.0.remove(place);
            }
            (None, Some(value)) => own.push(name, value),
            (None, None) => {}
        }
        own
    }

    pub(crate) fn push(&mut self, name: &str, value: impl fmt::Display) {
        self.0.push((name.to_owned(), value.to_string()));
    }

    pub(crate) fn take<V: FromStr>(&mut self, name: &str) -> Result<Option<V>, LineError> {
        let Some(place) = self.0.iter().position(|(other, _)| other == name) else {
            return Ok(None);
        };
        let (_, value) = self.0.remove(place);
        match value.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(LineError(format!("`{name}={value}`: not a value for `{name}`"))),
        }
    }

    pub(crate) fn end(&self) -> Result<(), LineError> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(LineError(format!("there is no field `{name}` here"))),
        }
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { "," };
            write!(f, "{separator}{name}={value}")?;
        }
        Ok(())
    }
}

impl FromStr for Fields {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        let mut fields = Self::default();
        for field in text.split(',') {
            let Some((name, value)) = field.split_once('=') else {
                return Err(LineError(format!("`{field}` is not of the form name=value")));
            };
            if fields.0.iter().any(|(other, _)| other == name) {
                return Err(LineError(format!("the field `{name}` is there twice")));
            }
            fields.push(name, value);
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_survives_being_written_and_read() {
        for text in [
            "windlass-sim 1 scenario=tree,workers=4 sticky 18446744073709551615",
            "windlass-sim 1 scenario=tree,workers=4 random 0 0*12.1*3.0/2.0.1",
        ] {
            let line: ReplayLine = text.parse().expect("it is a line");
            assert_eq!(line.to_string(), text);
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (text, about) in [
            ("", "five words"),
            ("windlass-sim 1 a=1 random", "five words"),
            ("wind 1 a=1 random 0", "`wind`"),
            ("windlass-sim 7 a=1 random 0", "version `7`"),
            ("windlass-sim 1 a random 0", "name=value"),
            ("windlass-sim 1 a=1,a=2 random 0", "twice"),
            ("windlass-sim 1 a=1 guess 0", "`guess` is no strategy"),
            ("windlass-sim 1 a=1 random -1", "`-1`"),
            ("windlass-sim 1 a=1 random 0 zero", "`zero`"),
            ("windlass-sim 1 a=1 random 0 0 0", "this has 7"),
        ] {
            let error = text.parse::<ReplayLine>().expect_err(text).to_string();
            assert!(error.contains(about), "{text}: {error}");
        }
    }
}
