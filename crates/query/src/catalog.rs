//! The tables a query may name.

use std::collections::BTreeMap;
use std::sync::Arc;

use columnar::TableSource;

use crate::error::QueryError;

/// Tables by name, found in any case, as SQL does with unquoted names.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use columnar::MemoryTable;
/// use query::Catalog;
///
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)])?;
/// let mut tables = Catalog::new();
/// tables.register(Arc::new(MemoryTable::try_new("Numbers", batch.schema(), [batch])?))?;
/// assert!(tables.get("NUMBERS").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tables: BTreeMap<String, Arc<dyn TableSource>>,
}

impl Catalog {
    /// No tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a table under its own name.
    ///
    /// # Errors
    ///
    /// [`QueryError::DuplicateTable`] when the name is taken, in any case.
    pub fn register(&mut self, table: Arc<dyn TableSource>) -> Result<(), QueryError> {
        let key = table.name().to_lowercase();
        if self.tables.contains_key(&key) {
            return Err(QueryError::DuplicateTable {
                name: table.name().to_owned(),
            });
        }
        self.tables.insert(key, table);
        Ok(())
    }

    /// The table of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn TableSource>> {
        self.tables.get(&name.to_lowercase())
    }

    /// The names of all tables, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.values().map(|table| table.name())
    }
}
