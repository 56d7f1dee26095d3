//! Tables from outside: Parquet, CSV and generated TPC-H data.
//!
//! ```text
//!   a path, a URL ──► open ──┬── Parquet: a file, or a folder of files with the same columns ([`ParquetTable`])
//!                            └── CSV: one file, its types inferred from every value           ([`CsvTable`])
//!   a scale factor ──────► generated rows, in memory where loaded                      ([`TpchTable`])
//! ```
//!
//! All three are [`TableSource`]s: they say where morsels begin from the data alone, hand out only the columns
//! that a query reads, and name the file and the place in every error. What takes long while opening (looking
//! at every value of a CSV file, generating data) is itself a job, so it runs on all cores, has a progress
//! bar and can be cancelled: see [`JobRunner`].
//!
//! The first two are [stored](columnar::StoredTable): their bytes lie in a [`ByteSource`], a file or an object of a store, and are read before a
//! morsel is opened. By URL, `file://` and `http://`, they come with the feature `object-store`.
//!
//! No table is written, and nothing is guessed silently: a value that cannot be read is an error, never NULL.

pub(crate) mod byte_source;
pub mod csv;
#[cfg(feature = "object-store")]
mod object;
pub mod parquet;
mod ready_columns;
mod runner;
pub mod tpch;

use std::path::Path;
use std::sync::Arc;

use columnar::{ReadError, TableSource};

use self::byte_source::SharedSource;
pub use self::byte_source::{AwaitedSource, ByteSource, LocalFile, MemoryBytes, Reading};
pub use self::csv::CsvTable;
#[cfg(feature = "object-store")]
pub use self::object::{Patience, open_object, open_url};
pub use self::parquet::{ParquetTable, silence_reader_panics};
pub use self::runner::JobRunner;
pub use self::tpch::{ScaleFactor, ScaleFactorError, TpchTable, TpchTableKind};

use crate::QueryError;

/// Opens the file or folder at `path`, which may be a URL, as the table `name`. It blocks.
///
/// A folder is a Parquet table. A file is Parquet if it begins like one or is called `.parquet`, `.parq` or `.pq`, and CSV if it is
/// called `.csv`, `.tsv` or `.txt`.
///
/// # Errors
///
/// [`QueryError::Read`] with the path when there is nothing to read, the file is neither format, or is broken;
/// what `runner` fails with.
///
/// # Examples
///
/// ```
/// use query::pipeline_exec::PipelineExecutor;
/// use query::source;
///
/// let path = std::env::temp_dir().join(format!("windlass-doc-{}.csv", std::process::id()));
/// std::fs::write(&path, "city,inhabitants\nUlm,128928\n\"Freiburg, Breisgau\",NA\n")?;
/// let table = source::open("cities", &path, &PipelineExecutor::new(2)?)?;
/// assert_eq!(table.schema().field(1).data_type(), &arrow::datatypes::DataType::Int64);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(
    name: &str,
    path: impl AsRef<Path>,
    runner: &impl JobRunner,
) -> Result<Arc<dyn TableSource>, QueryError> {
    let path = path.as_ref();
    if let Some(url) = path.to_str().filter(|text| is_url(text)) {
        #[cfg(feature = "object-store")]
        return open_url(name, url, Patience::default(), runner);
        #[cfg(not(feature = "object-store"))]
        return Err(ReadError::new(url, "this program was built without tables by URL").into());
    }
    let origin = || path.display().to_string();
    let metadata = std::fs::metadata(path).map_err(|error| ReadError::new(origin(), error))?;
    if metadata.is_dir() {
        return Ok(Arc::new(ParquetTable::open(name, path)?));
    }
    open_source(name, Arc::new(LocalFile::open(path)?), extension(path), runner)
}

/// Whether this is a URL and no path. Which kinds of them a table can have is for `open_url` to say.
fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|one| one.is_ascii_alphanumeric() || matches!(one, '+' | '-' | '.'))
    })
}

/// Opens one file of bytes that lie anywhere, whose name ends in `extension`, as [`open`] says.
fn open_source(
    name: &str,
    source: SharedSource,
    extension: String,
    runner: &impl JobRunner,
) -> Result<Arc<dyn TableSource>, QueryError> {
    match format_of(source.as_ref(), &extension)? {
        Format::Parquet => Ok(Arc::new(ParquetTable::of(name, [Ok(source)])?)),
        Format::Csv => Ok(Arc::new(CsvTable::of(name, source, runner)?)),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Csv,
}

/// What the name of a file ends in, in small letters, if anything.
fn extension(path: &Path) -> String {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.unwrap_or("").to_ascii_lowercase()
}

/// Whether a file of this name is Parquet.
fn is_parquet_name(path: &Path) -> bool {
    matches!(extension(path).as_str(), "parquet" | "parq" | "pq")
}

fn format_of(source: &dyn ByteSource, extension: &str) -> Result<Format, ReadError> {
    match extension {
        "parquet" | "parq" | "pq" => Ok(Format::Parquet),
        _ if parquet::begins_like_parquet(&byte_source::head(source)?) => Ok(Format::Parquet),
        "csv" | "tsv" | "txt" => Ok(Format::Csv),
        _ => Err(ReadError::new(
            source.origin(),
            "cannot tell what this is: it does not begin like Parquet and is not called .csv, .tsv or .txt",
        )),
    }
}
