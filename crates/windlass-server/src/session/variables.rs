//! A session's settings, its own and the engine's, as statements and functions set and show them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use datafusion::config::ConfigOptions;
use datafusion::prelude::SessionContext;
use pgwire::types::format::FormatOptions;
use pipeline_exec::lock;

use crate::engine::unknown_setting;
use crate::settings::{Owner, Scope, Settings};
use crate::shared::Shared;
use crate::wire::SqlError;

/// Name and value of a setting that the client is told of.
type Told = (&'static str, String);

type Give = Box<dyn Fn(&ConfigOptions) + Send + Sync>;

const TIME_ZONE: &str = "timezone";

/// The engine's time zone, which is set with the session's.
const TIME_ZONE_OF_ENGINE: &str = "datafusion.execution.time_zone";

/// What a session has set.
pub(crate) struct Variables {
    shared: Arc<Shared>,
    inner: Mutex<Inner>,
}

struct Inner {
    settings: Settings,
    /// What the engine has of the settings.
    of_engine: BTreeMap<String, String>,
    options: Arc<ConfigOptions>,
    /// Gives options to the session's context, once there is one.
    give: Option<Give>,
    /// What the client knows.
    told: Vec<Told>,
}

impl Variables {
    pub(super) fn new(shared: &Arc<Shared>) -> Arc<Self> {
        let settings = Settings::default();
        Arc::new(Self {
            shared: Arc::clone(shared),
            inner: Mutex::new(Inner {
                told: settings.reported().collect(),
                settings,
                of_engine: BTreeMap::new(),
                options: Arc::clone(shared.engine.state().config_options()),
                give: None,
            }),
        })
    }

    /// Gives what is set to `context`, now and whenever it changes.
    pub(super) fn attach(&self, context: &SessionContext) {
        let mut inner = lock(&self.inner);
        let give = giver(context);
        if !inner.of_engine.is_empty() {
            give(&inner.options);
        }
        inner.give = Some(give);
    }

    /// The engine's options with what is set.
    pub(super) fn options(&self) -> Arc<ConfigOptions> {
        Arc::clone(&lock(&self.inner).options)
    }

    /// Sets `name`, which is in lower case, and gives its value.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or it cannot be set to this value.
    pub(super) fn set(&self, name: &str, value: &str, scope: Scope) -> Result<(), SqlError> {
        let mut inner = lock(&self.inner);
        let value_of_zone = (name == TIME_ZONE && !value.eq_ignore_ascii_case("default")).then_some(value);
        if let Some(zone) = value_of_zone {
            self.try_out(TIME_ZONE_OF_ENGINE, zone)?;
        }
        match inner.settings.set(name, value, scope)? {
            Owner::Session if name == TIME_ZONE => {
                let zone = value_of_zone.map(str::to_owned);
                inner.settings.put(TIME_ZONE_OF_ENGINE, zone, scope);
            }
            Owner::Session => {}
            Owner::Engine if value.eq_ignore_ascii_case("default") => {
                self.shared.engine.check_reset(name)?;
                inner.settings.put(name, None, scope);
            }
            Owner::Engine => {
                self.shared.engine.check_setting(name, value)?;
                self.try_out(name, value)?;
                inner.settings.put(name, Some(value.to_owned()), scope);
            }
        }
        self.apply(&mut inner);
        Ok(())
    }

    /// Sets one setting to its default, or all.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or it is the server's.
    pub(super) fn reset(&self, name: Option<&str>) -> Result<(), SqlError> {
        let mut inner = lock(&self.inner);
        match name {
            None => inner.settings.reset_all(),
            Some(name) => match inner.settings.reset(name) {
                Owner::Session if name == TIME_ZONE => {
                    inner.settings.put(TIME_ZONE_OF_ENGINE, None, Scope::Session);
                }
                Owner::Session => {}
                Owner::Engine => {
                    self.shared.engine.check_reset(name)?;
                    inner.settings.put(name, None, Scope::Session);
                }
            },
        }
        self.apply(&mut inner);
        Ok(())
    }

    /// The name as it is written, and the value.
    ///
    /// # Errors
    ///
    /// If there is no such setting.
    pub(super) fn show(&self, name: &str) -> Result<(String, String), SqlError> {
        let inner = lock(&self.inner);
        if let Some((name, value)) = inner.settings.show(name) {
            return Ok((name.to_owned(), value));
        }
        let entries = inner.options.entries();
        let entry = entries.into_iter().find(|entry| entry.key == name);
        let entry = entry.ok_or_else(|| unknown_setting(name))?;
        Ok((entry.key, entry.value.unwrap_or_default()))
    }

    /// Forgets all, and the context as well.
    pub(super) fn discard(&self) {
        let mut inner = lock(&self.inner);
        inner.settings.reset_all();
        inner.give = None;
        self.apply(&mut inner);
    }

    /// Does what a transaction's end or a savepoint means for the settings.
    pub(super) fn change(&self, change: impl FnOnce(&mut Settings)) {
        let mut inner = lock(&self.inner);
        change(&mut inner.settings);
        self.apply(&mut inner);
    }

    /// What the client is told when it has logged in.
    pub(crate) fn reported(&self) -> Vec<Told> {
        let mut inner = lock(&self.inner);
        inner.told = inner.settings.reported().collect();
        inner.told.clone()
    }

    /// What has changed since the client was told.
    pub(crate) fn untold(&self) -> Vec<Told> {
        let mut inner = lock(&self.inner);
        let now: Vec<_> = inner.settings.reported().collect();
        let untold = now.iter().filter(|told| !inner.told.contains(told));
        let untold = untold.cloned().collect();
        inner.told = now;
        untold
    }

    pub(super) fn statement_timeout(&self) -> Option<Duration> {
        lock(&self.inner).settings.statement_timeout()
    }

    pub(super) fn format_options(&self) -> Arc<FormatOptions> {
        lock(&self.inner).settings.format_options()
    }

    /// Asks the engine whether it would take a value.
    fn try_out(&self, name: &str, value: &str) -> Result<(), SqlError> {
        let mut options = ConfigOptions::clone(self.shared.engine.state().config_options());
        Ok(options.set(name, value)?)
    }

    /// Gives the engine what is set, if that is not what it has.
    fn apply(&self, inner: &mut Inner) {
        let wanted = inner.settings.of_engine();
        if wanted == inner.of_engine {
            return;
        }
        let mut options = ConfigOptions::clone(self.shared.engine.state().config_options());
        for (name, value) in &wanted {
            if let Err(error) = options.set(name, value) {
                // It was tried out when it was set.
                tracing::warn!(name, %error, "a setting is not taken");
            }
        }
        if let Some(give) = &inner.give {
            give(&options);
        }
        inner.options = Arc::new(options);
        inner.of_engine = wanted;
    }
}

/// The functions of the context have the settings, so these must not keep the context.
fn giver(context: &SessionContext) -> Give {
    let state = context.state_weak_ref();
    Box::new(move |options| {
        if let Some(state) = state.upgrade() {
            *state.write().config_mut().options_mut() = options.clone();
        }
    })
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}
