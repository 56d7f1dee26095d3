//! Folders of files as tables, and the tables of TPC-H.
//!
//! ```text
//!   --tables DIR    --table NAME=PATH        --tpch SCALE     --table NAME=URL
//!        │                  │                      │                 │
//!        └──── roots ───────┘                      │         remote: one request
//!      listing: names → files, at each look-up     │             at each look-up
//!      snapshot: columns, kept while files are as they were          │
//!              └──────── schema `public` ──────────┴─────────────────┘
//!                              │ plans
//!      stores `file://`, `url://`: read below the roots and from the URLs, write nothing
//! ```
//!
//! A Parquet or CSV file in a folder is a table, and so is a folder in it with such files at any
//! depth; names of folders below it may be partitions, `key=value`. [`Tables`] looks when a
//! statement asks for a table, so the next statement sees files that come, change or go. A
//! statement sees each table as one look found it. If a file changes meanwhile, the statement
//! fails; it never returns rows of two versions of a file.
//!
//! [`Tables::register`] also replaces DataFusion's store by one that opens nothing outside of what
//! was named, and follows no symbolic link below a root.
//!
//! It writes nothing, reads no compressed CSV or table formats (Delta, Iceberg), and does not
//! wait for writers: rename complete files into place, or first write to a name that begins with
//! `.`.

mod columns;
mod current;
mod error;
mod files_table;
mod listed_snapshot;
mod listing;
mod partitions;
mod public;
mod remote;
mod root;
mod shape;
mod snapshot;
mod store;
mod tpch;
mod version;

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, SchemaProvider, Session};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::object_store::ObjectStoreUrl;
use object_store::ObjectStore;

use current::CurrentTables;
pub use error::TablesError;
pub use http_store::Patience;
use listing::{Place, table_name};
use public::PublicSchema;
pub(crate) use remote::store_url;
use remote::{RemoteFile, RemoteStore, RemoteTable};
pub use remote::{TableUrl, UrlOptions, redacted};
use root::Root;
use snapshot::Snapshot;
use store::TablesStore;

/// The tables' catalog.
pub const CATALOG: &str = "windlass";

/// The tables' schema.
pub const SCHEMA: &str = "public";

/// Where tables come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A folder of tables: its Parquet and CSV files, and its folders with such files.
    Folder(PathBuf),
    /// One file or folder.
    Named(NamedTable),
    /// The eight tables of TPC-H.
    Tpch {
        /// From 0.001 to 100; at scale 1, `lineitem` has six million rows.
        scale: f64,
        /// Partitions of the large tables; best one a CPU worker.
        partitions: NonZeroUsize,
    },
}

/// A table with a name of its own, parsed from `NAME=PATH` or `NAME=URL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTable {
    name: String,
    place: TablePlace,
}

/// Where a table with a name of its own is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TablePlace {
    /// A file or folder of this machine. It may be given as a `file` URL.
    Path(PathBuf),
    /// A file of an HTTP server.
    Url(TableUrl),
}

impl NamedTable {
    /// Returns the table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns where the table is.
    pub fn place(&self) -> &TablePlace {
        &self.place
    }
}

impl FromStr for NamedTable {
    type Err = TablesError;

    fn from_str(given: &str) -> Result<Self, TablesError> {
        let wrong = |reason: &str| TablesError::argument(redacted(given), reason);
        let (name, place) = given
            .split_once('=')
            .ok_or_else(|| wrong("a table is given as NAME=PATH or NAME=URL"))?;
        if name.is_empty() || table_name(name) != name {
            return Err(wrong("a table's name is of the characters a to z, 0 to 9 and _"));
        }
        let path = match place.split_once("://") {
            Some(("file", path)) if path.starts_with('/') && !path.contains('%') => path,
            Some(("file", _)) => return Err(wrong("a file's URL is file:/// and a path without %")),
            Some(_) if remote::has_scheme(place) => {
                let url = TableUrl::parse(place).map_err(|reason| wrong(&reason))?;
                return Ok(Self {
                    name: name.to_owned(),
                    place: TablePlace::Url(url),
                });
            }
            _ => place,
        };
        if path.is_empty() {
            return Err(wrong("a table is given as NAME=PATH or NAME=URL"));
        }
        Ok(Self {
            name: name.to_owned(),
            place: TablePlace::Path(PathBuf::from(path)),
        })
    }
}

/// The tables of a server. Clones share them.
#[derive(Clone)]
pub struct Tables {
    tables: Arc<CurrentTables>,
    schema: Arc<dyn SchemaProvider>,
    remote: Arc<RemoteStore>,
}

/// A table, as the server's log shows it at the start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableSummary {
    /// The table's name.
    pub name: String,
    /// The table's size, or why it cannot be read.
    pub contents: Result<TableContents, TablesError>,
}

/// The size of a table.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TableContents {
    /// Columns.
    pub columns: usize,
    /// Files; 0 for a generated table.
    pub files: usize,
    /// The files' bytes.
    pub bytes: u64,
}

impl Tables {
    /// Looks at all sources but URLs, and generates TPC-H. Blocks; TPC-H at scale 10 takes a minute.
    ///
    /// # Errors
    ///
    /// If a source is missing or cannot be listed, if two tables have one name, or if TPC-H cannot
    /// be generated. An unreadable table fails only the statements that name it.
    pub fn new(sources: &[Source]) -> Result<Self, TablesError> {
        Self::with_urls(sources, &UrlOptions::default())
    }

    /// As [`new`](Self::new), with options for tables by URL.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and if the certificates cannot be used, by which servers are checked.
    pub fn with_urls(sources: &[Source], options: &UrlOptions) -> Result<Self, TablesError> {
        let mut roots = Vec::new();
        let mut places = Vec::new();
        let mut urls = Vec::new();
        let mut tpch = None;
        for source in sources {
            match source {
                Source::Folder(path) => {
                    let root = root(path)?;
                    if root.is_file() {
                        return Err(TablesError::unreadable(
                            path,
                            "it is a file, not a folder of tables",
                        ));
                    }
                    roots.push(Arc::clone(&root));
                    places.push(Place::Folder(root));
                }
                Source::Named(named) => match &named.place {
                    TablePlace::Path(path) => {
                        let root = root(path)?;
                        roots.push(Arc::clone(&root));
                        places.push(Place::Table(named.name.clone(), root));
                    }
                    TablePlace::Url(url) => urls.push((named.name.as_str(), url)),
                },
                Source::Tpch { scale, partitions } => {
                    if tpch.replace((*scale, *partitions)).is_some() {
                        return Err(TablesError::argument(
                            scale.to_string(),
                            "TPC-H is generated at one scale",
                        ));
                    }
                }
            }
        }
        let (listings, errors) = listing::all(&places);
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        for (name, listing) in &listings {
            if let Err(error @ TablesError::SameName { .. }) = listing {
                return Err(error.clone());
            }
            let url = urls.iter().find(|(table, _)| table == name);
            let second = match url {
                Some((_, url)) => url.to_string(),
                None if tpch.is_some() && tpch::is_table(name) => "TPC-H".to_owned(),
                None => continue,
            };
            let first = match listing {
                Ok(listing) => listing.path.display().to_string(),
                Err(error) => error.to_string(),
            };
            return Err(TablesError::SameName {
                table: name.clone(),
                first,
                second,
            });
        }
        let (remote_tables, remote) = remote_tables(&urls, tpch.is_some(), options)?;
        let generated = match tpch {
            Some((scale, partitions)) => tpch::generate(scale, partitions)?,
            None => HashMap::new(),
        };
        let store = Arc::new(TablesStore::new(roots));
        let tables = Arc::new(CurrentTables::new(places, store, generated, remote_tables));
        Ok(Self {
            schema: Arc::new(PublicSchema::new(Arc::clone(&tables))),
            tables,
            remote: Arc::new(remote),
        })
    }

    /// Gives a session these tables, and nothing else to read: as the schema `public` of a new
    /// catalog `windlass`. The session then reads `file://` by [`Self::store`], and URLs by a store
    /// of their own.
    ///
    /// # Errors
    ///
    /// If the catalog takes no schema; DataFusion's in memory do.
    pub fn register(&self, session: &dyn Session) -> DataFusionResult<()> {
        let catalog = MemoryCatalogProvider::new();
        catalog.register_schema(SCHEMA, Arc::clone(&self.schema))?;
        let catalogs = session.catalog_list();
        catalogs.register_catalog(CATALOG.to_owned(), Arc::new(catalog));
        let url = ObjectStoreUrl::local_filesystem();
        let runtime = session.runtime_env();
        runtime.register_object_store(url.as_ref(), self.store());
        let remote = Arc::clone(&self.remote) as Arc<dyn ObjectStore>;
        runtime.register_object_store(store_url()?.as_ref(), remote);
        Ok(())
    }

    /// Returns the store for `file://`.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(self.tables.store()) as Arc<dyn ObjectStore>
    }

    /// Returns all tables but those by URL, by name. Blocks: it reads columns that no statement has
    /// asked for yet.
    pub fn summary(&self) -> Vec<TableSummary> {
        let files = self.tables.all().into_iter();
        let files = files.map(|(name, snapshot)| TableSummary::new(name, snapshot));
        let generated = self.tables.generated().map(|(name, columns)| TableSummary {
            name: name.to_owned(),
            contents: Ok(TableContents {
                columns,
                files: 0,
                bytes: 0,
            }),
        });
        let mut tables: Vec<_> = files.chain(generated).collect();
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables
    }
}

impl Tables {
    /// Looks at the tables by URL, at all at the same time, and returns them by name. It runs inside
    /// of a tokio runtime.
    pub async fn url_summary(&self) -> Vec<TableSummary> {
        let looks = self.tables.remote.iter().map(|(name, table)| async move {
            let snapshot = table.look().await;
            TableSummary::new(name.clone(), snapshot)
        });
        let mut tables = futures_util::future::join_all(looks).await;
        tables.sort_by(|a, b| a.name.cmp(&b.name));
        tables
    }

    /// The URLs of tables whose rows come unprotected, with the tables' names.
    pub fn open_urls(&self) -> Vec<(&str, &TableUrl)> {
        let tables = self.tables.remote.iter();
        let urls = tables.map(|(name, table)| (name.as_str(), table.url()));
        urls.filter(|(_, url)| url.is_open()).collect()
    }
}

impl TableSummary {
    fn new(name: String, snapshot: Result<Arc<Snapshot>, TablesError>) -> Self {
        let contents = snapshot.map(|snapshot| TableContents {
            columns: snapshot.table_schema().fields().len(),
            files: snapshot.files.len(),
            bytes: snapshot.files.iter().map(|file| file.meta.size).sum(),
        });
        Self { name, contents }
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("tables", &self.tables).finish()
    }
}

fn remote_tables(
    urls: &[(&str, &TableUrl)],
    has_tpch: bool,
    options: &UrlOptions,
) -> Result<(HashMap<String, RemoteTable>, RemoteStore), TablesError> {
    let (mut tables, mut store) = (HashMap::new(), RemoteStore::default());
    if urls.is_empty() {
        return Ok((tables, store));
    }
    let with_tls = urls.iter().any(|(_, url)| url.url().scheme() == "https");
    let client = remote::client(options, with_tls).map_err(|error| TablesError::Certificates {
        reason: format!("{error:#}"),
    })?;
    for (name, url) in urls {
        let file = Arc::new(RemoteFile::new((*url).clone(), client.clone()));
        store.add(name, &file);
        let table = RemoteTable::new((*name).to_owned(), file);
        let first = match tables.insert((*name).to_owned(), table) {
            Some(first) => first.url().to_string(),
            None if has_tpch && tpch::is_table(name) => "TPC-H".to_owned(),
            None => continue,
        };
        return Err(TablesError::SameName {
            table: (*name).to_owned(),
            first,
            second: url.to_string(),
        });
    }
    Ok((tables, store))
}

fn root(path: &Path) -> Result<Arc<Root>, TablesError> {
    let root = Root::new(path).map_err(|error| TablesError::io(path, &error))?;
    let is_text = |path: &str| !path.contains(|c: char| c.is_ascii_control());
    if !root.path().to_str().is_some_and(is_text) {
        return Err(TablesError::unreadable(
            path,
            "its path is not UTF-8, or has control characters",
        ));
    }
    Ok(Arc::new(root))
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
