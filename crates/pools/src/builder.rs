//! Building pools: numbers of threads, names, and what they are built on; checked before anything starts.

use std::sync::Arc;
use std::time::Duration;

use executor_threaded::for_host;
use pipeline_exec::PipelineExecutor;
use tokio::runtime::Handle;

use crate::cpu::{CpuConfig, CpuState};
use crate::error::ConfigError;
use crate::maintenance::{MaintenanceConfig, MaintenanceState};
use crate::mixed::{MixedConfig, MixedState};
use crate::pools::{Inner, Pools};

/// The most threads that a pool may be asked for.
const THREADS_MAX: usize = 32_767;

/// The most jobs that a pipeline executor admits.
const QUEUE_MAX: usize = 1 << 24;

/// The least urgent that a thread can be.
const NICE_MAX: u8 = 19;

/// Sets up [`Pools`]. Nothing starts before it is used.
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
    /// Threads are named after it: `{name}-cpu-0`, `{name}-mixed-0`, `{name}-maintenance-0`. Default `windlass`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Number of CPU workers. By default one for each core that this process may use, or as many as `WINDLASS_WORKERS` says.
    pub fn cpu_threads(mut self, threads: usize) -> Self {
        self.cpu_threads = Some(threads);
        self
    }

    /// Number of spare threads of the CPU pool, at most and by default one for each worker. While every worker is in a long
    /// computation or a long poll, a spare thread takes young work, and the operating system shares the cores:
    /// [`PipelineBuilder::spares`](pipeline_exec::PipelineBuilder::spares). With 0 young work waits for the first of them to end.
    pub fn cpu_spares(mut self, spares: usize) -> Self {
        self.cpu_spares = Some(spares);
        self
    }

    /// How much less urgent CPU workers are than the process's other threads, from 0, the default, to 19: what `nice` says on Linux; elsewhere nothing happens.
    ///
    /// Where CPU workers keep all cores busy, this lets a thread that wakes for I/O have one sooner, if the kernel does not do so in any case;
    /// recent ones do. Another process that wants the cores gets them as well.
    pub fn cpu_nice(mut self, nice: u8) -> Self {
        self.cpu_nice = nice;
        self
    }

    /// Bytes of each CPU worker's stack, by default 2 MiB. CPU tasks that wait for parts of their own go deeper with each wait inside another.
    pub fn cpu_stack_size(mut self, bytes: usize) -> Self {
        self.cpu_stack_size = Some(bytes);
        self
    }

    /// How many CPU jobs may wait and run at the same time, by default 65,536.
    pub fn cpu_queue_capacity(mut self, jobs: usize) -> Self {
        self.cpu_queue_capacity = Some(jobs);
        self
    }

    /// CPU work runs on `executor`, beside the jobs that it has, and not on workers of the pools' own. It ends with the pools. The other settings of the
    /// CPU pool are for workers of its own.
    pub fn cpu_executor(mut self, executor: PipelineExecutor) -> Self {
        self.cpu_executor = Some(executor);
        self
    }

    /// Threads that poll async tasks, by default 2: they park most of the time.
    pub fn mixed_threads(mut self, threads: usize) -> Self {
        self.mixed_threads = threads;
        self
    }

    /// How many blocking calls may run at the same time; more of them queue. Default 512. Somebody else's [runtime](Self::runtime) has a limit
    /// of its own, and this is what queues are judged by.
    pub fn blocking_max(mut self, threads: usize) -> Self {
        self.blocking_max = threads;
        self
    }

    /// Mixed work runs on this runtime, of either flavour, and not on one of the pools' own. Tasks on a runtime of one thread go on while somebody
    /// blocks on it. It does not end with the pools.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// The most threads that maintenance may have, by default 4.
    pub fn maintenance_threads_max(mut self, threads: usize) -> Self {
        self.maintenance_threads_max = threads;
        self
    }

    /// How long a maintenance thread without work stays, by default 10 seconds.
    pub fn maintenance_keep_alive(mut self, keep_alive: Duration) -> Self {
        self.maintenance_keep_alive = keep_alive;
        self
    }

    /// Makes the pools.
    ///
    /// # Errors
    ///
    /// When a number is out of its range, no thread can have the name, or `WINDLASS_WORKERS` is none and nothing else says how many CPU workers
    /// there are.
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

    /// The same for settings that are known to be in range. What the environment says is read when the CPU pool is first used.
    pub(crate) fn build_unchecked(self) -> Pools {
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
            name,
        };
        Pools {
            inner: Arc::new(Inner {
                mixed: MixedState::new(mixed),
                cpu: CpuState::new(cpu, cpu_executor),
                maintenance: MaintenanceState::new(maintenance),
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
