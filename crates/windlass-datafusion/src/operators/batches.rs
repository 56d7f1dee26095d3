//! Batches in memory as a table: each batch is a morsel, and none is copied.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use columnar::{MorselReader, ReadError, TableSource};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSource;

/// The batches of all partitions of a source in memory.
pub(super) struct Batches {
    source: Arc<dyn DataSource>,
    schema: SchemaRef,
    /// Partition and number of each batch that has rows.
    places: Vec<(usize, usize)>,
}

impl Batches {
    /// `None` if the source is not in memory.
    pub(super) fn of(source: Arc<dyn DataSource>) -> Option<Self> {
        let memory = source.downcast_ref::<MemorySourceConfig>()?;
        let schema = memory.original_schema();
        let mut places = Vec::new();
        for (partition, batches) in memory.partitions().iter().enumerate() {
            for (number, batch) in batches.iter().enumerate() {
                if batch.num_rows() > 0 {
                    places.push((partition, number));
                }
            }
        }
        Some(Self {
            source,
            schema,
            places,
        })
    }

    fn batch(&self, morsel: usize) -> &RecordBatch {
        let (partition, number) = self.places[morsel];
        let memory = self.source.downcast_ref::<MemorySourceConfig>();
        let memory = memory.expect("a source in memory, as in `of`");
        &memory.partitions()[partition][number]
    }
}

impl TableSource for Batches {
    fn name(&self) -> &str {
        "memory"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn morsels(&self) -> usize {
        self.places.len()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.batch(morsel).num_rows()
    }

    fn is_loaded(&self, _projection: &[usize]) -> bool {
        true
    }

    fn open(&self, morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(BatchReader(self.batch(morsel))))
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches")
            .field("batches", &self.places.len())
            .finish_non_exhaustive()
    }
}

struct BatchReader<'a>(&'a RecordBatch);

impl MorselReader for BatchReader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        Ok(Arc::clone(self.0.column(column)))
    }
}
