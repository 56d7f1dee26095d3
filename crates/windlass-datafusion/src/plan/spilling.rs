//! Spilled batches of a repartition: each has a file of its own.
//!
//! When memory is short, the inputs of a `RepartitionExec` write batches to files that they share,
//! one open file for each input that writes at the moment. The reader takes the files in their
//! order, and waits for the oldest while that is open. The batch that it needs may be in a newer
//! one, and the inputs wait until it has read that: the query never ends. DataFusion 55.2 has this
//! bug, a later one will not (<https://github.com/apache/datafusion/issues/24883>). A file that is
//! full after one batch is closed by its writer at once, so the reader waits for no other input.
//!
//! The limit is `datafusion.execution.max_spill_file_size_bytes`, which only repartitions read.

use datafusion_common::config::{ConfigNonZeroUsize, ConfigOptions};
use datafusion_execution::TaskContext;

/// Bytes after which a file is full. Any batch is longer.
const FILE_BYTES: usize = 1;

pub(crate) fn one_batch_a_file(options: &mut ConfigOptions) {
    let bytes = ConfigNonZeroUsize::try_new(FILE_BYTES).expect("not zero");
    options.execution.max_spill_file_size_bytes = bytes;
}

pub(super) fn is_one_batch_a_file(context: &TaskContext) -> bool {
    let options = context.session_config().options();
    options.execution.max_spill_file_size_bytes.get() <= FILE_BYTES
}
