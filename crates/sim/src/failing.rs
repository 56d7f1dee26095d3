//! Failing runs in a file, one a line: oracle, trace hash, replay line.
//!
//! ```text
//! deadlock 00c0ffee00c0ffee windlass-sim 1 scenario=flat,roots=1,workers=2 random 7
//! ```

use std::fmt;
use std::str::FromStr;

use crate::line::{LineError, ReplayLine};
use crate::report::Failure;
use crate::scenario::{RunOptions, Scenario};

/// A failed run, as another build must reproduce it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingRun {
    /// Name of the oracle that failed it.
    pub oracle: String,
    /// Hash of the run's trace.
    pub trace_hash: u64,
    /// The line that replays it.
    pub line: ReplayLine,
}

impl FailingRun {
    /// The run of `failure`.
    #[must_use]
    pub fn of(failure: &Failure) -> Self {
        Self {
            oracle: failure.oracle.name().to_owned(),
            trace_hash: failure.course.trace_hash,
            line: failure.course.line.clone(),
        }
    }

    /// Replays the line, which must fail as before.
    ///
    /// # Errors
    ///
    /// How the run differed, or what is wrong with the line.
    pub fn replay(&self) -> Result<(), String> {
        let scenario = Scenario::from_line(&self.line).map_err(|error| error.to_string())?;
        match scenario.run(self.line.strategy, self.line.seed, RunOptions::default()) {
            Ok(_) => Err("no failure".to_owned()),
            Err(failure) => {
                let again = Self::of(&failure);
                if again == *self {
                    Ok(())
                } else {
                    Err(format!(
                        "`{}` with the trace hash {:016x}",
                        again.oracle, again.trace_hash
                    ))
                }
            }
        }
    }
}

impl fmt::Display for FailingRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:016x} {}", self.oracle, self.trace_hash, self.line)
    }
}

impl FromStr for FailingRun {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        let mut words = text.splitn(3, ' ');
        let (Some(oracle), Some(hash), Some(line)) = (words.next(), words.next(), words.next()) else {
            return Err(LineError(format!(
                "`{text}` is not an oracle, a hash and a replay line"
            )));
        };
        let trace_hash =
            u64::from_str_radix(hash, 16).map_err(|_| LineError(format!("`{hash}` is no trace hash")))?;
        Ok(Self {
            oracle: oracle.to_owned(),
            trace_hash,
            line: line.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "count 00000000000000ff windlass-sim 1 scenario=flat,roots=3,workers=2 random 7";

    #[test]
    fn it_survives_being_written_and_read() {
        let run: FailingRun = TEXT.parse().expect("it is well formed");
        assert_eq!((run.oracle.as_str(), run.trace_hash), ("count", 255));
        assert_eq!(run.to_string(), TEXT);
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in [
            "",
            "count",
            "count xyz windlass-sim 1 scenario=flat,roots=1 random 7",
            "count ff scenario=flat",
        ] {
            assert!(wrong.parse::<FailingRun>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_that_does_not_fail_again_is_told() {
        let run: FailingRun = TEXT.parse().expect("it is well formed");
        assert_eq!(run.replay(), Err("no failure".to_owned()));
    }
}
