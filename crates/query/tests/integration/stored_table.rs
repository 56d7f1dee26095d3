//! A table in memory that is fetched like a file or an object; a test observes and fails each step.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::SchemaRef;
use columnar::{ColumnStatistics, Fetched, Fetching, MorselReader, ReadError, StoredTable, TableSource};
use query::pipeline_exec::on_worker_thread;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// On the mixed pool.
    Fetching,
    Dropping,
    /// In a slot.
    Opening,
}

type Say = dyn Fn(Moment, usize) -> Result<(), String> + Send + Sync;

pub(crate) struct Stored {
    table: Arc<dyn TableSource>,
    say: Box<Say>,
    /// `None` if the fetch blocks.
    awaited: Option<Box<Await>>,
    futures: AtomicUsize,
    /// `None` if the bytes are not at hand.
    looks: Option<AtomicUsize>,
}

type Await = dyn Fn(usize) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

impl Stored {
    pub(crate) fn new(
        table: Arc<dyn TableSource>,
        say: impl Fn(Moment, usize) -> Result<(), String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::of(table, None, 0, say)
    }

    /// It can be awaited when it is asked, but not when it is read.
    pub(crate) fn awaited_once(
        table: Arc<dyn TableSource>,
        say: impl Fn(Moment, usize) -> Result<(), String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::of(table, Some(Box::new(|_| Box::pin(async {}))), 1, say)
    }

    pub(crate) fn awaited<F: Future<Output = ()> + Send + 'static>(
        table: Arc<dyn TableSource>,
        before: impl Fn(usize) -> F + Send + Sync + 'static,
        say: impl Fn(Moment, usize) -> Result<(), String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let awaited: Box<Await> = Box::new(move |morsel| Box::pin(before(morsel)));
        Self::of(table, Some(awaited), usize::MAX, say)
    }

    /// Its slots read by themselves.
    pub(crate) fn at_hand(
        table: Arc<dyn TableSource>,
        say: impl Fn(Moment, usize) -> Result<(), String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            table,
            say: Box::new(say),
            awaited: None,
            futures: AtomicUsize::new(0),
            looks: Some(AtomicUsize::new(0)),
        })
    }

    fn of(
        table: Arc<dyn TableSource>,
        awaited: Option<Box<Await>>,
        futures: usize,
        say: impl Fn(Moment, usize) -> Result<(), String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            table,
            say: Box::new(say),
            awaited,
            futures: AtomicUsize::new(futures),
            looks: None,
        })
    }

    /// How often it was asked whether bytes are at hand.
    pub(crate) fn looks(&self) -> usize {
        self.looks
            .as_ref()
            .map_or(0, |looks| looks.load(Ordering::Relaxed))
    }

    fn say(&self, moment: Moment, morsel: usize) -> Result<(), ReadError> {
        (self.say)(moment, morsel).map_err(|message| ReadError::new("stored", message))
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stored").field(&self.table).finish()
    }
}

impl TableSource for Stored {
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
        Some(self)
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.open_fetched(morsel, projection, self.fetch(morsel, projection)?)
    }
}

impl StoredTable for Stored {
    fn bytes_to_fetch(&self, morsel: usize, projection: &[usize]) -> usize {
        self.rows(morsel) * projection.len() * 8
    }

    fn is_at_hand(&self, _morsel: usize, _projection: &[usize]) -> bool {
        let looked = |looks: &AtomicUsize| looks.fetch_add(1, Ordering::Relaxed);
        self.looks.as_ref().map(looked).is_some()
    }

    fn fetch(&self, morsel: usize, projection: &[usize]) -> Result<Fetched, ReadError> {
        assert!(
            !on_worker_thread(),
            "a slot fetches morsel {morsel} of a streamed table"
        );
        self.say(Moment::Fetching, morsel)?;
        let bytes = vec![0; self.bytes_to_fetch(morsel, projection)];
        Ok(Fetched::new([(morsel as u64, bytes.into())]))
    }

    fn fetch_async<'a>(&'a self, morsel: usize, projection: &'a [usize]) -> Option<Fetching<'a>> {
        let before = self.awaited.as_ref()?;
        let left = |futures: usize| futures.checked_sub(1);
        self.futures
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left)
            .ok()?;
        Some(Box::pin(async move {
            let mut waiting = Waiting(self, Some(morsel));
            before(morsel).await;
            waiting.1 = None;
            self.fetch(morsel, projection)
        }))
    }

    fn open_fetched(
        &self,
        morsel: usize,
        projection: &[usize],
        fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let bytes = self.bytes_to_fetch(morsel, projection);
        let expected = match &self.looks {
            Some(_) => fetched.bytes() == 0,
            None => fetched.range(morsel as u64, bytes).is_some(),
        };
        assert!(expected, "morsel {morsel} is opened from another's bytes");
        self.say(Moment::Opening, morsel)?;
        self.table.open(morsel, projection)
    }
}

struct Waiting<'a>(&'a Stored, Option<usize>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(morsel) = self.1 {
            let _nobody = self.0.say(Moment::Dropping, morsel);
        }
    }
}
