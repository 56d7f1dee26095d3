//! The tables as a look at their files found them, shared by all sessions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use datafusion::catalog::{MemTable, TableProvider};
use datafusion::error::{DataFusionError, Result};
use pipeline_exec::lock;

use crate::blocking::blocking;

use super::error::TablesError;
use super::listing::{self, Listing, Place};
use super::snapshot::Snapshot;
use super::store::TablesStore;

/// `since` is before the snapshot was made.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) since: SystemTime,
    pub(crate) snapshot: Arc<Snapshot>,
}

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

pub(crate) struct CurrentTables {
    places: Vec<Place>,
    store: Arc<TablesStore>,
    pub(crate) generated: HashMap<String, Arc<MemTable>>,
    known: Mutex<HashMap<String, Arc<Mutex<Known>>>>,
}

/// The last look at a table. Locked while files are opened, so that one of many statements reads
/// them.
#[derive(Debug, Default)]
struct Known {
    /// The last good one, also while the table cannot be read.
    snapshot: Option<Arc<Snapshot>>,
    /// Why this listing is no table.
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

    /// With the numbers of their columns.
    pub(crate) fn generated(&self) -> impl Iterator<Item = (&str, usize)> {
        let tables = self.generated.iter();
        tables.map(|(name, table)| (name.as_str(), table.schema().fields().len()))
    }

    /// Blocks.
    pub(crate) fn find(&self, name: &str) -> std::result::Result<Option<Arc<Snapshot>>, TablesError> {
        match listing::find(&self.places, name)? {
            Some(listing) => self.snapshot(name, &listing),
            None => Ok(None),
        }
    }

    /// Blocks.
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

    pub(crate) fn is_known(&self, name: &str) -> bool {
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
                // A permission or a limit may change without the files.
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
