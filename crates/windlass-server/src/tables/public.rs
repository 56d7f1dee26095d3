//! The schema `public`: what of files and of TPC-H is a table, looked up when a statement asks.
//!
//! A snapshot of each table is kept, and used as long as a listing finds the same files, by path, number, length and
//! time of the last write. Then nothing is opened, and the statistics that were read are there as well. If files have
//! changed, only those are read anew. A table that cannot be read keeps its error in the same way.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use datafusion::catalog::{MemTable, SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::TableType;

use super::blocking::blocking;
use super::error::TablesError;
use super::files_table::FilesTable;
use super::listing::{self, Listing, Place};
use super::snapshot::Snapshot;
use super::store::TablesStore;

/// The tables of all sources, shared by all sessions.
#[derive(Debug)]
pub(crate) struct PublicSchema {
    tables: Arc<CurrentTables>,
}

impl PublicSchema {
    pub(crate) fn new(tables: Arc<CurrentTables>) -> Self {
        Self { tables }
    }
}

#[async_trait]
impl SchemaProvider for PublicSchema {
    fn owner_name(&self) -> Option<&str> {
        None
    }

    /// Without tables that cannot be read: clients read the columns of all names, and would fail for one of them.
    fn table_names(&self) -> Vec<String> {
        let tables = self.tables.all().into_iter();
        let files = tables.filter(|(_, table)| table.is_ok()).map(|(name, _)| name);
        let mut names: Vec<_> = files.chain(self.tables.generated.keys().cloned()).collect();
        names.sort();
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(generated) = self.tables.generated.get(name) {
            return Ok(Some(Arc::clone(generated) as Arc<dyn TableProvider>));
        }
        let current = current(&self.tables, name).await?;
        Ok(current.map(|current| {
            let tables = Arc::clone(&self.tables);
            Arc::new(FilesTable::new(tables, name.to_owned(), current)) as Arc<dyn TableProvider>
        }))
    }

    /// Without a look at the files of a table that a listing has just found.
    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        if self.tables.is_known(name) {
            return Ok(Some(TableType::Base));
        }
        Ok(self.table(name).await?.map(|table| table.table_type()))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.generated.contains_key(name) || !matches!(self.tables.find(name), Ok(None))
    }
}

/// A snapshot, and the time before it was made.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) since: SystemTime,
    pub(crate) snapshot: Arc<Snapshot>,
}

/// Looks at the files of a table.
pub(crate) async fn current(tables: &Arc<CurrentTables>, name: &str) -> Result<Option<Current>> {
    let (tables, name) = (Arc::clone(tables), name.to_owned());
    let found = blocking(move || {
        let since = SystemTime::now();
        let found = tables.find(&name)?;
        Ok::<_, TablesError>(found.map(|snapshot| Current { since, snapshot }))
    });
    let found = found
        .await
        .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?;
    Ok(found?)
}

/// Snapshots of the tables that are files.
pub(crate) struct CurrentTables {
    places: Vec<Place>,
    store: Arc<TablesStore>,
    generated: HashMap<String, Arc<MemTable>>,
    known: Mutex<HashMap<String, Arc<Mutex<Known>>>>,
}

/// What the last look at a table found. Locked while files are opened, so that of many statements one reads them.
#[derive(Debug, Default)]
struct Known {
    /// The one that was good last, also if the table cannot be read at present.
    snapshot: Option<Arc<Snapshot>>,
    /// Why the files of this listing are no table.
    broken: Option<(Listing, TablesError)>,
}

impl CurrentTables {
    pub(crate) fn new(
        places: Vec<Place>,
        store: Arc<TablesStore>,
        generated: HashMap<String, Arc<MemTable>>,
    ) -> Self {
        Self {
            places,
            store,
            generated,
            known: Mutex::new(HashMap::new()),
        }
    }

    pub(crate) fn store(&self) -> &Arc<TablesStore> {
        &self.store
    }

    /// The tables that are no files, with the numbers of their columns.
    pub(crate) fn generated(&self) -> impl Iterator<Item = (&str, usize)> {
        let tables = self.generated.iter();
        tables.map(|(name, table)| (name.as_str(), table.schema().fields().len()))
    }

    /// The table of a name. Blocks.
    pub(crate) fn find(&self, name: &str) -> std::result::Result<Option<Arc<Snapshot>>, TablesError> {
        match listing::find(&self.places, name)? {
            Some(listing) => self.snapshot(name, &listing),
            None => Ok(None),
        }
    }

    /// All tables with their snapshots, or why there is none. Blocks.
    pub(crate) fn all(&self) -> Vec<(String, std::result::Result<Arc<Snapshot>, TablesError>)> {
        let (listings, errors) = listing::all(&self.places);
        for error in errors {
            tracing::warn!(%error, "a folder of tables cannot be listed");
        }
        lock(&self.known).retain(|name, _| listings.contains_key(name));
        let tables = listings.into_iter().filter_map(|(name, listing)| {
            if self.generated.contains_key(&name) {
                tracing::warn!(
                    table = name,
                    "a file has the name of a generated table, and is not read"
                );
                return None;
            }
            let snapshot = listing.and_then(|listing| self.snapshot(&name, &listing));
            snapshot.transpose().map(|snapshot| (name, snapshot))
        });
        tables.collect()
    }

    fn is_known(&self, name: &str) -> bool {
        self.generated.contains_key(name) || lock(&self.known).contains_key(name)
    }

    fn snapshot(
        &self,
        name: &str,
        listing: &Listing,
    ) -> std::result::Result<Option<Arc<Snapshot>>, TablesError> {
        let known = Arc::clone(lock(&self.known).entry(name.to_owned()).or_default());
        let mut known = lock(&known);
        if let Some(snapshot) = known.snapshot.as_ref().filter(|snapshot| snapshot.is_of(listing)) {
            return Ok(Some(Arc::clone(snapshot)));
        }
        if let Some((of, error)) = &known.broken
            && of.files == listing.files
            && of.path == listing.path
        {
            return Err(error.clone());
        }
        match Snapshot::new(listing, known.snapshot.as_deref(), &self.store) {
            Ok(snapshot) => {
                let snapshot = snapshot.map(Arc::new);
                known.snapshot.clone_from(&snapshot);
                known.broken = None;
                Ok(snapshot)
            }
            Err(error) => {
                tracing::warn!(table = name, %error, "a table cannot be read");
                // What the system said may change without the files: a permission, a limit.
                let lasts = !matches!(error, TablesError::Unopened { .. });
                known.broken = lasts.then(|| (listing.clone(), error.clone()));
                Err(error)
            }
        }
    }
}

impl fmt::Debug for CurrentTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentTables")
            .field("places", &self.places)
            .finish_non_exhaustive()
    }
}

/// What is behind these locks is replaced as a whole, so a panic leaves it as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
