//! A run's choices, and how they are written.
//!
//! A file has two lists. A replay line has one word: picks, then behind a slash random numbers;
//! each is *value* or *value*`*`*times*, separated by dots:
//!
//! ```text
//! 0*12.1*3.0/2.0.1     actor 0 twelve times, actor 1 three times, actor 0 once; the numbers 2, 0 and 1
//! ```
//!
//! Consecutive picks of one actor are a *segment*; few segments make a run readable.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::line::LineError;

/// Every choice of a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// The actor that took each step.
    pub picks: Vec<u32>,
    /// The random number drawn at each draw.
    pub numbers: Vec<u64>,
}

/// Choices in a replay line; longer lists are for files.
const LINE_MAX: usize = 1 << 22;

impl Choices {
    /// How often the run switched from one actor to another.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.segments().count().saturating_sub(1)
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = (u32, usize)> {
        repeats(&self.picks)
    }

    pub(crate) fn of_segments(segments: &[(u32, usize)], numbers: Vec<u64>) -> Self {
        let picks = segments
            .iter()
            .flat_map(|&(actor, steps)| std::iter::repeat_n(actor, steps));
        Self {
            picks: picks.collect(),
            numbers,
        }
    }

    /// Keeps as many picks as `given` has, and drops final zeros of the numbers: a missing number
    /// is 0.
    pub(crate) fn as_far_as(&self, given: &Self) -> Self {
        let mut own = self.clone();
        own.picks.truncate(given.picks.len());
        while own.numbers.last() == Some(&0) {
            own.numbers.pop();
        }
        own
    }
}

fn repeats<V: Copy + Eq>(values: &[V]) -> impl Iterator<Item = (V, usize)> {
    values
        .chunk_by(|one, next| one == next)
        .map(|run| (run[0], run.len()))
}

impl fmt::Display for Choices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_list(f, repeats(&self.picks))?;
        if !self.numbers.is_empty() || self.picks.is_empty() {
            f.write_str("/")?;
            write_list(f, repeats(&self.numbers))?;
        }
        Ok(())
    }
}

fn write_list(
    f: &mut fmt::Formatter<'_>,
    list: impl Iterator<Item = (impl fmt::Display, usize)>,
) -> fmt::Result {
    for (place, (value, times)) in list.enumerate() {
        let separator = if place == 0 { "" } else { "." };
        write!(f, "{separator}{value}")?;
        if times > 1 {
            write!(f, "*{times}")?;
        }
    }
    Ok(())
}

impl FromStr for Choices {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        let (picks, numbers) = text.split_once('/').unwrap_or((text, ""));
        Ok(Self {
            picks: read_list(picks)?,
            numbers: read_list(numbers)?,
        })
    }
}

fn read_list<V: FromStr + Copy>(text: &str) -> Result<Vec<V>, LineError> {
    let mut list = Vec::new();
    for item in text.split('.').filter(|_| !text.is_empty()) {
        let (value, times) = item.split_once('*').unwrap_or((item, "1"));
        let (Ok(value), Ok(times)) = (value.parse::<V>(), times.parse::<usize>()) else {
            return Err(LineError(format!(
                "`{item}` in the choices is not of the form number or number*times"
            )));
        };
        if times > LINE_MAX - list.len() {
            return Err(LineError(format!(
                "`{item}` in the choices: a line has {LINE_MAX} of them at most"
            )));
        }
        list.extend(std::iter::repeat_n(value, times));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(picks: &[u32], numbers: &[u64]) -> Choices {
        Choices {
            picks: picks.to_vec(),
            numbers: numbers.to_vec(),
        }
    }

    #[test]
    fn choices_survive_being_written_and_read() {
        for (choices, text) in [
            (choices(&[0, 0, 0, 1, 0], &[2, 0, 0]), "0*3.1.0/2.0*2"),
            (choices(&[7], &[]), "7"),
            (choices(&[], &[5]), "/5"),
            (choices(&[], &[]), "/"),
        ] {
            assert_eq!(choices.to_string(), text);
            assert_eq!(text.parse(), Ok(choices));
        }
    }

    #[test]
    fn what_is_wrong_with_choices_is_said() {
        for (text, about) in [
            ("0*3..1", "`` in"),
            ("0*x", "`0*x`"),
            ("a/0", "`a`"),
            ("0/-1", "`-1`"),
            ("0.1*4194304", "at most"),
            ("0*18446744073709551615", "at most"),
        ] {
            let error = text.parse::<Choices>().expect_err(text).to_string();
            assert!(error.contains(about), "{text}: {error}");
        }
    }

    #[test]
    fn a_switch_is_between_two_segments() {
        assert_eq!(choices(&[0, 0, 2, 2, 0], &[]).switches(), 2);
        assert_eq!(choices(&[], &[]).switches(), 0);
        let own = choices(&[0, 0, 2, 2, 0], &[4]);
        let segments: Vec<_> = own.segments().collect();
        assert_eq!(Choices::of_segments(&segments, vec![4]), own);
    }
}
