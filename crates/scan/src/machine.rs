//! The machinery: tasks, what they share, and what bounds them. Hidden from users of the crate; its
//! tests run it in the simulator.
//!
//! ```text
//!   cursor ─► batch of names ─► object ─► small file ──────────────► output ─► window ─► sink
//!     ▲          (permits)         │                                    ▲
//!     └ put back first             └► large file: chunks ─► fold ───────┘
//!                                      claimed, in a window   in order
//! ```
//!
//! By path, tasks wait in one `queue` instead of the workers' own.

mod batch;
mod block;
mod by_reference;
mod chunked;
mod chunks;
mod counters;
mod directory;
mod emit;
mod file;
mod kept;
mod lines;
mod long_line;
mod order;
mod queue;
mod run;
mod scratch;
mod source;
mod standard_input;
mod task;
mod text;
mod window;

pub use batch::{Batch, Dir, Discovered};
pub use block::Block;
pub use chunked::Chunked;
pub use counters::{Counters, Gauge};
pub use directory::Cursor;
pub use run::{Context, Machine};
pub use scratch::LocalScratch;
pub use source::{FileSource, FileTask, SourceCursor};
pub use task::Task;
