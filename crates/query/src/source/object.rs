//! Tables by URL: objects of a store, read through the mixed pool.
//!
//! ```text
//!   file:///data/trips.parquet        ──► LocalFileSystem ┐
//!   http://127.0.0.1:8080/trips.csv   ──► HttpStore       ├──► ObjectBytes: length, ranges ──► the same tables as of files
//!   any other store, given by hand    ──► dyn ObjectStore ┘
//! ```
//!
//! A store is asked on the mixed pool and nowhere else: by whoever opens the table, and by the stream that reads ahead of a query. Ranges of
//! a morsel that lie near each other are one request, the others are made at the same time.
//!
//! An object that changes while it is open is an error where the store has a tag for each version of it.

mod http_client;
mod http_store;

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use columnar::{ReadError, TableSource};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Location;
use object_store::{Error as StoreError, GetOptions, ObjectStore, ObjectStoreExt, coalesce_ranges};
use pools::MixedPool;
use url::Url;

use self::http_store::HttpStore;
use super::byte_source::{AwaitedSource, ByteSource, Reading, SharedSource};
use super::{JobRunner, ParquetTable, extension, is_parquet_name, open_source};
use crate::QueryError;

/// What lies between two ranges and is read with them, if it is no more: cheaper than a request of its own.
const GAP_BYTES: u64 = 32 << 10;
/// The most requests that `coalesce_ranges` makes at the same time.
const PARALLEL_MAX: usize = 10;

/// How long a store is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a sign of the server: that it is there, that it answers, that it goes on.
    pub silence: Duration,
    /// How often a request is made once more after a failure that may pass.
    pub retries: usize,
    /// After this time it is not made once more.
    pub retry_for: Duration,
}

impl Default for Patience {
    /// 30 seconds; three more requests, within two minutes.
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(30),
            retries: 3,
            retry_for: Duration::from_secs(120),
        }
    }
}

/// Opens what is at `url`, which begins with `file://` or `http://`, as the table `name`: an object that is Parquet or CSV, or a folder of Parquet files
/// by `file://`. What the object is, is told as for [`open`](super::open).
///
/// ```
/// use query::pipeline_exec::PipelineExecutor;
/// use query::source::{Patience, open_url};
///
/// let path = std::env::temp_dir().join(format!("windlass-url-{}.csv", std::process::id()));
/// std::fs::write(&path, "city,inhabitants\nUlm,128928\n")?;
/// let url = format!("file://{}", path.display());
/// let cities = open_url("cities", &url, Patience::default(), &PipelineExecutor::new(2)?)?;
/// assert_eq!(cities.schema().field(1).data_type(), &arrow::datatypes::DataType::Int64);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`QueryError::Read`] with the URL when it is none, is of another kind, there is nothing, or the store fails; what `runner` fails with.
pub fn open_url(
    name: &str,
    url: &str,
    patience: Patience,
    runner: &impl JobRunner,
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
            // Two slashes and a path that begins elsewhere: its first folder would be left out.
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
            Arc::new(HttpStore::new(server, patience))
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
        let files = folder(url, &store, &location, &runner.mixed())?;
        let sources = files.into_iter().map(|(origin, location)| {
            let object = ObjectBytes::open(origin, &store, location, runner.mixed());
            object.map(|object| Arc::new(object) as SharedSource)
        });
        return Ok(Arc::new(ParquetTable::of(name, sources)?));
    }
    open_object(name, url, store, location, runner)
}

/// Opens the object at `location` of `store` as the table `name`; errors call it `origin`.
///
/// ```
/// use std::sync::Arc;
/// use query::object_store::memory::InMemory;
/// use query::object_store::{ObjectStore, ObjectStoreExt};
/// use query::pools::Pools;
/// use query::source::open_object;
///
/// let pools = Pools::builder().cpu_threads(2).build()?;
/// let store = Arc::new(InMemory::new());
/// pools.mixed().block_on(store.put(&"cities.csv".into(), "city,inhabitants\nUlm,128928\n".into()))??;
/// let cities = open_object("cities", "memory:cities.csv", store, "cities.csv".into(), &pools)?;
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
    runner: &impl JobRunner,
) -> Result<Arc<dyn TableSource>, QueryError> {
    let extension = extension(Path::new(location.as_ref()));
    let object = ObjectBytes::open(origin.to_owned(), &store, location, runner.mixed())?;
    open_source(name, Arc::new(object), extension, runner)
}

/// The files of a folder that are data, by name: what errors call them, and where they are.
fn folder(
    url: &str,
    store: &Arc<dyn ObjectStore>,
    location: &Location,
    mixed: &MixedPool,
) -> Result<Vec<(String, Location)>, ReadError> {
    let fail = |message: String| ReadError::new(url, message);
    let listed = mixed.block_on(store.list_with_delimiter(Some(location)));
    let listed = listed.map_err(|error| fail(error.to_string()))?;
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

/// An object of a store.
pub(crate) struct ObjectBytes {
    origin: String,
    store: Arc<dyn ObjectStore>,
    location: Location,
    bytes: u64,
    /// What tells this version of it from others, if the store says.
    tag: Option<String>,
    /// Where the store is asked.
    mixed: MixedPool,
}

impl ObjectBytes {
    /// Asks the store how long it is.
    fn open(
        origin: String,
        store: &Arc<dyn ObjectStore>,
        location: Location,
        mixed: MixedPool,
    ) -> Result<Self, ReadError> {
        let answer = mixed.block_on(store.head(&location));
        let answer = answer.map_err(|error| ReadError::new(&origin, error))?;
        let meta = answer.map_err(|error| ReadError::new(&origin, said(&error)))?;
        Ok(Self {
            origin,
            store: Arc::clone(store),
            location,
            bytes: meta.size,
            // A weak tag is the same for versions that differ in their bytes, and matches nothing.
            tag: meta.e_tag.filter(|tag| !tag.starts_with("W/")),
            mixed,
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

/// What a store says of a failure, with its causes that are not in the text already.
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
