//! PostgreSQL's settings that clients set or ask for, and the values that they take here.

use std::time::Duration;

use crate::wire::SqlError;

/// A setting of PostgreSQL that clients set or ask for, with its default.
pub(super) struct Known {
    pub(super) name: &'static str,
    /// How PostgreSQL writes the name.
    pub(super) shown: &'static str,
    pub(super) default: &'static str,
    /// Whether the client is told of each change.
    pub(super) is_reported: bool,
    /// Whether a statement may set it.
    pub(super) is_settable: bool,
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

pub(super) const KNOWN: &[Known] = &[
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
    // Plans are not compiled.
    known("jit", "jit", "off", false, true),
    known("lc_collate", "lc_collate", "C", false, false),
    known("lc_ctype", "lc_ctype", "C", false, false),
    known("lock_timeout", "lock_timeout", "0", false, true),
    known(
        "max_identifier_length",
        "max_identifier_length",
        "63",
        false,
        false,
    ),
    known("max_index_keys", "max_index_keys", "32", false, false),
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

impl Known {
    /// Returns `value` as it is kept.
    ///
    /// # Errors
    ///
    /// If the setting cannot be set, or not to this value.
    pub(super) fn checked(&self, value: &str) -> Result<String, SqlError> {
        let name = self.name;
        if !self.is_settable {
            let what = format!("parameter \"{name}\" cannot be changed");
            return Err(SqlError::new("55P02", what));
        }
        let wrong = |allowed: &str| {
            let what = format!("invalid value for parameter \"{name}\": \"{value}\", it takes {allowed}");
            SqlError::new("22023", what)
        };
        Ok(match name {
            "statement_timeout" => {
                let timeout =
                    milliseconds(value).ok_or_else(|| wrong("milliseconds, or a time such as 5s"))?;
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
            "jit" if !is_off(value) => return Err(wrong("off")),
            "extra_float_digits" => {
                let digits = value
                    .parse::<i8>()
                    .ok()
                    .filter(|digits| (-15..=3).contains(digits));
                digits.ok_or_else(|| wrong("-15 to 3"))?.to_string()
            }
            "bytea_output" if !["hex", "escape"].contains(&value) => return Err(wrong("hex or escape")),
            _ => value.to_owned(),
        })
    }
}

pub(super) fn find(name: &str) -> Option<&'static Known> {
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

fn is_off(value: &str) -> bool {
    ["off", "false", "no", "0"]
        .iter()
        .any(|name| value.eq_ignore_ascii_case(name))
}

/// A time as PostgreSQL reads it: milliseconds without a unit, days, and `min` but not `m`. So it
/// is none of `windlass_datafusion::amount`.
pub(super) fn milliseconds(value: &str) -> Option<Duration> {
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
