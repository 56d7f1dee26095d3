//! Tables by URL: objects of a store, read through the mixed pool.
//!
//! ```text
//!   file:///data/trips.parquet        ──► LocalFileSystem ┐
//!   http://127.0.0.1:8080/trips.csv   ──► HttpStore       ├──► ObjectBytes: length, ranges ──► the same tables as of files
//!   any other store, given by hand    ──► dyn ObjectStore ┘
//! ```
//!
//! Near ranges of a morsel become one request, and its requests run at once. An open object that
//! changes is an error if the store tags versions.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use columnar::{ReadError, TableSource};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use object_store::{Error as StoreError, GetOptions, ObjectStore, ObjectStoreExt, coalesce_ranges};
use pools::MixedPool;
use url::Url;

pub use http_store::Patience;
use http_store::{HttpClient, HttpStore};

use super::byte_source::{AwaitedSource, ByteSource, Reading, SharedSource};
use super::file_name::{extension, is_parquet_name};
use super::format::open_source;
use super::opening::Opening;
use super::parquet::ParquetTable;
use crate::error::QueryError;
use crate::work::Work;

/// A request costs more than a gap of this length.
const GAP_BYTES: u64 = 32 << 10;
/// Requests at most that `coalesce_ranges` makes at once.
const PARALLEL_MAX: usize = 10;

/// Opens `url`, of scheme `file` or `http`, as the table `name`: an object as for
/// [`open`](super::open), or by `file://` a folder of Parquet files.
///
/// ```
/// use query::pipeline_exec::PipelineExecutor;
/// use query::Work;
/// use query::source::{Patience, open_url};
///
/// let path = std::env::temp_dir().join(format!("windlass-url-{}.csv", std::process::id()));
/// std::fs::write(&path, "city,inhabitants\nUlm,128928\n")?;
/// let url = format!("file://{}", path.display());
/// let work = Work::from(PipelineExecutor::new(2)?);
/// let cities = open_url("cities", &url, Patience::default(), &work)?;
/// assert_eq!(cities.schema().field(1).data_type(), &arrow::datatypes::DataType::Int64);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`QueryError::Read`] with the URL if it is malformed, of another scheme or missing, or the store
/// fails; why `work` stops.
pub fn open_url(
    name: &str,
    url: &str,
    patience: Patience,
    work: &Work,
) -> Result<Arc<dyn TableSource>, QueryError> {
    let fail = |message: String| QueryError::from(ReadError::new(url, message));
    let parsed = Url::parse(url).map_err(|error| fail(format!("this is no URL: {error}")))?;
    if parsed.query().is_some() || !parsed.username().is_empty() || parsed.fragment().is_some() {
        let message = "a URL of a table is a place alone, without a user, `?` or `#`";
        return Err(fail(message.to_owned()));
    }
    let location = Location::from_url_path(parsed.path()).map_err(|error| fail(error.to_string()))?;
    let store: Arc<dyn ObjectStore> = match parsed.scheme() {
        "file" => {
            // `file://folder/…` would lose its first folder as a host.
            if let Some(host) = parsed.host_str() {
                let path = parsed.path();
                return Err(fail(format!(
                    "`{host}` stands where file:// has no host; is it file:///{host}{path}?"
                )));
            }
            Arc::new(LocalFileSystem::new())
        }
        "http" => {
            let server = Url::parse(&parsed[..url::Position::BeforePath]);
            let server = server.map_err(|error| fail(format!("this is no server: {error}")))?;
            Arc::new(HttpStore::new(server, HttpClient::new(patience)))
        }
        "https" => {
            return Err(fail(
                "https is not supported: tables are read from servers that are near, by http".to_owned(),
            ));
        }
        other => {
            return Err(fail(format!(
                "tables are read by file:// and http://, not {other}://"
            )));
        }
    };
    let is_folder = parsed.to_file_path().is_ok_and(|path| path.is_dir());
    if is_folder {
        let opening = Opening::of(work)?;
        let files = folder(url, &store, &location, &opening)?;
        let sources = files.into_iter().map(|(origin, location)| {
            let object = ObjectBytes::open(origin, &store, location, &opening);
            object.map(|object| Arc::new(object) as SharedSource)
        });
        return Ok(Arc::new(ParquetTable::of(name, sources, &opening)?));
    }
    open_object(name, url, store, location, work)
}

/// Opens the object at `location` of `store` as the table `name`; errors name it `origin`.
///
/// ```
/// use std::sync::Arc;
/// use query::object_store::memory::InMemory;
/// use query::object_store::{ObjectStore, ObjectStoreExt};
/// use query::Work;
/// use query::pools::Pools;
/// use query::source::open_object;
///
/// let pools = Pools::builder().cpu_threads(2).build()?;
/// let store = Arc::new(InMemory::new());
/// pools.mixed().block_on(store.put(&"cities.csv".into(), "city,inhabitants\nUlm,128928\n".into()))??;
/// let cities = open_object("cities", "memory:cities.csv", store, "cities.csv".into(), &Work::new(&pools))?;
/// assert_eq!(cities.rows(0), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`open_url`].
pub fn open_object(
    name: &str,
    origin: &str,
    store: Arc<dyn ObjectStore>,
    location: Location,
    work: &Work,
) -> Result<Arc<dyn TableSource>, QueryError> {
    let extension = extension(Path::new(location.as_ref()));
    let opening = Opening::of(work)?;
    let object = ObjectBytes::open(origin.to_owned(), &store, location, &opening)?;
    open_source(name, Arc::new(object), extension, &opening)
}

/// The sorted data files, each as its name in errors and its location.
fn folder(
    url: &str,
    store: &Arc<dyn ObjectStore>,
    location: &Location,
    opening: &Opening<'_>,
) -> Result<Vec<(String, Location)>, QueryError> {
    let fail = |message: String| QueryError::from(ReadError::new(url, message));
    let listed = opening.wait(store.list_with_delimiter(Some(location)))?;
    let listed = listed.map_err(|error| fail(said(&error)))?;
    if let Some(inner) = listed
        .common_prefixes
        .iter()
        .filter_map(Location::filename)
        .find(|name| !is_hidden(name))
    {
        return Err(fail(format!(
            "the folder holds another folder, `{inner}`; a table is one folder of files"
        )));
    }
    let base = url.trim_end_matches('/');
    let mut files: Vec<(String, Location)> = listed
        .objects
        .into_iter()
        .filter_map(|object| {
            let name = object.location.filename()?.to_owned();
            (!is_hidden(&name) && is_parquet_name(Path::new(&name)))
                .then(|| (format!("{base}/{name}"), object.location))
        })
        .collect();
    if files.is_empty() {
        return Err(fail("the folder holds no file that ends in .parquet".to_owned()));
    }
    files.sort();
    Ok(files)
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}

pub(crate) struct ObjectBytes {
    origin: String,
    store: Arc<dyn ObjectStore>,
    location: Location,
    bytes: u64,
    tag: Option<String>,
    mixed: MixedPool,
}

impl ObjectBytes {
    fn open(
        origin: String,
        store: &Arc<dyn ObjectStore>,
        location: Location,
        opening: &Opening<'_>,
    ) -> Result<Self, QueryError> {
        let answer = opening.wait(store.head(&location))?;
        let meta = answer.map_err(|error| ReadError::new(&origin, said(&error)))?;
        Ok(Self {
            origin,
            store: Arc::clone(store),
            location,
            bytes: meta.size,
            // Versions with other bytes may share a weak tag.
            tag: meta.e_tag.filter(|tag| !tag.starts_with("W/")),
            mixed: opening.work.mixed(),
        })
    }

    async fn range(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let options = GetOptions {
            if_match: self.tag.clone(),
            range: Some(range.into()),
            ..GetOptions::default()
        };
        self.store.get_opts(&self.location, options).await?.bytes().await
    }
}

impl ByteSource for ObjectBytes {
    fn origin(&self) -> &str {
        &self.origin
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        let answer = self.mixed.block_on(self.ranges(ranges));
        answer.map_err(|error| ReadError::new(&self.origin, error))?
    }

    fn as_awaited(&self) -> Option<&dyn AwaitedSource> {
        Some(self)
    }
}

impl AwaitedSource for ObjectBytes {
    fn read_async<'a>(&'a self, ranges: &'a [Range<u64>]) -> Reading<'a> {
        Box::pin(self.ranges(ranges))
    }

    fn requests(&self, ranges: &[Range<u64>]) -> usize {
        let mut wanted = ranges.iter().filter(|range| range.start < range.end);
        let Some(first) = wanted.next() else { return 0 };
        let (mut requests, mut end) = (1, first.end);
        for range in wanted {
            requests += usize::from(range.start > end.saturating_add(GAP_BYTES));
            end = end.max(range.end);
        }
        requests.min(PARALLEL_MAX)
    }
}

impl ObjectBytes {
    async fn ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
        let fail = |message: &str| ReadError::new(&self.origin, message);
        let wanted: Vec<Range<u64>> = ranges
            .iter()
            .filter(|range| range.start < range.end)
            .cloned()
            .collect();
        let answer = coalesce_ranges(&wanted, |range| self.range(range), GAP_BYTES).await;
        let read = match answer {
            Ok(read) => read,
            Err(StoreError::Precondition { .. }) => {
                return Err(fail("the object was written to while it was being queried"));
            }
            Err(error) => return Err(fail(&said(&error))),
        };
        let mut read = wanted.iter().zip(read);
        let whole = ranges.iter().map(|range| {
            if range.start >= range.end {
                return Ok(Bytes::new());
            }
            let (_, bytes) = read.next().ok_or_else(|| fail("the store gave too few ranges"))?;
            if bytes.len() as u64 != range.end - range.start {
                return Err(fail("the store gave fewer bytes than it was asked for"));
            }
            Ok(bytes)
        });
        whole.collect()
    }
}

impl fmt::Debug for ObjectBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectBytes")
            .field("origin", &self.origin)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

fn said(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
