//! Folders of files as tables, and the tables of TPC-H.
//!
//! ```text
//!   --tables DIR        --table NAME=PATH        --tpch SCALE
//!        │                      │                      │
//!        └──── roots ───────────┘                      │
//!      listing: names → files, at each look-up         │
//!      snapshot: columns, kept while files are as they were
//!              └──────── schema `public` ──────────────┘
//!                              │ plans
//!      store `file://`: reads below the roots, writes nothing
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
//! It writes nothing, reads no compressed CSV, URLs or table formats (Delta, Iceberg), and does not
//! wait for writers: rename complete files into place, or first write to a name that begins with
//! `.`.

mod columns;
mod current;
mod error;
mod files_table;
mod listing;
mod partitions;
mod public;
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
use listing::{Place, table_name};
use public::PublicSchema;
use root::Root;
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

/// A table with a name of its own, parsed from `NAME=PATH`. The path may be a `file` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTable {
    name: String,
    path: PathBuf,
}

impl NamedTable {
    /// Returns the table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl FromStr for NamedTable {
    type Err = TablesError;

    fn from_str(given: &str) -> Result<Self, TablesError> {
        let wrong = |reason: &str| TablesError::argument(given, reason);
        let (name, path) = given
            .split_once('=')
            .ok_or_else(|| wrong("a table is given as NAME=PATH"))?;
        if name.is_empty() || table_name(name) != name {
            return Err(wrong("a table's name is of the characters a to z, 0 to 9 and _"));
        }
        let path = match path.split_once("://") {
            Some(("file", path)) if path.starts_with('/') && !path.contains('%') => path,
            Some(("file", _)) => return Err(wrong("a file's URL is file:/// and a path without %")),
            Some(_) => return Err(wrong("tables are files of this machine; no other URLs are read")),
            None => path,
        };
        if path.is_empty() {
            return Err(wrong("a table is given as NAME=PATH"));
        }
        Ok(Self {
            name: name.to_owned(),
            path: PathBuf::from(path),
        })
    }
}

/// The tables of a server. Clones share them.
#[derive(Clone)]
pub struct Tables {
    tables: Arc<CurrentTables>,
    schema: Arc<dyn SchemaProvider>,
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
    /// Looks at all sources, and generates TPC-H. Blocks; TPC-H at scale 10 takes a minute.
    ///
    /// # Errors
    ///
    /// If a source is missing or cannot be listed, if two tables have one name, or if TPC-H cannot
    /// be generated. An unreadable table fails only the statements that name it.
    pub fn new(sources: &[Source]) -> Result<Self, TablesError> {
        let mut roots = Vec::new();
        let mut places = Vec::new();
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
                Source::Named(named) => {
                    let root = root(&named.path)?;
                    roots.push(Arc::clone(&root));
                    places.push(Place::Table(named.name.clone(), root));
                }
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
            if tpch.is_some() && tpch::is_table(name) {
                let first = match listing {
                    Ok(listing) => listing.path.display().to_string(),
                    Err(error) => error.to_string(),
                };
                return Err(TablesError::SameName {
                    table: name.clone(),
                    first,
                    second: "TPC-H".to_owned(),
                });
            }
        }
        let generated = match tpch {
            Some((scale, partitions)) => tpch::generate(scale, partitions)?,
            None => HashMap::new(),
        };
        let store = Arc::new(TablesStore::new(roots));
        let tables = Arc::new(CurrentTables::new(places, store, generated));
        Ok(Self {
            schema: Arc::new(PublicSchema::new(Arc::clone(&tables))),
            tables,
        })
    }

    /// Gives a session these tables, and nothing else to read: as the schema `public` of a new
    /// catalog `windlass`. The session then reads `file://` by [`Self::store`].
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
        Ok(())
    }

    /// Returns the store for `file://`.
    pub fn store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(self.tables.store()) as Arc<dyn ObjectStore>
    }

    /// Returns all tables, by name. Blocks: it reads columns that no statement has asked for yet.
    pub fn summary(&self) -> Vec<TableSummary> {
        let files = self
            .tables
            .all()
            .into_iter()
            .map(|(name, snapshot)| TableSummary {
                name,
                contents: snapshot.map(|snapshot| TableContents {
                    columns: snapshot.table_schema().fields().len(),
                    files: snapshot.files.len(),
                    bytes: snapshot.files.iter().map(|file| file.meta.size).sum(),
                }),
            });
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

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("tables", &self.tables).finish()
    }
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
