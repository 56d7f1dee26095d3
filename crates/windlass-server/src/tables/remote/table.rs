//! A table by URL: what the last look found.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use datafusion::datasource::table_schema::TableSchemaBuilder;
use object_store::ObjectMeta;
use pipeline_exec::lock;

use super::address::TableUrl;
use super::file::{RemoteFile, causes};
use super::store::{meta_of, store_url};
use super::version::RemoteVersion;
use crate::tables::columns::{self, Columns, Part};
use crate::tables::error::TablesError;
use crate::tables::listing::Format;
use crate::tables::snapshot::{Snapshot, SnapshotFile};

/// Bytes of a file's end or beginning that are read first for its columns.
const PART_FIRST: u64 = 256 << 10;

/// A file whose columns need a longer part is no table.
const PART_MAX: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct RemoteTable {
    name: String,
    file: Arc<RemoteFile>,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// Of the last good look.
    known: Option<(RemoteVersion, Arc<Snapshot>)>,
    is_readable: bool,
}

impl RemoteTable {
    pub(crate) fn new(name: String, file: Arc<RemoteFile>) -> Self {
        Self {
            name,
            file,
            last: Mutex::default(),
        }
    }

    pub(crate) fn url(&self) -> &TableUrl {
        &self.file.url
    }

    /// Whether the last look was good.
    pub(crate) fn is_readable(&self) -> bool {
        lock(&self.last).is_readable
    }

    /// Asks the server. Statements do not wait for each other: after a change, each reads the
    /// columns.
    pub(crate) async fn look(&self) -> Result<Arc<Snapshot>, TablesError> {
        let found = self.found().await;
        let mut last = lock(&self.last);
        let was_readable = std::mem::replace(&mut last.is_readable, found.is_ok());
        match found {
            Ok((version, snapshot)) => {
                last.known = Some((version, Arc::clone(&snapshot)));
                Ok(snapshot)
            }
            Err(error) => {
                drop(last);
                if was_readable {
                    tracing::warn!(table = self.name, %error, "a table cannot be read");
                }
                Err(error)
            }
        }
    }

    async fn found(&self) -> Result<(RemoteVersion, Arc<Snapshot>), TablesError> {
        let found = self.file.look().await.map_err(|error| unread(&error))?;
        let version = RemoteVersion::of(&found).ok_or_else(|| {
            self.unreadable(
                "the server says neither its ETag nor Last-Modified, so a change would not be seen",
            )
        })?;
        let known = lock(&self.last).known.clone();
        if let Some(known) = known.filter(|(known, _)| *known == version) {
            return Ok(known);
        }
        let columns = self.columns(&version).await?;
        let snapshot = self.snapshot(&columns, &version, &found)?;
        Ok((version, Arc::new(snapshot)))
    }

    async fn columns(&self, version: &RemoteVersion) -> Result<Columns, TablesError> {
        let (len, name) = (version.len(), version.name());
        let format = self.url().format();
        let mut wanted = PART_FIRST.min(len);
        loop {
            let range = match format {
                Format::Parquet => len - wanted..len,
                Format::Csv => 0..wanted,
            };
            let part = self.file.bytes(range, &name).await;
            let part = part.map_err(|error| unread(&error))?;
            let read = columns::read_part(&part, len, format);
            match read.map_err(|reason| self.unreadable(&reason))? {
                Part::Columns(columns) => return Ok(columns),
                Part::Needs(more) if more > wanted && more <= len.min(PART_MAX) => wanted = more,
                Part::Needs(_) => return Err(self.unreadable("its columns cannot be found")),
            }
        }
    }

    fn snapshot(
        &self,
        columns: &Columns,
        version: &RemoteVersion,
        found: &ObjectMeta,
    ) -> Result<Snapshot, TablesError> {
        let format = self.url().format();
        let schema = columns::merge(&[(self.path(), columns)], format)?;
        let meta = meta_of(&self.name, &self.file, version, found);
        Ok(Snapshot {
            store: store_url().map_err(|error| self.unreadable(&error.strip_backtrace()))?,
            format,
            schema: TableSchemaBuilder::new(schema).build(),
            line_breaks: columns.line_breaks,
            files: vec![Arc::new(SnapshotFile::new(meta, Vec::new()))],
        })
    }

    fn unreadable(&self, reason: &str) -> TablesError {
        TablesError::unreadable(self.path(), reason)
    }

    /// The URL, as errors name it.
    fn path(&self) -> PathBuf {
        PathBuf::from(self.url().to_string())
    }
}

fn unread(error: &object_store::Error) -> TablesError {
    let reason = match error {
        object_store::Error::Precondition { path, .. } => {
            format!("{path}: the file has changed while it was looked at: run the statement again")
        }
        other => causes(other),
    };
    TablesError::Url { reason }
}
