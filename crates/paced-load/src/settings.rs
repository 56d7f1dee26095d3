//! The options that set a load, which all benches have.

use std::num::ParseIntError;
use std::time::Duration;

use clap::Args;

use crate::load::Load;

/// The settings of a load, for `#[command(flatten)]` in a bench's options.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The load")]
pub struct Settings {
    /// Heavy queries: q1 to q22, join, groups, mix, builds
    #[arg(long, default_value = "q1")]
    pub heavy: String,
    /// Clients back to back
    #[arg(long, default_value_t = 8)]
    pub clients: usize,
    /// Seconds that are measured
    #[arg(long = "seconds", default_value = "8", value_parser = seconds)]
    pub lasts: Duration,
    /// Milliseconds from one short query to the next
    #[arg(long = "pace-ms", default_value = "50", value_parser = pace)]
    pub pace: Duration,
    /// Scale of the tables of TPC-H
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Rounds of all engines in turn
    #[arg(long, default_value_t = 1)]
    pub rounds: usize,
    /// Added by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

impl Settings {
    /// A load with these settings.
    #[must_use]
    pub fn load(&self, short: &'static str, heavies: &'static [&'static str], warm_up: Duration) -> Load {
        Load {
            short,
            heavies,
            clients: self.clients,
            pace: self.pace,
            warm_up,
            lasts: self.lasts,
        }
    }
}

/// Parses a number of seconds, fractions too.
///
/// # Errors
///
/// If it is no number, negative or too large.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn pace(text: &str) -> Result<Duration, String> {
    match text.parse().map_err(|error: ParseIntError| error.to_string())? {
        0 => Err("a pace is more than 0".to_owned()),
        millis => Ok(Duration::from_millis(millis)),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Few {
        #[command(flatten)]
        load: Settings,
    }

    #[test]
    fn times_are_read_by_their_units() {
        let few = Few::try_parse_from(["bench", "--seconds", "0.5", "--pace-ms=20", "--bench"]);
        let load = few.unwrap().load;
        assert_eq!(load.lasts, Duration::from_millis(500));
        assert_eq!(load.pace, Duration::from_millis(20));
    }

    #[test]
    fn what_makes_no_sense_is_an_error_that_names_it() {
        for (word, named) in [
            ("--seconds=-1", "--seconds"),
            ("--seconds=nan", "--seconds"),
            ("--pace-ms=0", "a pace is more than 0"),
            ("--clients=many", "--clients"),
        ] {
            let error = Few::try_parse_from(["bench", word]).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
