//! The only way by which statements read files: below the named roots, and without writing.
//!
//! DataFusion's own store for `file://` opens any path of the machine. This one opens nothing
//! outside of the roots, even if a statement could name a path; see [`root`](super::root).

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object_store::path::Path as Location;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, Result,
};

use crate::blocking::blocking;

use super::root::{Folder, Kind, OpenFile, Root, is_absent, is_link};
use super::version::{Expected, Version, Versions};

/// Bytes that a stream reads at a time.
const CHUNK: u64 = 1 << 20;

/// Nesting of folders; a deeper listing fails.
pub(crate) const DEPTH_MAX: usize = 32;

const NAME: &str = "windlass tables";

#[derive(Debug)]
pub(crate) struct TablesStore {
    files: Arc<Files>,
}

#[derive(Debug)]
struct Files {
    roots: Vec<Arc<Root>>,
    versions: Versions,
}

impl TablesStore {
    pub(crate) fn new(roots: Vec<Arc<Root>>) -> Self {
        Self {
            files: Arc::new(Files {
                roots,
                versions: Versions::new(),
            }),
        }
    }

    /// For plans: they read this version or fail.
    pub(crate) fn meta(&self, path: &Path, version: &Version) -> Option<ObjectMeta> {
        let location = format!("{}/{}", path.to_str()?, self.files.versions.name(version));
        Some(object_meta(Location::parse(location).ok()?, version))
    }
}

impl fmt::Display for TablesStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

#[async_trait]
impl ObjectStore for TablesStore {
    async fn get_opts(&self, location: &Location, options: GetOptions) -> Result<GetResult> {
        let files = Arc::clone(&self.files);
        let location = location.clone();
        blocking(move || files.get(location, &options))
            .await
            .map_err(stopped)?
    }

    async fn get_ranges(&self, location: &Location, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let files = Arc::clone(&self.files);
        let (location, ranges) = (location.clone(), ranges.to_vec());
        let read = move || {
            let (file, version) = files.open(&location)?;
            ranges
                .into_iter()
                .map(|range| {
                    let range = GetRange::Bounded(range)
                        .as_range(version.len())
                        .map_err(generic)?;
                    file.read(range)
                })
                .collect()
        };
        blocking(read).await.map_err(stopped)?
    }

    fn list(&self, prefix: Option<&Location>) -> BoxStream<'static, Result<ObjectMeta>> {
        let files = Arc::clone(&self.files);
        let prefix = prefix.cloned().unwrap_or_default();
        let listed = async move { blocking(move || files.list(&prefix)).await.map_err(stopped)? };
        stream::once(listed)
            .flat_map(|listed| match listed {
                Ok(objects) => stream::iter(objects).map(Ok).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            })
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Location>) -> Result<ListResult> {
        let files = Arc::clone(&self.files);
        let prefix = prefix.cloned().unwrap_or_default();
        let list = move || {
            let mut result = ListResult {
                common_prefixes: Vec::new(),
                objects: Vec::new(),
            };
            for object in files.list(&prefix)? {
                let Some(mut below) = object.location.prefix_match(&prefix) else {
                    continue;
                };
                match (below.next(), below.next()) {
                    (Some(folder), Some(_)) => {
                        let folder = prefix.clone().join(folder);
                        if result.common_prefixes.last() != Some(&folder) {
                            result.common_prefixes.push(folder);
                        }
                    }
                    _ => {
                        drop(below);
                        result.objects.push(object);
                    }
                }
            }
            Ok(result)
        };
        blocking(list).await.map_err(stopped)?
    }

    async fn put_opts(&self, location: &Location, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only(location))
    }

    async fn put_multipart_opts(
        &self,
        location: &Location,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only(location))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Location>>,
    ) -> BoxStream<'static, Result<Location>> {
        locations
            .map(|location| location.and_then(|location| Err(read_only(&location))))
            .boxed()
    }

    async fn copy_opts(&self, _: &Location, to: &Location, _: CopyOptions) -> Result<()> {
        Err(read_only(to))
    }

    async fn rename_opts(&self, from: &Location, _: &Location, _: RenameOptions) -> Result<()> {
        Err(read_only(from))
    }
}

impl Files {
    fn get(&self, location: Location, options: &GetOptions) -> Result<GetResult> {
        let (file, version) = self.open(&location)?;
        let meta = object_meta(location, &version);
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            Some(range) => range.as_range(version.len()).map_err(generic)?,
            None => 0..version.len(),
        };
        let payload = if options.head {
            stream::empty().boxed()
        } else {
            file.stream(range.clone())
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(payload),
            meta,
            range,
            attributes: Attributes::new(),
        })
    }

    fn open(&self, location: &Location) -> Result<(OpenedFile, Version)> {
        let (path, expected) = self.path(location);
        let below = |root: &Root| root.below(&path).map(Path::to_owned);
        let found = self
            .roots
            .iter()
            .filter_map(|root| Some((root, below(root)?)))
            .min_by_key(|(_, below)| below.components().count());
        let Some((root, below)) = found else {
            return Err(outside(&path));
        };
        let opened = root
            .open(&below)
            .and_then(|file| Ok((file.version()?, file)))
            .map_err(|error| unreadable(&path, error))?;
        let (version, file) = opened;
        let opened = OpenedFile {
            file: Arc::new(file),
            path,
            expected: expected.map(|_| version),
        };
        match expected {
            Some(expected) if !expected.is(&version) => Err(changed(&opened.path)),
            _ => Ok((opened, version)),
        }
    }

    /// With the version that the plan was made for.
    fn path(&self, location: &Location) -> (PathBuf, Option<Expected>) {
        let location = location.as_ref();
        let versioned = location
            .rsplit_once('/')
            .and_then(|(path, name)| Some((path, self.versions.parse(name)?)));
        let (path, expected) = match versioned {
            Some((path, expected)) => (path, Some(expected)),
            None => (location, None),
        };
        (Path::new("/").join(path), expected)
    }

    fn list(&self, prefix: &Location) -> Result<Vec<ObjectMeta>> {
        let path = Path::new("/").join(prefix.as_ref());
        let mut found = BTreeMap::new();
        for root in &self.roots {
            let start = if let Some(below) = root.below(&path) {
                below
            } else if root.path().starts_with(&path) {
                Path::new("")
            } else {
                continue;
            };
            let listed = if root.is_file() {
                root.version()
                    .map(|version| add(&mut found, root.path(), version))
            } else {
                root.folder(start)
                    .and_then(|folder| walk(&folder, &root.path().join(start), DEPTH_MAX, &mut found))
            };
            match listed {
                // A prefix need not be a folder.
                Err(error) if !is_absent(&error) => return Err(unreadable(&path, error)),
                _ => {}
            }
        }
        Ok(found.into_values().collect())
    }
}

fn walk(
    folder: &Folder,
    path: &Path,
    depth_left: usize,
    found: &mut BTreeMap<Location, ObjectMeta>,
) -> io::Result<()> {
    let entries = match folder.entries() {
        // Removed since it was opened.
        Err(error) if is_absent(&error) => return Ok(()),
        entries => entries?,
    };
    for (name, kind) in entries {
        let path = path.join(&name);
        match kind {
            Kind::File => add(found, &path, folder.version(&name)?),
            Kind::Folder if depth_left == 0 => {
                return Err(io::Error::other(format!("more than {DEPTH_MAX} folders deep")));
            }
            Kind::Folder => match folder.folder(&name) {
                Ok(folder) => walk(&folder, &path, depth_left - 1, found)?,
                // Removed or replaced since its name was read.
                Err(error) if is_absent(&error) => {}
                Err(error) => return Err(error),
            },
        }
    }
    Ok(())
}

fn add(found: &mut BTreeMap<Location, ObjectMeta>, path: &Path, version: Option<Version>) {
    let location = path.to_str().and_then(|path| Location::parse(path).ok());
    if let (Some(location), Some(version)) = (location, version) {
        found.insert(location.clone(), object_meta(location, &version));
    }
}

fn object_meta(location: Location, version: &Version) -> ObjectMeta {
    ObjectMeta {
        location,
        last_modified: version.modified().into(),
        size: version.len(),
        e_tag: None,
        version: None,
    }
}

#[derive(Clone, Debug)]
struct OpenedFile {
    file: Arc<OpenFile>,
    path: PathBuf,
    /// What the file must still be after a read.
    expected: Option<Version>,
}

impl OpenedFile {
    /// The range lies within the file.
    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let length = usize::try_from(range.end - range.start).map_err(generic)?;
        let mut bytes = vec![0; length];
        self.file
            .file()
            .read_exact_at(&mut bytes, range.start)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => changed(&self.path),
                _ => unreadable(&self.path, error),
            })?;
        if let Some(expected) = self.expected {
            let version = self
                .file
                .version()
                .map_err(|error| unreadable(&self.path, error))?;
            if version != expected {
                return Err(changed(&self.path));
            }
        }
        Ok(bytes.into())
    }

    fn stream(self, range: Range<u64>) -> BoxStream<'static, Result<Bytes>> {
        stream::try_unfold((self, range), |(file, range)| async move {
            if range.is_empty() {
                return Ok(None);
            }
            let end = range.end.min(range.start.saturating_add(CHUNK));
            let part = range.start..end;
            let reader = file.clone();
            let bytes = blocking(move || reader.read(part)).await.map_err(stopped)??;
            Ok(Some((bytes, (file, end..range.end))))
        })
        .boxed()
    }
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    let path = path.display().to_string();
    match error.kind() {
        _ if is_link(&error) => Error::PermissionDenied {
            path,
            source: "symbolic links are not followed".into(),
        },
        io::ErrorKind::NotFound => Error::NotFound {
            path,
            source: Box::new(error),
        },
        io::ErrorKind::PermissionDenied => Error::PermissionDenied {
            path,
            source: Box::new(error),
        },
        _ => generic(format!("{path}: {error}")),
    }
}

fn outside(path: &Path) -> Error {
    Error::PermissionDenied {
        path: path.display().to_string(),
        source: "it is outside of the folders that are served".into(),
    }
}

fn changed(path: &Path) -> Error {
    Error::Precondition {
        path: path.display().to_string(),
        source: "the file has changed since the statement began: run it again".into(),
    }
}

fn read_only(location: &Location) -> Error {
    Error::PermissionDenied {
        path: format!("/{location}"),
        source: "tables are read-only".into(),
    }
}

fn generic(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
    Error::Generic {
        store: NAME,
        source: source.into(),
    }
}

fn stopped(error: tokio::task::JoinError) -> Error {
    Error::JoinError { source: error }
}

#[cfg(test)]
mod tests;
