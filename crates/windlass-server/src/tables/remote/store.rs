//! The only way by which statements read URLs: those that were named, and without writing.
//!
//! A path is a table's name, its URL as folders, and the version: `t/https/host/t.parquet/@…`. It
//! has to be a path of a table that this process was given, so neither a statement nor a plan of
//! another machine chooses what is asked.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::DataFusionError;
use datafusion::execution::object_store::ObjectStoreUrl;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use object_store::path::Path as Location;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::file::RemoteFile;
use super::version::RemoteVersion;

/// What plans name the store by.
pub(crate) fn store_url() -> std::result::Result<ObjectStoreUrl, DataFusionError> {
    ObjectStoreUrl::parse("url://tables")
}

#[derive(Debug, Default)]
pub(crate) struct RemoteStore {
    /// By the path without the version.
    files: HashMap<String, Arc<RemoteFile>>,
}

impl RemoteStore {
    pub(crate) fn add(&mut self, table: &str, file: &Arc<RemoteFile>) {
        self.files.insert(path(table, file), Arc::clone(file));
    }

    fn find<'a>(&self, location: &'a Location) -> Result<(&Arc<RemoteFile>, &'a str)> {
        let location = location.as_ref();
        let found = location
            .rsplit_once('/')
            .and_then(|(path, version)| Some((self.files.get(path)?, version)));
        found.ok_or_else(|| {
            let (table, place) = location.split_once('/').unwrap_or((location, ""));
            let place = place.rsplit_once('/').map_or(place, |(place, _)| place);
            Error::PermissionDenied {
                path: place.to_owned(),
                source: format!("this process was not given --table {table}=… with that URL").into(),
            }
        })
    }
}

fn path(table: &str, file: &RemoteFile) -> String {
    format!("{table}/{}", file.url.folders())
}

/// For plans: they read this version or fail.
pub(crate) fn meta_of(
    table: &str,
    file: &RemoteFile,
    version: &RemoteVersion,
    found: &ObjectMeta,
) -> ObjectMeta {
    ObjectMeta {
        location: Location::from(format!("{}/{}", path(table, file), version.name())),
        ..found.clone()
    }
}

impl fmt::Display for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("windlass tables by URL")
    }
}

#[async_trait]
impl ObjectStore for RemoteStore {
    async fn get_opts(&self, location: &Location, mut options: GetOptions) -> Result<GetResult> {
        let (file, version) = self.find(location)?;
        let head = options.head;
        if head {
            options.head = false;
            options.range = Some(GetRange::Bounded(0..1));
        }
        let mut answer = file.get(options, version).await?;
        answer.meta.location = location.clone();
        if head {
            answer.payload = GetResultPayload::Stream(stream::empty().boxed());
            answer.range = 0..answer.meta.size;
        }
        Ok(answer)
    }

    fn list(&self, _: Option<&Location>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::iter([Err(refused("list"))]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Location>) -> Result<ListResult> {
        Err(refused("list"))
    }

    async fn put_opts(&self, _: &Location, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(refused("put"))
    }

    async fn put_multipart_opts(
        &self,
        _: &Location,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(refused("put"))
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Location>>,
    ) -> BoxStream<'static, Result<Location>> {
        locations
            .map(|location| location.and_then(|_| Err(refused("delete"))))
            .boxed()
    }

    async fn copy_opts(&self, _: &Location, _: &Location, _: CopyOptions) -> Result<()> {
        Err(refused("copy"))
    }
}

fn refused(operation: &str) -> Error {
    Error::NotImplemented {
        operation: operation.to_owned(),
        implementer: "tables by URL".to_owned(),
    }
}
