//! The settings of an executor, as plain data.

use std::fmt;
use std::time::Duration;

use crate::words::sleep::WORKERS_MAX;

/// The largest [`Tuning::private_tasks`], and the size of every worker's buffer.
pub const PRIVATE_TASKS_MAX: usize = 256;

/// The default [`Tuning::wake_threshold`]; unparking costs the caller about 4 µs.
pub const WAKE_ON_HOARD_THRESHOLD: u32 = 32;

/// Settings of an executor.
///
/// ```
/// use executor_core::{ExecutorConfig, OnPanic};
///
/// let config = ExecutorConfig::new(4).on_panic(OnPanic::Isolate);
/// assert!(config.validate().is_ok());
/// assert!(config.workers(0).validate().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutorConfig {
    /// Number of workers, 1 to [`WORKERS_MAX`]. Default 1.
    pub workers: usize,
    /// Cores that the workers run on, 1 or more. With fewer cores than workers, fewer workers
    /// search, and under [`TieredIdle`](crate::TieredIdle) only these spin before they park.
    /// Default `None`: as many as workers; on threads, as the host says.
    pub cores: Option<usize>,
    /// Seed of every worker's random numbers. Default `0x853c_49e6_748f_ea9b`.
    pub seed: u64,
    /// Whether each worker thread is pinned to its own core. Default [`Pin::Auto`].
    pub pin_threads: Pin,
    /// What happens when a task panics. Default [`OnPanic::Stop`].
    pub on_panic: OnPanic,
    /// Constants of the policy.
    pub tuning: Tuning,
}

/// Constants of the policy, with measured defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// Random victims that one search tries before the sweep over all. 1 to 1,024, default 4.
    pub steal_tries: u32,
    /// Failed searches before a searcher parks, adapted from ⅛ to 8 times this. 0 parks at once,
    /// except for a yield in each 16th round; [`ParkAtOnce`](crate::ParkAtOnce) never yields.
    /// Default 200.
    pub spin_iters: u32,
    /// Longest park before a worker looks for work again, if the idle hooks read it. Default
    /// `None`: until woken.
    pub park_timeout: Option<Duration>,
    /// Counts that a worker acquires from the state word at once. 1 to 65,536, default 64.
    pub credit_block: usize,
    /// Tasks after which a worker takes from the injector first, so that its own tasks cannot
    /// starve injected ones; fewer if they exceed 200 µs. 1 or more, default 255.
    pub fairness_interval: u32,
    /// Own short tasks that a worker's buffer holds while no worker is idle; further ones go into
    /// the overflow. 0 makes every spawned task public. At most [`PRIVATE_TASKS_MAX`], the default.
    pub private_tasks: usize,
    /// Tasks below this average time are short and may be private. Default 1 µs.
    pub short_task: Duration,
    /// Short tasks that a worker spawns or runs before it wakes a sleeper for its private ones;
    /// fewer, but at least 4, after a quick wake. 1 or more, default [`WAKE_ON_HOARD_THRESHOLD`].
    pub wake_threshold: u32,
}

/// What happens when a task panics.
///
/// A panic of a hook or during an abort stops the executor under either policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPanic {
    /// The executor closes, returns tasks that have not run, and throws the panic again in the
    /// joining thread.
    #[default]
    Stop,
    /// A handler gets the panic, and the executor goes on.
    Isolate,
}

/// Whether worker threads are pinned to cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Pin on Linux if the process may use every core, other executors of this process leave
    /// enough, and one remains for producers.
    #[default]
    Auto,
    /// Keep a worker to a core of its own while it is parked, so that it wakes there, and let it move
    /// while it runs. On Linux, if the process may use every core and other executors of this process
    /// leave enough; otherwise like [`Never`](Self::Never).
    WhileParked,
    /// Pin, and fail to build if a core is not available.
    Always,
    /// Leave placement to the operating system.
    Never,
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        Self {
            workers: 1,
            cores: None,
            seed: 0x853c_49e6_748f_ea9b,
            pin_threads: Pin::Auto,
            on_panic: OnPanic::Stop,
            tuning: Tuning::default(),
        }
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            steal_tries: 4,
            spin_iters: 200,
            park_timeout: None,
            credit_block: 64,
            fairness_interval: 255,
            private_tasks: PRIVATE_TASKS_MAX,
            short_task: Duration::from_micros(1),
            wake_threshold: WAKE_ON_HOARD_THRESHOLD,
        }
    }
}

impl ExecutorConfig {
    /// The default settings with `workers` workers.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self::default().workers(workers)
    }

    /// Sets the number of workers.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers;
        self
    }

    /// Sets the number of cores.
    #[must_use]
    pub fn cores(mut self, cores: impl Into<Option<usize>>) -> Self {
        self.cores = cores.into();
        self
    }

    /// Sets the seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets whether worker threads are pinned.
    #[must_use]
    pub fn pin_threads(mut self, pin_threads: Pin) -> Self {
        self.pin_threads = pin_threads;
        self
    }

    /// Sets what a task's panic does.
    #[must_use]
    pub fn on_panic(mut self, on_panic: OnPanic) -> Self {
        self.on_panic = on_panic;
        self
    }

    /// Changes constants of the policy.
    ///
    /// ```
    /// use executor_core::ExecutorConfig;
    ///
    /// let config = ExecutorConfig::new(2).tune(|tuning| tuning.spin_iters = 0);
    /// assert_eq!(config.tuning.spin_iters, 0);
    /// ```
    #[must_use]
    pub fn tune(mut self, change: impl FnOnce(&mut Tuning)) -> Self {
        change(&mut self.tuning);
        self
    }

    /// Most workers that search at a time: half of those that can run, at least one.
    #[must_use]
    pub fn searchers_max(&self) -> usize {
        let running = self.cores.map_or(self.workers, |cores| cores.min(self.workers));
        (running / 2).max(1)
    }

    /// Whether there are more workers than cores.
    #[must_use]
    pub fn is_crowded(&self) -> bool {
        self.cores.is_some_and(|cores| cores < self.workers)
    }

    /// Checks every field.
    ///
    /// # Errors
    ///
    /// Name, value and range of the first field that is out of its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::check("workers", self.workers as u64, 1, WORKERS_MAX as u64)?;
        if let Some(cores) = self.cores {
            ConfigError::check("cores", cores as u64, 1, u64::MAX)?;
        }
        ConfigError::check("steal_tries", u64::from(self.tuning.steal_tries), 1, 1024)?;
        ConfigError::check("credit_block", self.tuning.credit_block as u64, 1, 65_536)?;
        ConfigError::check(
            "fairness_interval",
            u64::from(self.tuning.fairness_interval),
            1,
            u64::from(u32::MAX),
        )?;
        ConfigError::check(
            "private_tasks",
            self.tuning.private_tasks as u64,
            0,
            PRIVATE_TASKS_MAX as u64,
        )?;
        ConfigError::check(
            "wake_threshold",
            u64::from(self.tuning.wake_threshold),
            1,
            u64::from(u32::MAX),
        )?;
        if self.tuning.park_timeout == Some(Duration::ZERO) {
            return Err(ConfigError {
                field: "park_timeout",
                value: 0,
                min: 1,
                max: u64::MAX,
            });
        }
        Ok(())
    }
}

/// A field of [`ExecutorConfig`] is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Name of the field.
    pub field: &'static str,
    /// Its value, in nanoseconds for a duration.
    pub value: u64,
    /// Smallest valid value.
    pub min: u64,
    /// Largest valid value.
    pub max: u64,
}

impl ConfigError {
    /// Checks that the value of `field` is from `min` to `max`, for settings around these as well.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn check(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), Self> {
        if (min..=max).contains(&value) {
            Ok(())
        } else {
            Err(Self {
                field,
                value,
                min,
                max,
            })
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            value,
            min,
            max,
        } = self;
        write!(f, "`{field}` is {value}, but must be at least {min}")?;
        if *max < u64::from(u32::MAX) {
            write!(f, " and at most {max}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_as_documented() {
        let config = ExecutorConfig::default();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(
            (
                config.workers,
                config.tuning.steal_tries,
                config.tuning.spin_iters
            ),
            (1, 4, 200)
        );
        assert_eq!(config.tuning.park_timeout, None);
    }

    #[test]
    fn half_of_those_that_can_run_at_the_same_time_may_search_and_fewer_cores_than_workers_are_a_crowd() {
        for (workers, cores, searchers, crowded) in [
            (1, None, 1, false),
            (9, None, 4, false),
            (9, Some(9), 4, false),
            (9, Some(64), 4, false),
            (9, Some(6), 3, true),
            (9, Some(1), 1, true),
        ] {
            let config = ExecutorConfig::new(workers).cores(cores);
            assert_eq!(
                (config.searchers_max(), config.is_crowded()),
                (searchers, crowded),
                "{workers} workers on {cores:?}"
            );
        }
    }

    #[test]
    fn a_message_names_the_upper_bound_where_it_could_have_been_passed_on_purpose() {
        let message = |config: ExecutorConfig| config.validate().expect_err("it is invalid").to_string();
        assert_eq!(
            message(ExecutorConfig::default().tune(|tuning| tuning.steal_tries = 2_000)),
            "`steal_tries` is 2000, but must be at least 1 and at most 1024"
        );
        assert_eq!(
            message(ExecutorConfig::default().tune(|tuning| tuning.fairness_interval = 0)),
            "`fairness_interval` is 0, but must be at least 1"
        );
    }

    #[test]
    fn each_bad_field_is_named_with_its_value() {
        let base = ExecutorConfig::default();
        let bad = [
            (base.clone().workers(0), "workers", 0),
            (base.clone().workers(usize::MAX), "workers", usize::MAX as u64),
            (
                base.clone().tune(|tuning| tuning.steal_tries = 0),
                "steal_tries",
                0,
            ),
            (
                base.clone().tune(|tuning| tuning.credit_block = 0),
                "credit_block",
                0,
            ),
            (
                base.clone().tune(|tuning| tuning.fairness_interval = 0),
                "fairness_interval",
                0,
            ),
            (
                base.tune(|tuning| tuning.park_timeout = Some(Duration::ZERO)),
                "park_timeout",
                0,
            ),
        ];
        for (config, field, value) in bad {
            let error = config.validate().expect_err(field);
            assert_eq!((error.field, error.value), (field, value));
            assert!(error.to_string().contains(field), "{error}");
        }
    }
}
