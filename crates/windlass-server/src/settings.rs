//! What a session has set, in transactions and out.
//!
//! ```text
//!   SET, set_config(…, false)      ─► kept and now ─► stays after COMMIT
//!   SET LOCAL, set_config(…, true) ─► now          ─► gone after COMMIT
//!   ROLLBACK, ROLLBACK TO          ─► both as they were
//! ```
//!
//! A statement outside of a transaction is one of its own.

mod known;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pgwire::types::format::FormatOptions;

use crate::wire::SqlError;

use known::{KNOWN, Known, find, milliseconds};

/// How long a value holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Session,
    Transaction,
}

/// Whose a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Session,
    /// The engine's, if anyone's.
    Engine,
}

/// Values by name: those of [`KNOWN`], and the engine's.
type Values = Arc<BTreeMap<String, String>>;

/// Clones share what neither has changed.
#[derive(Clone, Debug, Default)]
struct State {
    now: Values,
    kept: Values,
}

/// The settings of a session.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    state: State,
    /// At the beginning of the transaction.
    before: State,
    /// At each of its savepoints.
    savepoints: Vec<State>,
}

impl Settings {
    /// Sets `name`, which is in lower case, or says that it is the engine's.
    ///
    /// # Errors
    ///
    /// If it cannot be set, or not to this value.
    pub(crate) fn set(&mut self, name: &str, value: &str, scope: Scope) -> Result<Owner, SqlError> {
        let Some(setting) = find(own_name(name)) else {
            return Ok(Owner::Engine);
        };
        let value = if value.eq_ignore_ascii_case("default") && setting.is_settable {
            None
        } else {
            Some(setting.checked(value)?)
        };
        self.put(setting.name, value, scope);
        Ok(Owner::Session)
    }

    /// Keeps a value of any name; `None` is its default.
    pub(crate) fn put(&mut self, name: &str, value: Option<String>, scope: Scope) {
        let State { now, kept } = &mut self.state;
        let values = match scope {
            Scope::Session => [Some(now), Some(kept)],
            Scope::Transaction => [Some(now), None],
        };
        for values in values.into_iter().flatten() {
            let values = Arc::make_mut(values);
            match &value {
                Some(value) => values.insert(name.to_owned(), value.clone()),
                None => values.remove(name),
            };
        }
    }

    /// Sets `name` to its default, or says that it is the engine's.
    pub(crate) fn reset(&mut self, name: &str) -> Owner {
        let Some(setting) = find(name) else {
            return Owner::Engine;
        };
        self.put(setting.name, None, Scope::Session);
        Owner::Session
    }

    /// Sets all settings to their defaults.
    pub(crate) fn reset_all(&mut self) {
        self.state = State::default();
    }

    /// The transaction ends well, and another begins.
    pub(crate) fn commit(&mut self) {
        self.state.now = Arc::clone(&self.state.kept);
        self.before = self.state.clone();
        self.savepoints.clear();
    }

    /// The transaction ends without its changes, and another begins.
    pub(crate) fn rollback(&mut self) {
        self.state = self.before.clone();
        self.savepoints.clear();
    }

    pub(crate) fn savepoint(&mut self) {
        self.savepoints.push(self.state.clone());
    }

    /// Goes back to the savepoint at this depth, which stays.
    pub(crate) fn back_to(&mut self, depth: usize) {
        self.savepoints.truncate(depth + 1);
        if let Some(then) = self.savepoints.last() {
            self.state = then.clone();
        }
    }

    /// Forgets the savepoints from this depth on.
    pub(crate) fn release(&mut self, depth: usize) {
        self.savepoints.truncate(depth);
    }

    /// The name as PostgreSQL writes it, and the value; `None` if it is no setting of PostgreSQL's.
    pub(crate) fn show(&self, name: &str) -> Option<(&'static str, String)> {
        let name = match own_name(name) {
            "time.zone" => "timezone",
            "transaction.isolation.level" => "transaction_isolation",
            other => other,
        };
        find(name).map(|setting| (setting.shown, self.value(setting)))
    }

    /// What the session has set for the engine.
    pub(crate) fn of_engine(&self) -> BTreeMap<String, String> {
        let set = self.state.now.iter();
        let set = set.filter(|(name, _)| find(name).is_none());
        set.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// What a client is told when it has logged in, and of each change.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let reported = KNOWN.iter().filter(|setting| setting.is_reported);
        reported.map(|setting| (setting.shown, self.value(setting)))
    }

    /// Longest time of a statement.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let timeout = self.state.now.get("statement_timeout")?;
        milliseconds(timeout).filter(|timeout| !timeout.is_zero())
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
        let set = self.state.now.get(setting.name).map(String::as_str);
        set.unwrap_or(setting.default).to_owned()
    }
}

fn own_name(name: &str) -> &str {
    name.strip_prefix("pg_catalog.").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut Settings, name: &str, value: &str) -> Result<Owner, SqlError> {
        settings.set(name, value, Scope::Session)
    }

    #[test]
    fn a_timeout_has_postgresqls_units() {
        let mut settings = Settings::default();
        for (value, shown, millis) in [
            ("100", "100ms", Some(100)),
            ("5s", "5000ms", Some(5_000)),
            ("1.5min", "90000ms", Some(90_000)),
            ("0", "0", None),
        ] {
            assert_eq!(set(&mut settings, "statement_timeout", value), Ok(Owner::Session));
            assert_eq!(
                settings.show("statement_timeout"),
                Some(("statement_timeout", shown.to_owned()))
            );
            assert_eq!(settings.statement_timeout(), millis.map(Duration::from_millis));
        }
        for value in ["soon", "-1", "5 weeks", "9999999999"] {
            let error = set(&mut settings, "statement_timeout", value).unwrap_err();
            assert_eq!(error.code, "22023", "{value}");
        }
    }

    #[test]
    fn what_the_server_cannot_do_is_not_promised() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("client_encoding", "LATIN1"),
            ("standard_conforming_strings", "off"),
            ("default_transaction_read_only", "off"),
            ("jit", "on"),
            ("server_version", "9"),
        ] {
            assert!(set(&mut settings, name, value).is_err(), "{name} = {value}");
        }
        for name in ["UTF8", "utf-8", "'utf-8'", "Unicode"] {
            set(&mut settings, "client_encoding", name).unwrap();
            let shown = settings.show("client_encoding");
            assert_eq!(shown, Some(("client_encoding", "UTF8".to_owned())));
        }
        assert_eq!(
            set(&mut settings, "datafusion.execution.batch_size", "1"),
            Ok(Owner::Engine)
        );
    }

    #[test]
    fn a_transaction_ends_with_what_it_has_kept() {
        let mut settings = Settings::default();
        let name = "application_name";
        let now = |settings: &Settings| settings.show(name).unwrap().1;
        settings.set(name, "local", Scope::Transaction).unwrap();
        assert_eq!(now(&settings), "local");
        settings.commit();
        assert_eq!(now(&settings), "");
        settings.set(name, "kept", Scope::Session).unwrap();
        settings.set(name, "local", Scope::Transaction).unwrap();
        assert_eq!(now(&settings), "local");
        settings.commit();
        assert_eq!(now(&settings), "kept");
        settings.set(name, "local", Scope::Transaction).unwrap();
        settings.set(name, "later", Scope::Session).unwrap();
        assert_eq!(now(&settings), "later");
        settings.rollback();
        assert_eq!(now(&settings), "kept");
        settings.reset_all();
        assert_eq!(now(&settings), "");
    }

    #[test]
    fn a_savepoint_has_the_values_of_its_time() {
        let mut settings = Settings::default();
        let name = "application_name";
        let now = |settings: &Settings| settings.show(name).unwrap().1;
        for value in ["a", "b", "c"] {
            settings.set(name, value, Scope::Session).unwrap();
            settings.savepoint();
        }
        settings.set(name, "d", Scope::Transaction).unwrap();
        settings.release(2);
        assert_eq!(now(&settings), "d");
        settings.back_to(1);
        assert_eq!(now(&settings), "b");
        settings.back_to(0);
        assert_eq!(now(&settings), "a");
        settings.commit();
        assert_eq!(now(&settings), "a");
    }
}
