//! The interface between a table and the steps that run over it: morsels of columns, read one by
//! one.
//!
//! ```text
//!   table ──► morsel 0  rows 0 .. 65,536        a slot of a stage runs a morsel or a part of one
//!             morsel 1  rows 65,536 .. 131,072
//!             ...
//!   open(morsel, projection) ──► reader ──► column(2)   read when a step first needs it,
//!                                      ──► column(5)   never, if no row survived until then
//! ```
//!
//! A morsel is a row group of a file or a part of one, or a fixed number of rows in memory.

mod codes;
mod fetched;
mod memory;
mod read_error;
mod source;
mod statistics;
mod texts;

pub use codes::Codes;
pub(crate) use codes::{Code, by_width};
pub use fetched::{Fetched, Fetching};
pub use memory::{MORSEL_ROWS, MemoryTable};
pub use read_error::ReadError;
pub use source::{Held, MorselReader, StoredTable, TableSource};
pub use statistics::ColumnStatistics;
pub use texts::{PassingTexts, SpacedTexts, TextCondition};
