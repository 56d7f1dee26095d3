//! The options that set a load, which all benches have.

use std::error::Error;
use std::ffi::OsString;
use std::str::FromStr;
use std::time::Duration;

use anyhow::ensure;
use lexopt::ValueExt as _;

use crate::load::Load;

/// An option of a command line, which sets something in a `T`.
#[derive(Debug)]
pub struct Setting<T> {
    pub(crate) name: &'static str,
    /// Empty for an option without a value.
    pub(crate) value: &'static str,
    pub(crate) about: &'static str,
    pub(crate) set: fn(&mut T, OsString) -> anyhow::Result<()>,
}

impl<T> Setting<T> {
    /// `--name VALUE`, or `--name` alone if `value` is empty; then `set` gets an empty string.
    pub const fn new(
        name: &'static str,
        value: &'static str,
        about: &'static str,
        set: fn(&mut T, OsString) -> anyhow::Result<()>,
    ) -> Self {
        Self {
            name,
            value,
            about,
            set,
        }
    }
}

/// Parses an option's value to its place.
///
/// # Errors
///
/// If the value is not of that type.
pub fn parse_to<V: FromStr<Err: Into<Box<dyn Error + Send + Sync>>>>(
    place: &mut V,
    value: OsString,
) -> anyhow::Result<()> {
    *place = value.parse()?;
    Ok(())
}

/// The settings of a load.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the usage, below, says what they are")]
pub struct Settings {
    pub heavy: String,
    pub clients: usize,
    pub lasts: Duration,
    pub pace: Duration,
    pub scale: f64,
    pub rounds: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            heavy: "q1".to_owned(),
            clients: 8,
            lasts: Duration::from_secs(8),
            pace: Duration::from_millis(50),
            scale: 1.0,
            rounds: 1,
        }
    }
}

impl Settings {
    pub(crate) const ALL: &[Setting<Self>] = &[
        Setting::new(
            "heavy",
            "NAME",
            "heavy queries: q1 to q22, join, groups, mix, builds",
            |settings, value| parse_to(&mut settings.heavy, value),
        ),
        Setting::new("clients", "N", "clients back to back", |settings, value| {
            parse_to(&mut settings.clients, value)
        }),
        Setting::new("seconds", "S", "time that is measured", |settings, value| {
            settings.lasts = Duration::try_from_secs_f64(value.parse()?)?;
            Ok(())
        }),
        Setting::new(
            "pace-ms",
            "MS",
            "time from one short query to the next",
            |settings, value| {
                settings.pace = Duration::from_millis(value.parse()?);
                ensure!(!settings.pace.is_zero(), "a pace is more than 0");
                Ok(())
            },
        ),
        Setting::new(
            "scale",
            "SCALE",
            "scale of the tables of TPC-H",
            |settings, value| parse_to(&mut settings.scale, value),
        ),
        Setting::new(
            "rounds",
            "N",
            "rounds of all engines in turn",
            |settings, value| parse_to(&mut settings.rounds, value),
        ),
    ];

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
