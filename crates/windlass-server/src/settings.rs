//! What a session has set beside the engine's own settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pgwire::types::format::FormatOptions;

use crate::wire::SqlError;

/// A setting of PostgreSQL that clients set or ask for, with its default.
struct Known {
    name: &'static str,
    /// How PostgreSQL writes the name.
    shown: &'static str,
    default: &'static str,
    /// Whether the client is told of each change.
    is_reported: bool,
    /// Whether a statement may set it.
    is_settable: bool,
}

const fn known(
    name: &'static str,
    shown: &'static str,
    default: &'static str,
    is_reported: bool,
    is_settable: bool,
) -> Known {
    Known {
        name,
        shown,
        default,
        is_reported,
        is_settable,
    }
}

/// The version of PostgreSQL whose behaviour clients may expect.
const SERVER_VERSION: &str = "15.0 (windlass)";

const KNOWN: &[Known] = &[
    known("application_name", "application_name", "", true, true),
    known("bytea_output", "bytea_output", "hex", false, true),
    known("client_encoding", "client_encoding", "UTF8", true, true),
    known(
        "client_min_messages",
        "client_min_messages",
        "notice",
        false,
        true,
    ),
    known("datestyle", "DateStyle", "ISO, YMD", true, true),
    known(
        "default_transaction_isolation",
        "default_transaction_isolation",
        "read committed",
        false,
        true,
    ),
    known(
        "default_transaction_read_only",
        "default_transaction_read_only",
        "on",
        true,
        true,
    ),
    known("extra_float_digits", "extra_float_digits", "1", false, true),
    known(
        "idle_in_transaction_session_timeout",
        "idle_in_transaction_session_timeout",
        "0",
        false,
        true,
    ),
    known("in_hot_standby", "in_hot_standby", "off", true, false),
    known("integer_datetimes", "integer_datetimes", "on", true, false),
    known("intervalstyle", "IntervalStyle", "postgres", true, true),
    known("is_superuser", "is_superuser", "off", true, false),
    known("lock_timeout", "lock_timeout", "0", false, true),
    known(
        "max_identifier_length",
        "max_identifier_length",
        "63",
        false,
        false,
    ),
    known("row_security", "row_security", "on", false, true),
    known("search_path", "search_path", "public", false, true),
    known("server_encoding", "server_encoding", "UTF8", true, false),
    known("server_version", "server_version", SERVER_VERSION, true, false),
    known("server_version_num", "server_version_num", "150000", false, false),
    known(
        "standard_conforming_strings",
        "standard_conforming_strings",
        "on",
        true,
        true,
    ),
    known("statement_timeout", "statement_timeout", "0", false, true),
    known("timezone", "TimeZone", "UTC", true, true),
    known("transaction", "transaction", "", false, true),
    known(
        "transaction_isolation",
        "transaction_isolation",
        "read committed",
        false,
        true,
    ),
    known(
        "transaction_read_only",
        "transaction_read_only",
        "on",
        false,
        true,
    ),
];

/// The settings of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    set: BTreeMap<&'static str, String>,
    statement_timeout: Option<Duration>,
}

/// What a change means outside of the settings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The client is told the name and the value.
    Reported(&'static str, String),
    Silent,
    /// It is a setting of the engine, if of anyone.
    Engine,
}

impl Settings {
    /// Sets `name`, which is in lower case.
    ///
    /// # Errors
    ///
    /// If it cannot be set, or not to this value.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<Change, SqlError> {
        let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
        let Some(setting) = find(name) else {
            return Ok(Change::Engine);
        };
        if value.eq_ignore_ascii_case("default") && setting.is_settable {
            return Ok(self.reset_known(setting));
        }
        if !setting.is_settable {
            let what = format!("parameter \"{name}\" cannot be changed");
            return Err(SqlError::new("55P02", what));
        }
        let wrong = |allowed: &str| {
            let what = format!("invalid value for parameter \"{name}\": \"{value}\", it takes {allowed}");
            SqlError::new("22023", what)
        };
        let value = match setting.name {
            "statement_timeout" => {
                let timeout =
                    milliseconds(value).ok_or_else(|| wrong("milliseconds, or a time such as 5s"))?;
                self.statement_timeout = (!timeout.is_zero()).then_some(timeout);
                if timeout.is_zero() {
                    "0".to_owned()
                } else {
                    format!("{}ms", timeout.as_millis())
                }
            }
            "client_encoding" if is_utf8(value) => "UTF8".to_owned(),
            "client_encoding" => return Err(wrong("UTF8")),
            "standard_conforming_strings" if !is_on(value) => return Err(wrong("on")),
            "transaction_read_only" | "default_transaction_read_only" if !is_on(value) => {
                return Err(wrong("on"));
            }
            "extra_float_digits" => {
                let digits = value
                    .parse::<i8>()
                    .ok()
                    .filter(|digits| (-15..=3).contains(digits));
                digits.ok_or_else(|| wrong("-15 to 3"))?.to_string()
            }
            "bytea_output" if !["hex", "escape"].contains(&value) => return Err(wrong("hex or escape")),
            _ => value.to_owned(),
        };
        self.set.insert(setting.name, value);
        Ok(self.change(setting))
    }

    /// Sets `name` to its default.
    pub(crate) fn reset(&mut self, name: &str) -> Change {
        find(name).map_or(Change::Engine, |setting| self.reset_known(setting))
    }

    /// Sets all settings to their defaults.
    pub(crate) fn reset_all(&mut self) -> Vec<Change> {
        let changed = std::mem::take(&mut self.set);
        self.statement_timeout = None;
        let settings = changed.keys().filter_map(|name| find(name));
        settings.map(|setting| self.change(setting)).collect()
    }

    fn reset_known(&mut self, setting: &'static Known) -> Change {
        self.set.remove(setting.name);
        if setting.name == "statement_timeout" {
            self.statement_timeout = None;
        }
        self.change(setting)
    }

    fn change(&self, setting: &'static Known) -> Change {
        if setting.is_reported {
            Change::Reported(setting.shown, self.value(setting))
        } else {
            Change::Silent
        }
    }

    /// The name as PostgreSQL writes it, and the value; `None` if it is no setting of PostgreSQL's.
    pub(crate) fn show(&self, name: &str) -> Option<(&'static str, String)> {
        let name = match name {
            "time.zone" => "timezone",
            "transaction.isolation.level" => "transaction_isolation",
            other => other,
        };
        find(name).map(|setting| (setting.shown, self.value(setting)))
    }

    /// What a client is told when it has logged in.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let reported = KNOWN.iter().filter(|setting| setting.is_reported);
        reported.map(|setting| (setting.shown, self.value(setting)))
    }

    /// Longest time of a statement.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        self.statement_timeout
    }

    /// How values are written as text.
    pub(crate) fn format_options(&self) -> Arc<FormatOptions> {
        let value = |name| find(name).map(|setting| self.value(setting)).unwrap_or_default();
        let mut options = FormatOptions::default();
        options.date_style = value("datestyle");
        options.interval_style = value("intervalstyle");
        options.bytea_output = value("bytea_output");
        options.extra_float_digits = value("extra_float_digits").parse().unwrap_or(1);
        Arc::new(options)
    }

    fn value(&self, setting: &Known) -> String {
        let set = self.set.get(setting.name).map(String::as_str);
        set.unwrap_or(setting.default).to_owned()
    }
}

fn find(name: &str) -> Option<&'static Known> {
    KNOWN
        .iter()
        .find(|setting| setting.name.eq_ignore_ascii_case(name))
}

/// As in PostgreSQL, letters and digits alone tell encodings apart: asyncpg sends the name in
/// quotes.
fn is_utf8(value: &str) -> bool {
    let letters = value.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    ["utf8", "unicode"].contains(&name.as_str())
}

fn is_on(value: &str) -> bool {
    ["on", "true", "yes", "1"]
        .iter()
        .any(|name| value.eq_ignore_ascii_case(name))
}

/// A time as PostgreSQL reads it: milliseconds without a unit, days, and `min` but not `m`. So it is
/// none of `windlass_datafusion::amount`.
fn milliseconds(value: &str) -> Option<Duration> {
    let value = value.trim();
    let end = value
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let seconds = match unit.trim() {
        "us" => 1e-6,
        "" | "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    // PostgreSQL's own bound: 2^31 - 1 milliseconds.
    let time = Duration::try_from_secs_f64(number * seconds).ok()?;
    (time.as_millis() <= i32::MAX as u128).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_postgresqls_units() {
        let mut settings = Settings::default();
        for (value, shown, millis) in [
            ("100", "100ms", Some(100)),
            ("5s", "5000ms", Some(5_000)),
            ("1.5min", "90000ms", Some(90_000)),
            ("0", "0", None),
        ] {
            assert_eq!(settings.set("statement_timeout", value), Ok(Change::Silent));
            assert_eq!(
                settings.show("statement_timeout"),
                Some(("statement_timeout", shown.to_owned()))
            );
            assert_eq!(settings.statement_timeout(), millis.map(Duration::from_millis));
        }
        for value in ["soon", "-1", "5 weeks", "9999999999"] {
            assert_eq!(
                settings.set("statement_timeout", value).unwrap_err().code,
                "22023",
                "{value}"
            );
        }
    }

    #[test]
    fn what_the_server_cannot_do_is_not_promised() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("client_encoding", "LATIN1"),
            ("standard_conforming_strings", "off"),
            ("default_transaction_read_only", "off"),
            ("server_version", "9"),
        ] {
            assert!(settings.set(name, value).is_err(), "{name} = {value}");
        }
        for name in ["UTF8", "utf-8", "'utf-8'", "Unicode"] {
            assert_eq!(
                settings.set("client_encoding", name),
                Ok(Change::Reported("client_encoding", "UTF8".to_owned()))
            );
        }
        assert_eq!(
            settings.set("datafusion.execution.batch_size", "1"),
            Ok(Change::Engine)
        );
    }

    #[test]
    fn a_reset_says_what_changed() {
        let mut settings = Settings::default();
        settings.set("application_name", "psql").unwrap();
        settings.set("statement_timeout", "1s").unwrap();
        let changes = settings.reset_all();
        assert!(changes.contains(&Change::Reported("application_name", String::new())));
        assert_eq!(settings.statement_timeout(), None);
    }
}
