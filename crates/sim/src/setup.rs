//! The settings of a run, without its tasks, as plain data that fits into a replay line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use executor_core::{ExecutorConfig, OnPanic};

use crate::clock::Costs;
use crate::fault::{Fault, Faults};
use crate::line::{Fields, LineError};

/// The settings of a run, without its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The executor. Its seed is not used: the strategy draws all random numbers.
    pub config: ExecutorConfig,
    /// Environment actors that hand over the initial tasks concurrently.
    pub producers: usize,
    /// Tasks that a producer hands over at once. 0: one by one, without a batch.
    pub batch: usize,
    /// How the run ends.
    pub ending: Ending,
    /// Further actors that wait for idleness, each from some moment on.
    pub waiters: usize,
    /// Budgets of the faults.
    pub faults: Faults,
    /// Whether a task that panics by itself is no failure.
    pub panics_allowed: bool,
    /// Steps of a run, at most: a longer one fails as a livelock.
    pub step_limit: u64,
    /// What operations cost in virtual time.
    pub costs: Costs,
    /// Virtual time at which the producers begin. If not 0, idle workers sleep until then.
    pub begin_ns: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: ExecutorConfig::default().tune(|tuning| tuning.spin_iters = 3),
            producers: 1,
            batch: 0,
            ending: Ending::default(),
            waiters: 0,
            faults: Faults::NONE,
            panics_allowed: false,
            step_limit: 20_000_000,
            costs: Costs::default(),
            begin_ns: 0,
        }
    }
}

/// How a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ending {
    /// The gate closes when all producers have finished.
    #[default]
    Join,
    /// The gate closes when all producers have finished and nothing is in flight.
    Idle,
    /// The gate closes at some moment.
    Close,
    /// The executor is aborted at some moment.
    Abort,
    /// The gate closes at some moment, and the executor is aborted later.
    CloseThenAbort,
}

impl Ending {
    /// All endings.
    pub const ALL: [Self; 5] = [
        Self::Join,
        Self::Idle,
        Self::Close,
        Self::Abort,
        Self::CloseThenAbort,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Idle => "idle",
            Self::Close => "close",
            Self::Abort => "abort",
            Self::CloseThenAbort => "close-then-abort",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Ending {
    type Err = LineError;

    fn from_str(text: &str) -> Result<Self, LineError> {
        Self::ALL
            .into_iter()
            .find(|ending| ending.name() == text)
            .ok_or_else(|| LineError(format!("`{text}` is no ending")))
    }
}

type Setting = fn(&ExecutorConfig) -> u128;

impl Setup {
    pub(crate) fn write(&self, fields: &mut Fields) {
        let default = Self::default();
        let Self {
            config,
            producers,
            batch,
            ending,
            waiters,
            faults,
            panics_allowed,
            step_limit,
            costs,
            begin_ns,
        } = self;
        fields.push("workers", config.workers);
        let settings: [(&str, Setting); 9] = [
            ("cores", |config| config.cores.map_or(0, |cores| cores as u128)),
            ("tries", |config| config.tuning.steal_tries.into()),
            ("spin", |config| config.tuning.spin_iters.into()),
            ("credit", |config| config.tuning.credit_block as u128),
            ("fair", |config| config.tuning.fairness_interval.into()),
            ("timeout_ns", |config| {
                config.tuning.park_timeout.map_or(0, |timeout| timeout.as_nanos())
            }),
            ("private", |config| config.tuning.private_tasks as u128),
            ("short_ns", |config| config.tuning.short_task.as_nanos()),
            ("hoard", |config| config.tuning.wake_threshold.into()),
        ];
        let settings = settings.map(|(name, of)| (name, of(config), of(&default.config)));
        let others: [(&str, u128, u128); 3] = [
            ("producers", *producers as u128, default.producers as u128),
            ("batch", *batch as u128, default.batch as u128),
            ("waiters", *waiters as u128, default.waiters as u128),
        ];
        let faults = (Fault::ALL.iter()).map(|&fault| (fault.key(), faults.of(fault).into(), 0));
        let steps = ("steps", (*step_limit).into(), default.step_limit.into());
        let begin_ns = ("begin_ns", (*begin_ns).into(), default.begin_ns.into());
        let rest = faults.chain([steps, begin_ns]);
        for (name, value, default) in settings.into_iter().chain(others).chain(rest) {
            if value != default {
                fields.push(name, value);
            }
        }
        if *ending != default.ending {
            fields.push("end", ending);
        }
        if *panics_allowed {
            fields.push("panics_allowed", true);
        }
        if config.on_panic == OnPanic::Isolate {
            fields.push("isolate", true);
        }
        costs.write(fields);
    }

    pub(crate) fn read(fields: &mut Fields) -> Result<Self, LineError> {
        let default = Self::default();
        let timeout_ns: Option<u64> = fields.take("timeout_ns")?;
        let isolate: Option<bool> = fields.take("isolate")?;
        let mut config = default.config;
        let set = |field: &mut u32, value: Option<u32>| *field = value.unwrap_or(*field);
        let set_size = |field: &mut usize, value: Option<usize>| *field = value.unwrap_or(*field);
        set_size(&mut config.workers, fields.take("workers")?);
        config.cores = fields.take("cores")?;
        if isolate == Some(true) {
            config.on_panic = OnPanic::Isolate;
        }
        let tuning = &mut config.tuning;
        set(&mut tuning.steal_tries, fields.take("tries")?);
        set(&mut tuning.spin_iters, fields.take("spin")?);
        set_size(&mut tuning.credit_block, fields.take("credit")?);
        set(&mut tuning.fairness_interval, fields.take("fair")?);
        tuning.park_timeout = timeout_ns.filter(|&ns| ns > 0).map(Duration::from_nanos);
        set_size(&mut tuning.private_tasks, fields.take("private")?);
        if let Some(short_ns) = fields.take("short_ns")? {
            tuning.short_task = Duration::from_nanos(short_ns);
        }
        set(&mut tuning.wake_threshold, fields.take("hoard")?);
        config.validate().map_err(|error| LineError(error.to_string()))?;
        let mut faults = Faults::NONE;
        for &fault in Fault::ALL {
            *faults.of_mut(fault) = fields.take(fault.key())?.unwrap_or(0);
        }
        Ok(Self {
            config,
            producers: fields.take("producers")?.unwrap_or(default.producers),
            batch: fields.take("batch")?.unwrap_or(default.batch),
            ending: fields.take("end")?.unwrap_or(default.ending),
            waiters: fields.take("waiters")?.unwrap_or(default.waiters),
            faults,
            panics_allowed: fields.take("panics_allowed")?.unwrap_or(false),
            step_limit: fields.take("steps")?.unwrap_or(default.step_limit),
            costs: Costs::read(fields)?,
            begin_ns: fields.take("begin_ns")?.unwrap_or(default.begin_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_survives_being_written_and_read() {
        let setup = Setup {
            config: ExecutorConfig::new(65)
                .cores(Some(2))
                .on_panic(OnPanic::Isolate)
                .tune(|tuning| {
                    tuning.steal_tries = 2;
                    tuning.spin_iters = 0;
                    tuning.park_timeout = Some(Duration::from_micros(200));
                    tuning.credit_block = 1;
                    tuning.fairness_interval = 7;
                    tuning.private_tasks = 5;
                    tuning.short_task = Duration::ZERO;
                    tuning.wake_threshold = 2;
                }),
            producers: 3,
            batch: 5,
            ending: Ending::CloseThenAbort,
            waiters: 2,
            faults: {
                let mut faults = Faults::NONE;
                for (n, &fault) in Fault::ALL.iter().enumerate() {
                    *faults.of_mut(fault) = n as u32 + 1;
                }
                faults
            },
            panics_allowed: true,
            step_limit: 1_000,
            costs: Costs {
                line_read_ps: 1,
                ..Costs::default()
            },
            begin_ns: 7,
        };
        let mut fields = Fields::default();
        setup.write(&mut fields);
        let mut read: Fields = fields.to_string().parse().expect("it is well formed");
        assert_eq!(Setup::read(&mut read), Ok(setup));
        assert_eq!(read.end(), Ok(()));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (text, about) in [
            ("workers=0", "`workers` is 0"),
            ("workers=x", "workers=x"),
            ("cores=0", "`cores` is 0"),
            ("private=257", "`private_tasks` is 257"),
            ("hoard=0", "`wake_threshold` is 0"),
            ("end=never", "end"),
        ] {
            let mut fields: Fields = text.parse().expect("it is well formed");
            let error = Setup::read(&mut fields).expect_err(text).to_string();
            assert!(error.contains(about), "{text}: {error}");
        }
    }
}
