//! The builder of the pools, and its checks.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use executor_threaded::for_host;
use pipeline_exec::PipelineExecutor;
use tokio::runtime::Handle;

use crate::cpu::state::{CpuConfig, CpuState};
use crate::error::ConfigError;
use crate::inner::Inner;
use crate::maintenance::state::{MaintenanceConfig, MaintenanceState};
use crate::mixed::state::{MixedConfig, MixedState};
use crate::pools::Pools;

const THREADS_MAX: usize = 32_767;

/// What a pipeline executor admits.
const QUEUE_MAX: usize = 1 << 24;

const NICE_MAX: u8 = 19;

/// Sets up [`Pools`]. Each pool starts at its first use.
///
/// ```
/// use std::time::Duration;
/// use pools::Pools;
///
/// let pools = Pools::builder()
///     .name("server")
///     .cpu_threads(2)
///     .mixed_threads(1)
///     .blocking_max(64)
///     .maintenance_keep_alive(Duration::from_secs(1))
///     .build()?;
/// # Ok::<(), pools::ConfigError>(())
/// ```
#[derive(Debug)]
#[must_use = "`build` makes the pools"]
pub struct PoolsBuilder {
    name: String,
    cpu_threads: Option<usize>,
    cpu_spares: Option<usize>,
    cpu_nice: u8,
    cpu_stack_size: Option<usize>,
    cpu_queue_capacity: Option<usize>,
    cpu_executor: Option<PipelineExecutor>,
    mixed_threads: usize,
    blocking_max: usize,
    runtime: Option<Handle>,
    maintenance_threads_max: usize,
    maintenance_keep_alive: Duration,
}

impl Pools {
    /// Returns the process's pools, with the defaults; they are never dropped. If
    /// `WINDLASS_WORKERS` is invalid, CPU tasks return
    /// [`CpuError::Unavailable`](crate::CpuError::Unavailable).
    #[must_use]
    pub fn global() -> &'static Self {
        static GLOBAL: OnceLock<Pools> = OnceLock::new();
        GLOBAL.get_or_init(|| PoolsBuilder::default().build_unchecked())
    }

    /// Starts a builder with the defaults.
    pub fn builder() -> PoolsBuilder {
        PoolsBuilder::default()
    }

    /// Makes pools by [`PoolsBuilder::cpu_executor`].
    ///
    /// ```
    /// use pipeline_exec::PipelineExecutor;
    /// use pools::Pools;
    ///
    /// let executor = PipelineExecutor::new(2)?;
    /// let jobs = executor.handle();
    /// let pools = Pools::from_executor(executor);
    /// assert_eq!(pools.cpu().run(|_cx| 1).wait()?, 1);
    /// assert_eq!(jobs.snapshot().jobs.submitted, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from_executor(executor: PipelineExecutor) -> Self {
        PoolsBuilder::default().cpu_executor(executor).build_unchecked()
    }
}

impl Default for PoolsBuilder {
    fn default() -> Self {
        Self {
            name: "windlass".to_owned(),
            cpu_threads: None,
            cpu_spares: None,
            cpu_nice: 0,
            cpu_stack_size: None,
            cpu_queue_capacity: None,
            cpu_executor: None,
            mixed_threads: 2,
            blocking_max: 512,
            runtime: None,
            maintenance_threads_max: 4,
            maintenance_keep_alive: Duration::from_secs(10),
        }
    }
}

impl PoolsBuilder {
    /// Prefix of thread names, as in `{name}-cpu-0`. Default `windlass`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Number of CPU workers. Default: `WINDLASS_WORKERS`, or one per core.
    pub fn cpu_threads(mut self, threads: usize) -> Self {
        self.cpu_threads = Some(threads);
        self
    }

    /// Largest number of [spare threads](pipeline_exec::PipelineExecutorBuilder::spares) of the CPU
    /// pool. Default: one per worker.
    pub fn cpu_spares(mut self, spares: usize) -> Self {
        self.cpu_spares = Some(spares);
        self
    }

    /// Niceness of CPU workers, 0 (default) to 19: threads that wake for I/O then get a core
    /// sooner. Linux only.
    pub fn cpu_nice(mut self, nice: u8) -> Self {
        self.cpu_nice = nice;
        self
    }

    /// Bytes of a CPU worker's stack, default 2 MiB. Nested waits go deep.
    pub fn cpu_stack_size(mut self, bytes: usize) -> Self {
        self.cpu_stack_size = Some(bytes);
        self
    }

    /// Largest number of CPU jobs that wait and run at once, default 65,536.
    pub fn cpu_queue_capacity(mut self, jobs: usize) -> Self {
        self.cpu_queue_capacity = Some(jobs);
        self
    }

    /// Runs CPU work on `executor`, which ends with the pools. The other CPU settings do not apply.
    pub fn cpu_executor(mut self, executor: PipelineExecutor) -> Self {
        self.cpu_executor = Some(executor);
        self
    }

    /// Number of threads that poll async tasks, default 2.
    pub fn mixed_threads(mut self, threads: usize) -> Self {
        self.mixed_threads = threads;
        self
    }

    /// Largest number of blocking calls at once, default 512; a foreign [runtime](Self::runtime)
    /// has its own.
    pub fn blocking_max(mut self, threads: usize) -> Self {
        self.blocking_max = threads;
        self
    }

    /// Runs mixed work on this runtime, which outlives the pools. A current-thread runtime runs
    /// tasks only while a thread blocks on it.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Largest number of maintenance threads, default 4.
    pub fn maintenance_threads_max(mut self, threads: usize) -> Self {
        self.maintenance_threads_max = threads;
        self
    }

    /// Time that an idle maintenance thread stays, default 10 seconds.
    pub fn maintenance_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.maintenance_keep_alive = keep_alive;
        self
    }

    /// Builds the pools.
    ///
    /// # Errors
    ///
    /// If a number is out of range, the name contains a NUL, or `WINDLASS_WORKERS` is needed and
    /// invalid.
    pub fn build(self) -> Result<Pools, ConfigError> {
        if self.name.contains('\0') {
            return Err(ConfigError::NulInName { name: self.name });
        }
        within("mixed_threads", self.mixed_threads, 1, THREADS_MAX)?;
        within("blocking_max", self.blocking_max, 1, THREADS_MAX)?;
        within(
            "maintenance_threads_max",
            self.maintenance_threads_max,
            1,
            THREADS_MAX,
        )?;
        if let Some(jobs) = self.cpu_queue_capacity {
            within("cpu_queue_capacity", jobs, 1, QUEUE_MAX)?;
        }
        within("cpu_nice", usize::from(self.cpu_nice), 0, usize::from(NICE_MAX))?;
        match self.cpu_threads {
            Some(threads) => within("cpu_threads", threads, 1, THREADS_MAX)?,
            None if self.cpu_executor.is_none() => {
                for_host()?;
            }
            None => {}
        }
        Ok(self.build_unchecked())
    }

    fn build_unchecked(self) -> Pools {
        let Self {
            name,
            cpu_threads,
            cpu_spares,
            cpu_nice,
            cpu_stack_size,
            cpu_queue_capacity,
            cpu_executor,
            mixed_threads,
            blocking_max,
            runtime,
            maintenance_threads_max,
            maintenance_keep_alive,
        } = self;
        let mixed = MixedConfig {
            threads: mixed_threads,
            blocking_max,
            name: name.clone(),
            foreign: runtime,
        };
        let cpu = CpuConfig {
            threads: cpu_threads,
            spares: cpu_spares,
            nice: cpu_nice,
            stack_size: cpu_stack_size,
            queue_capacity: cpu_queue_capacity,
            name: name.clone(),
        };
        let maintenance = MaintenanceConfig {
            threads_max: maintenance_threads_max,
            keep_alive: maintenance_keep_alive,
            name: format!("{name}-maintenance"),
        };
        let clock = MaintenanceConfig {
            threads_max: 1,
            keep_alive: maintenance_keep_alive,
            name: format!("{name}-clock"),
        };
        Pools {
            inner: Arc::new(Inner {
                mixed: MixedState::new(mixed),
                cpu: CpuState::new(cpu, cpu_executor),
                maintenance: MaintenanceState::new(maintenance),
                clock: MaintenanceState::new(clock),
            }),
        }
    }
}

fn within(setting: &'static str, value: usize, min: usize, max: usize) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::OutOfRange {
        setting,
        value,
        min,
        max,
    })
}
