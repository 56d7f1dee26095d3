//! The tables as a look at their files or URLs found them, shared by all sessions.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use datafusion::catalog::{MemTable, TableProvider};
use datafusion::error::{DataFusionError, Result};
use pipeline_exec::lock;

use crate::blocking::blocking;

use super::error::TablesError;
use super::listed_snapshot::ListedSnapshot;
use super::listing::{self, Listing, Place};
use super::remote::RemoteTable;
use super::snapshot::Snapshot;
use super::store::TablesStore;

/// `since` is before the snapshot was made.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    pub(crate) since: SystemTime,
    pub(crate) snapshot: Arc<Snapshot>,
}

pub(crate) async fn current(tables: &Arc<CurrentTables>, name: &str) -> Result<Option<Current>> {
    if let Some(remote) = tables.remote.get(name) {
        let since = SystemTime::now();
        let snapshot = remote.look().await?;
        return Ok(Some(Current { since, snapshot }));
    }
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
    pub(crate) remote: HashMap<String, RemoteTable>,
    known: Mutex<HashMap<String, Arc<Mutex<Known>>>>,
}

/// The last look at a table. Locked while files are opened, so that one of many statements reads
/// them.
#[derive(Debug, Default)]
struct Known {
    /// The last good one, also while the table cannot be read.
    snapshot: Option<ListedSnapshot>,
    /// Why this listing is no table.
    broken: Option<(Listing, TablesError)>,
}

impl CurrentTables {
    pub(crate) fn new(
        places: Vec<Place>,
        store: Arc<TablesStore>,
        generated: HashMap<String, Arc<MemTable>>,
        remote: HashMap<String, RemoteTable>,
    ) -> Self {
        Self {
            places,
            store,
            generated,
            remote,
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

    /// Of local files. Blocks.
    pub(crate) fn find(&self, name: &str) -> std::result::Result<Option<Arc<Snapshot>>, TablesError> {
        match listing::find(&self.places, name)? {
            Some(listing) => self.snapshot(name, &listing),
            None => Ok(None),
        }
    }

    /// Of local files. Blocks.
    pub(crate) fn all(&self) -> Vec<(String, std::result::Result<Arc<Snapshot>, TablesError>)> {
        let (listings, errors) = listing::all(&self.places);
        for error in errors {
            tracing::warn!(%error, "a folder of tables cannot be listed");
        }
        lock(&self.known).retain(|name, _| listings.contains_key(name));
        let tables = listings.into_iter().filter_map(|(name, listing)| {
            if self.generated.contains_key(&name) || self.remote.contains_key(&name) {
                tracing::warn!(
                    table = name,
                    "a file has the name of a generated table or of a URL's, and is not read"
                );
                return None;
            }
            let snapshot = listing.and_then(|listing| self.snapshot(&name, &listing));
            snapshot.transpose().map(|snapshot| (name, snapshot))
        });
        tables.collect()
    }

    pub(crate) fn is_known(&self, name: &str) -> bool {
        self.generated.contains_key(name)
            || self.remote.get(name).is_some_and(RemoteTable::is_readable)
            || lock(&self.known).contains_key(name)
    }

    fn snapshot(
        &self,
        name: &str,
        listing: &Listing,
    ) -> std::result::Result<Option<Arc<Snapshot>>, TablesError> {
        let known = Arc::clone(lock(&self.known).entry(name.to_owned()).or_default());
        let mut known = lock(&known);
        if let Some(listed) = known.snapshot.as_ref().filter(|listed| listed.is_of(listing)) {
            return Ok(Some(Arc::clone(&listed.snapshot)));
        }
        if let Some((of, error)) = &known.broken
            && of.files == listing.files
            && of.path == listing.path
        {
            return Err(error.clone());
        }
        match ListedSnapshot::new(listing, known.snapshot.as_ref(), &self.store) {
            Ok(listed) => {
                let snapshot = listed.as_ref().map(|listed| Arc::clone(&listed.snapshot));
                known.snapshot = listed;
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
