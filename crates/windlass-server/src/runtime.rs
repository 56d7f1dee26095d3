//! Memory and disk, as DataFusion's operators have them in every session of this process.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

/// Operators that are named when memory is short.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// Where statements put what does not fit into memory.
#[derive(Clone, Debug)]
pub struct Spill {
    /// The server's own folder.
    pub folder: PathBuf,
    /// Bytes of all files in it.
    pub bytes_max: u64,
}

/// The memory of all statements together.
pub(crate) fn memory(bytes: usize) -> Arc<dyn MemoryPool> {
    Arc::new(TrackConsumersPool::new(
        FairSpillPool::new(bytes),
        NAMED_CONSUMERS,
    ))
}

pub(crate) fn runtime(spill: Option<&Spill>, memory: Arc<dyn MemoryPool>) -> anyhow::Result<Arc<RuntimeEnv>> {
    let disk = match spill {
        None => DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled),
        Some(spill) => DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![spill.folder.clone()]))
            .with_max_temp_directory_size(spill.bytes_max),
    };
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(memory)
        .with_disk_manager_builder(disk);
    Ok(runtime.build_arc()?)
}
