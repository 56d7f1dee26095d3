//! The schema `public`: a statement's look-up finds the tables.
//!
//! A table's snapshot is kept while a listing finds the same files, by path, inode, length and time
//! of the last write. Then no file is opened. Only changed files are read anew. Errors are kept
//! likewise. A table by URL is looked at when a statement names it; lists of names show it if the
//! last look was good, so that no list waits for a server.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::TableType;

use super::current::{CurrentTables, current};
use super::files_table::FilesTable;

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

    /// Omits unreadable tables: clients read the columns of all names, and would fail.
    fn table_names(&self) -> Vec<String> {
        let tables = self.tables.all().into_iter();
        let files = tables.filter(|(_, table)| table.is_ok()).map(|(name, _)| name);
        let remote = self.tables.remote.iter();
        let remote = remote
            .filter(|(_, table)| table.is_readable())
            .map(|(name, _)| name.clone());
        let generated = self.tables.generated.keys().cloned();
        let mut names: Vec<_> = files.chain(remote).chain(generated).collect();
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

    /// A listing has just found the table, so its files are not looked at.
    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        if self.tables.is_known(name) {
            return Ok(Some(TableType::Base));
        }
        Ok(self.table(name).await?.map(|table| table.table_type()))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables.generated.contains_key(name)
            || self.tables.remote.contains_key(name)
            || !matches!(self.tables.find(name), Ok(None))
    }
}
