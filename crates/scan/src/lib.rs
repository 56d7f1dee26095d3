#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod cancel;
pub mod config;
pub mod encoding;
pub mod engine;
pub mod files;
#[doc(hidden)]
pub mod machine;
pub mod object;
pub mod output;
pub mod pattern;
pub mod print;
mod progress;
pub mod report;
pub mod rules;
mod scan;
mod sink;

pub use cancel::CancelToken;
pub use config::{LocalConfig, ParallelScanConfig};
pub use executor_core::ConfigError;
/// For globs and types of files in [`RuleConfig`].
pub use ignore;
pub use machine::{FileSource, FileTask, LocalScratch};
pub use progress::Progress;
pub use rules::RuleConfig;
pub use scan::{
    ScanError, parallel_scan_dir, parallel_scan_paths, process_file, scan_local, scan_local_with_progress,
};
pub use sink::Sink;
