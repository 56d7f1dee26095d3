//! The settings of a session for its queries.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use datafusion_common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion_common::{DataFusionError, Result};
use pipeline_exec::Class;
use pools::JobOptions;

use crate::amount;

/// A session's settings for its queries, under the name `windlass`: in SQL `SET windlass.deadline =
/// '5s'`. A query takes those of its execution's start.
///
/// ```
/// use std::time::Duration;
/// use datafusion_execution::config::SessionConfig;
/// use windlass_datafusion::WindlassOptions;
///
/// let options = WindlassOptions {
///     deadline: Some(Duration::from_secs(5)),
///     ..WindlassOptions::default()
/// };
/// let config = SessionConfig::new().with_option_extension(options);
/// # assert!(config.options().extensions.get::<WindlassOptions>().is_some());
/// ```
///
/// | setting | values | default |
/// |---|---|---|
/// | `windlass.class` | `interactive`, `normal`, `batch` | `normal` |
/// | `windlass.deadline` | a time with its unit: `250ms`, `5s`, `2m`; `none` | `none` |
/// | `windlass.max_workers` | a number from 1; `none` | `none`: all workers |
/// | `windlass.memory` | bytes, `64MiB`, `2GiB`, `500MB`; `none` | `none`: the session's pool |
/// | `windlass.operators` | `true`, `false` | `false` |
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindlassOptions {
    /// Urgency.
    pub class: Class,
    /// Time of a query's execution, after which it ends with
    /// [`QueryEnded::DeadlineExceeded`](crate::QueryEnded::DeadlineExceeded).
    pub deadline: Option<Duration>,
    /// Most workers that compute a query at once; `Some(0)` counts as one.
    pub max_workers: Option<usize>,
    /// Bytes of a query, within the session's memory pool. At the limit, operators spill or the
    /// query fails with DataFusion's `ResourcesExhausted`.
    pub memory: Option<usize>,
    /// Whether windlass's own stages read and filter Parquet files and batches in memory, and
    /// compute aggregates over them, where they can. It needs the feature `operators`. Rows are the
    /// same; sums of doubles may differ in their last digits, as between two plans of DataFusion.
    pub operators: bool,
}

impl WindlassOptions {
    /// Returns the settings in a session's configuration, or the defaults.
    #[must_use]
    pub fn of(config: &ConfigOptions) -> Self {
        let options = config.extensions.get::<Self>();
        options.cloned().unwrap_or_default()
    }

    /// Returns the options of a job with these settings.
    pub fn job(&self, name: String) -> JobOptions {
        let mut job = JobOptions::new().name(name).class(self.class);
        if let Some(deadline) = self.deadline {
            job = job.deadline(deadline);
        }
        if let Some(workers) = self.max_workers {
            job = job.max_workers(workers.max(1));
        }
        if let Some(bytes) = self.memory {
            job = job.memory(bytes);
        }
        job
    }
}

impl ConfigExtension for WindlassOptions {
    const PREFIX: &'static str = "windlass";
}

impl ExtensionOptions for WindlassOptions {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let value = value.trim();
        let wrong = |allowed: &str| wrong(key, value, allowed);
        match key {
            "class" => {
                let named = |class: &Class| class.name().eq_ignore_ascii_case(value);
                let class = Class::ALL.into_iter().find(named);
                self.class = class.ok_or_else(|| wrong("interactive, normal or batch"))?;
            }
            "deadline" => {
                let allowed = "a time above 0 with its unit, such as 250ms, 5s or 2m, or none";
                self.deadline = or_none(value, above_zero).ok_or_else(|| wrong(allowed))?;
            }
            "max_workers" => {
                let number = |value: &str| value.parse().ok().filter(|&workers| workers > 0);
                self.max_workers = or_none(value, number).ok_or_else(|| wrong("a number from 1, or none"))?;
            }
            "memory" => {
                let allowed = "a number of bytes above 0, with or without a unit such as MiB, or none";
                self.memory = or_none(value, amount::size).ok_or_else(|| wrong(allowed))?;
            }
            "operators" => {
                let operators = value.to_ascii_lowercase().parse();
                let operators: bool = operators.map_err(|_no_bool| wrong("true or false"))?;
                if operators && !cfg!(feature = "operators") {
                    return Err(wrong("false alone without the crate's feature `operators`"));
                }
                self.operators = operators;
            }
            _ => {
                let text = format!(
                    "windlass has no setting `{key}`: there are class, deadline, max_workers, memory and \
                     operators"
                );
                return Err(DataFusionError::Configuration(text));
            }
        }
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |key: &str, value: String, description| ConfigEntry {
            key: format!("{}.{key}", Self::PREFIX),
            value: Some(value),
            description,
        };
        vec![
            entry(
                "class",
                self.class.name().to_owned(),
                "How urgent the session's queries are beside others: interactive, normal or batch",
            ),
            entry(
                "deadline",
                text_or_none(self.deadline.map(|deadline| format!("{deadline:?}"))),
                "The longest that a query may take, such as 5s, or none",
            ),
            entry(
                "max_workers",
                text_or_none(self.max_workers),
                "The most workers that compute a query at the same time, or none",
            ),
            entry(
                "memory",
                text_or_none(self.memory),
                "The bytes that a query may hold within the session's memory pool, or none",
            ),
            entry(
                "operators",
                self.operators.to_string(),
                "Whether windlass's stages read Parquet files and memory, and aggregate over them: true or false",
            ),
        ]
    }
}

fn wrong(key: &str, value: &str, allowed: &str) -> DataFusionError {
    let text = format!("windlass.{key} cannot be `{value}`, it takes {allowed}");
    DataFusionError::Configuration(text)
}

fn text_or_none(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

/// `Some(None)` for `none`, and `None` for an invalid value.
fn or_none<T>(value: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if value.eq_ignore_ascii_case("none") {
        return Some(None);
    }
    read(value).map(Some)
}

fn above_zero(text: &str) -> Option<Duration> {
    amount::time(text).filter(|time| !time.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_shown_as_they_were_set() {
        let mut options = WindlassOptions::default();
        for (key, value, shown) in [
            ("class", "Batch", "batch"),
            ("deadline", "1.5s", "1.5s"),
            ("deadline", "250 ms", "250ms"),
            ("deadline", "2m", "120s"),
            ("deadline", "none", "none"),
            ("max_workers", "2", "2"),
            ("max_workers", "NONE", "none"),
            ("memory", "64MiB", "67108864"),
            ("memory", "1_000", "1000"),
            ("memory", "2 GB", "2000000000"),
            ("operators", "FALSE", "false"),
        ] {
            options.set(key, value).unwrap();
            let entries = options.entries();
            let entry = entries
                .iter()
                .find(|entry| entry.key == format!("windlass.{key}"));
            assert_eq!(entry.unwrap().value.as_deref(), Some(shown), "{key} = {value}");
        }
        assert_eq!(options.class, Class::Batch);
        assert_eq!(options.memory, Some(2_000_000_000));
    }

    #[test]
    fn a_setting_that_makes_no_sense_is_an_error_that_says_what_would() {
        let mut options = WindlassOptions::default();
        for (key, value, why) in [
            ("class", "urgent", "it takes interactive, normal or batch"),
            ("deadline", "5", "with its unit"),
            ("deadline", "0s", "above 0"),
            ("deadline", "soon", "with its unit"),
            ("max_workers", "0", "a number from 1"),
            ("max_workers", "-1", "a number from 1"),
            ("memory", "0", "above 0"),
            ("memory", "64 apples", "such as MiB"),
            ("memory", "99999999TiB", "such as MiB"),
            ("operators", "yes", "it takes true or false"),
            ("colour", "red", "has no setting `colour`"),
        ] {
            let error = options.set(key, value).unwrap_err().to_string();
            assert!(error.contains(why), "{key} = {value}: {error}");
        }
        assert_eq!(options, WindlassOptions::default());
    }
}
