//! Settings of a scan are plain data, with defaults that `validate` accepts.

use std::path::PathBuf;

use executor_core::{ConfigError, ExecutorConfig};
use executor_threaded::{HostError, for_host};

use crate::rules::RuleConfig;

/// Bytes of a chunk, where nothing else is asked for.
pub const CHUNK_SIZE: usize = 256 << 10;

/// Settings of a scan of a directory.
///
/// ```
/// use scan::ParallelScanConfig;
///
/// let config = ParallelScanConfig { workers: 2, ..ParallelScanConfig::default() };
/// assert!(config.validate().is_ok());
/// let error = ParallelScanConfig { chunk_size: 8, ..config }.validate().unwrap_err();
/// assert_eq!(error.field, "chunk_size");
/// ```
#[derive(Clone, Debug)]
pub struct ParallelScanConfig {
    /// Number of workers. Default: as [`for_host`] says.
    pub workers: usize,
    /// Bytes of a chunk, 16 to 1 MiB, best a multiple of 4,096. Default 256 KiB. Files of more than
    /// 8 MiB are cut into chunks of four times that, at most 1 MiB.
    pub chunk_size: usize,
    /// Buffers of one chunk each, at least one a worker. Default four times `workers`.
    pub pool_buffers: usize,
    /// Objects that are discovered and not yet reported, besides the names that each worker has in
    /// hand, at most 64. Default 1,024.
    pub max_in_flight_objects: usize,
    /// Seed of the workers' random numbers. Default `0x853c_49e6_748f_ea9b`.
    pub seed: u64,
    /// Whether links stand for what they point to. Default `false`.
    pub follow_symlinks: bool,
    /// Whether names that begin with a dot are left out. Default `true`.
    pub skip_hidden: bool,
    /// Whether ignore files are read. Default `true`.
    pub respect_gitignore: bool,
    /// Files with more bytes are skipped, and reported so, unless the caller named them. Default:
    /// none.
    pub max_file_size: Option<u64>,
    /// The rest of the rules that leave files out.
    pub rules: RuleConfig,
    /// Whether bytes come out by path: in each directory by the bytes of names. Default `false`.
    pub sort: bool,
    /// Whether the path `-` is the standard input, reported as `<stdin>`. It may be named once.
    /// Default `false`.
    pub dash_is_stdin: bool,
    /// Whether files are only named, and not opened. Default `false`.
    pub names_only: bool,
    /// Whether files that begin with a byte order mark are read as what it says. Default `true`.
    pub encodings: bool,
    /// Bytes of outputs that are ready too early and kept in memory. Default 16 MiB.
    pub kept_bytes_max: usize,
    /// Files that are open at a time. Default 256.
    pub open_files_max: usize,
    /// Where outputs go for which memory is no place. Default: the system's folder for such.
    pub temporary: Option<PathBuf>,
}

/// Settings of a scan of a caller's own files: those of [`ParallelScanConfig`] that do not concern
/// directories.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    /// See [`ParallelScanConfig::workers`].
    pub workers: usize,
    /// See [`ParallelScanConfig::chunk_size`].
    pub chunk_size: usize,
    /// See [`ParallelScanConfig::pool_buffers`].
    pub pool_buffers: usize,
    /// See [`ParallelScanConfig::max_in_flight_objects`].
    pub max_in_flight_objects: usize,
    /// See [`ParallelScanConfig::seed`].
    pub seed: u64,
    /// Files with more bytes are skipped, and reported so.
    pub max_file_size: Option<u64>,
    /// Whether bytes come out in the order of the files.
    pub sort: bool,
    /// See [`ParallelScanConfig::dash_is_stdin`].
    pub dash_is_stdin: bool,
    /// See [`ParallelScanConfig::names_only`].
    pub names_only: bool,
    /// See [`ParallelScanConfig::encodings`].
    pub encodings: bool,
    /// See [`ParallelScanConfig::kept_bytes_max`].
    pub kept_bytes_max: usize,
    /// See [`ParallelScanConfig::open_files_max`].
    pub open_files_max: usize,
    /// See [`ParallelScanConfig::temporary`].
    pub temporary: Option<PathBuf>,
}

impl ParallelScanConfig {
    /// The defaults on this machine.
    ///
    /// # Errors
    ///
    /// If the environment's number of workers is none.
    pub fn for_host() -> Result<Self, HostError> {
        Ok(Self::with_workers(for_host()?.workers))
    }

    /// The defaults with `workers` workers.
    #[must_use]
    pub fn with_workers(workers: usize) -> Self {
        Self {
            workers,
            chunk_size: CHUNK_SIZE,
            pool_buffers: workers.saturating_mul(4),
            max_in_flight_objects: 1_024,
            seed: ExecutorConfig::default().seed,
            follow_symlinks: false,
            skip_hidden: true,
            respect_gitignore: true,
            max_file_size: None,
            rules: RuleConfig::default(),
            sort: false,
            dash_is_stdin: false,
            names_only: false,
            encodings: true,
            kept_bytes_max: 16 << 20,
            open_files_max: 256,
            temporary: None,
        }
    }

    /// The part that does not concern directories.
    #[must_use]
    pub fn to_local_config(&self) -> LocalConfig {
        LocalConfig {
            workers: self.workers,
            chunk_size: self.chunk_size,
            pool_buffers: self.pool_buffers,
            max_in_flight_objects: self.max_in_flight_objects,
            seed: self.seed,
            max_file_size: self.max_file_size,
            sort: self.sort,
            dash_is_stdin: self.dash_is_stdin,
            names_only: self.names_only,
            encodings: self.encodings,
            kept_bytes_max: self.kept_bytes_max,
            open_files_max: self.open_files_max,
            temporary: self.temporary.clone(),
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    ///
    /// Name, value and range of the first field that is out of its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.to_local_config().validate()
    }
}

impl Default for ParallelScanConfig {
    /// The defaults on this machine; with one worker where the environment's number is none.
    fn default() -> Self {
        Self::with_workers(for_host().map_or(1, |config| config.workers))
    }
}

impl LocalConfig {
    /// The executor's settings.
    #[must_use]
    pub fn to_executor_config(&self) -> ExecutorConfig {
        ExecutorConfig::new(self.workers).seed(self.seed)
    }

    /// Checks every field.
    ///
    /// # Errors
    ///
    /// Name, value and range of the first field that is out of its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.to_executor_config().validate()?;
        let chunk = self.chunk_size as u64;
        ConfigError::check("chunk_size", chunk, 16, 1 << 20)?;
        let workers = self.workers as u64;
        ConfigError::check("pool_buffers", self.pool_buffers as u64, workers, u64::MAX)?;
        let in_flight = self.max_in_flight_objects as u64;
        ConfigError::check("max_in_flight_objects", in_flight, 1, u64::MAX)?;
        ConfigError::check("open_files_max", self.open_files_max as u64, 1, u64::MAX)
    }
}

impl From<&ParallelScanConfig> for LocalConfig {
    fn from(config: &ParallelScanConfig) -> Self {
        config.to_local_config()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_that_are_documented() {
        let config = ParallelScanConfig::with_workers(3);
        assert_eq!(config.validate(), Ok(()));
        assert_eq!((config.chunk_size, config.pool_buffers), (262_144, 12));
        assert_eq!(
            (config.max_in_flight_objects, config.seed),
            (1_024, 0x853c_49e6_748f_ea9b)
        );
        assert!(!config.follow_symlinks && config.skip_hidden && config.respect_gitignore);
        assert_eq!(config.max_file_size, None);
    }

    #[test]
    fn each_bad_field_is_named() {
        let base = ParallelScanConfig::with_workers(2);
        for (config, field) in [
            (
                ParallelScanConfig {
                    workers: 0,
                    ..base.clone()
                },
                "workers",
            ),
            (
                ParallelScanConfig {
                    chunk_size: 0,
                    ..base.clone()
                },
                "chunk_size",
            ),
            (
                ParallelScanConfig {
                    chunk_size: 2 << 20,
                    ..base.clone()
                },
                "chunk_size",
            ),
            (
                ParallelScanConfig {
                    pool_buffers: 1,
                    ..base.clone()
                },
                "pool_buffers",
            ),
            (
                ParallelScanConfig {
                    max_in_flight_objects: 0,
                    ..base.clone()
                },
                "max_in_flight_objects",
            ),
            (
                ParallelScanConfig {
                    open_files_max: 0,
                    ..base
                },
                "open_files_max",
            ),
        ] {
            assert_eq!(config.validate().expect_err(field).field, field);
        }
    }
}
