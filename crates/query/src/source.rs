//! Opens tables: Parquet, CSV and generated TPC-H data.
//!
//! ```text
//!   a path, a URL ──► open ──┬── Parquet: a file, or a folder of files with the same columns ([`ParquetTable`])
//!                            └── CSV: one file, its types inferred from every value           ([`CsvTable`])
//!   a scale factor ──────► generated rows, in memory where loaded                      ([`TpchTable`])
//! ```
//!
//! All three are [`TableSource`]s: morsels depend on the data alone, only the columns that a query
//! reads are made, and every error names the file and the place. A value that cannot be read is an
//! error, never NULL.
//!
//! Parquet and CSV tables are [stored](columnar::StoredTable): a [`ByteSource`], a file or an
//! object, is read before a morsel is opened. The feature `object-store` adds tables by URL.

pub(crate) mod byte_source;
pub mod csv;
mod file_name;
mod format;
#[cfg(feature = "object-store")]
mod object;
mod opening;
pub mod parquet;
mod ready_columns;
pub mod tpch;

use std::path::Path;
use std::sync::Arc;

use columnar::{ReadError, TableSource};

pub use self::byte_source::{AwaitedSource, ByteSource, LocalFile, MemoryBytes, Reading};
pub use self::csv::CsvTable;
#[cfg(feature = "object-store")]
pub use self::object::{Patience, open_object, open_url};
pub use self::parquet::{ParquetTable, is_reading_damaged};
pub use self::tpch::{ScaleFactor, ScaleFactorError, TpchTable, TpchTableKind};

use self::file_name::extension;
use self::format::open_source;
use self::opening::Opening;
use crate::error::QueryError;
use crate::work::Work;

/// Opens the file, folder or URL at `path` as the table `name`, and blocks.
///
/// A folder is a Parquet table. A file is Parquet if it begins like one or ends in `.parquet`,
/// `.parq` or `.pq`, and CSV if it ends in `.csv`, `.tsv` or `.txt`.
///
/// # Errors
///
/// [`QueryError::Read`] with the path when the file is missing, broken, or of no known format, or
/// the error that stopped `work`.
///
/// # Examples
///
/// ```
/// use query::pipeline_exec::PipelineExecutor;
/// use query::{Work, source};
///
/// let path = std::env::temp_dir().join(format!("windlass-doc-{}.csv", std::process::id()));
/// std::fs::write(&path, "city,inhabitants\nUlm,128928\n\"Freiburg, Breisgau\",NA\n")?;
/// let table = source::open("cities", &path, &Work::from(PipelineExecutor::new(2)?))?;
/// assert_eq!(table.schema().field(1).data_type(), &arrow::datatypes::DataType::Int64);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(name: &str, path: impl AsRef<Path>, work: &Work) -> Result<Arc<dyn TableSource>, QueryError> {
    let path = path.as_ref();
    if let Some(url) = path.to_str().filter(|text| is_url(text)) {
        #[cfg(feature = "object-store")]
        return open_url(name, url, Patience::default(), work);
        #[cfg(not(feature = "object-store"))]
        return Err(ReadError::new(url, "this program was built without tables by URL").into());
    }
    let origin = || path.display().to_string();
    let opening = Opening::of(work)?;
    let metadata = std::fs::metadata(path).map_err(|error| ReadError::new(origin(), error))?;
    if metadata.is_dir() {
        let files = parquet::files_of(path)?;
        let sources = files.iter().map(|path| Ok(LocalFile::shared(path)?));
        return Ok(Arc::new(ParquetTable::of(name, sources, &opening)?));
    }
    open_source(name, LocalFile::shared(path)?, extension(path), &opening)
}

fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || matches!(one, '+' | '-' | '.'))
    })
}
