//! Wraps another table and times its reading.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use columnar::{ColumnStatistics, Fetched, Fetching, MorselReader, ReadError, StoredTable, TableSource};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// While anything was being read.
    pub(crate) busy: Duration,
    /// Time of all morsels; concurrent ones count each.
    pub(crate) sum: Duration,
    /// Most morsels read at the same time.
    pub(crate) at_once: usize,
}

#[derive(Debug)]
pub(crate) struct Watched {
    table: Arc<dyn TableSource>,
    clock: Mutex<Clock>,
}

#[derive(Debug, Default)]
struct Clock {
    reading: Reading,
    now: usize,
    /// Start of the current uninterrupted reading.
    since: Option<Instant>,
}

impl Watched {
    pub(crate) fn new(table: Arc<dyn TableSource>) -> Arc<Self> {
        Arc::new(Self {
            table,
            clock: Mutex::default(),
        })
    }

    /// Reading since the last call.
    pub(crate) fn take(&self) -> Reading {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut clock.reading)
    }

    fn begin(&self) -> Running<'_> {
        let began = Instant::now();
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.now += 1;
        clock.since.get_or_insert(began);
        clock.reading.at_once = clock.reading.at_once.max(clock.now);
        drop(clock);
        Running { table: self, began }
    }

    fn stored(&self) -> &dyn StoredTable {
        self.table.as_stored().expect("only stored tables are watched")
    }
}

struct Running<'a> {
    table: &'a Watched,
    began: Instant,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut clock = self.table.clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.reading.sum += self.began.elapsed();
        clock.now -= 1;
        if clock.now == 0
            && let Some(since) = clock.since.take()
        {
            clock.reading.busy += since.elapsed();
        }
    }
}

impl TableSource for Watched {
    fn name(&self) -> &str {
        self.table.name()
    }

    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn morsels(&self) -> usize {
        self.table.morsels()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.table.rows(morsel)
    }

    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        self.table.statistics(morsel, column)
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        self.table.as_stored().map(|_| self as _)
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.open_fetched(morsel, projection, self.fetch(morsel, projection)?)
    }
}

impl StoredTable for Watched {
    fn bytes_to_fetch(&self, morsel: usize, projection: &[usize]) -> usize {
        self.stored().bytes_to_fetch(morsel, projection)
    }

    fn fetch(&self, morsel: usize, projection: &[usize]) -> Result<Fetched, ReadError> {
        let _running = self.begin();
        self.stored().fetch(morsel, projection)
    }

    fn fetch_async<'a>(&'a self, morsel: usize, projection: &'a [usize]) -> Option<Fetching<'a>> {
        let fetching = self.stored().fetch_async(morsel, projection)?;
        Some(Box::pin(async move {
            let _running = self.begin();
            fetching.await
        }))
    }

    fn requests(&self, morsel: usize, projection: &[usize]) -> usize {
        self.stored().requests(morsel, projection)
    }

    fn open_fetched(
        &self,
        morsel: usize,
        projection: &[usize],
        fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.stored().open_fetched(morsel, projection, fetched)
    }
}
