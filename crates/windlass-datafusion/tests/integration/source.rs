//! A table of numbers that counts its batches, and can fail or never end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::{Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::SessionContext;
use futures_util::stream;
use pools::AsyncJob;

pub(crate) const BATCH_ROWS: usize = 1_000;

static SCHEMA: LazyLock<SchemaRef> =
    LazyLock::new(|| Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)])));

/// Its one column `n` has the numbers from 0 in each partition.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) partitions: usize,
    pub(crate) batches: usize,
    pub(crate) fault: Option<(usize, Fault)>,
    pub(crate) counts: Arc<Counts>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Error,
    Panic,
    /// Cancels the job around it and ends, as an operator does whose senders were dropped.
    Cancel,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    batches: AtomicUsize,
    open: AtomicUsize,
}

impl Numbers {
    pub(crate) fn new(partitions: usize, batches: usize) -> Numbers {
        Numbers {
            partitions,
            batches,
            fault: None,
            counts: Arc::default(),
        }
    }

    pub(crate) fn endless(partitions: usize) -> Numbers {
        Numbers::new(partitions, usize::MAX)
    }

    pub(crate) fn failing(self, at: usize, fault: Fault) -> Numbers {
        Numbers {
            fault: Some((at, fault)),
            ..self
        }
    }

    pub(crate) fn register_in(&self, session: &SessionContext) {
        let partition = || Arc::new(self.clone()) as Arc<dyn PartitionStream>;
        let partitions = (0..self.partitions).map(|_| partition()).collect();
        let table = StreamingTable::try_new(SCHEMA.clone(), partitions).expect("one schema");
        let before = session.register_table("numbers", Arc::new(table));
        before.expect("a session takes tables");
    }
}

impl Counts {
    pub(crate) fn batches(&self) -> usize {
        // Ordering: Relaxed. Tests wait for a value, or compare it with a bound.
        self.batches.load(Ordering::Relaxed)
    }

    pub(crate) fn open(&self) -> usize {
        // Ordering: Relaxed. As above.
        self.open.load(Ordering::Relaxed)
    }

    /// Returns the count once it stays the same for a while.
    pub(crate) fn settled_batches(&self) -> usize {
        let mut seen = self.batches();
        loop {
            thread::sleep(Duration::from_millis(100));
            let now = self.batches();
            if now == seen {
                return now;
            }
            seen = now;
        }
    }
}

impl PartitionStream for Numbers {
    fn schema(&self) -> &SchemaRef {
        &SCHEMA
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let open = Open::new(&self.counts);
        let (batches, fault) = (self.batches, self.fault);
        let rows = stream::unfold((0, open), move |(number, open)| async move {
            if number == batches {
                return None;
            }
            let item = match fault.filter(|&(at, _)| at == number) {
                None => Ok(open.batch(number)),
                Some((_, Fault::Error)) => Err(DataFusionError::Execution("out of numbers".to_owned())),
                Some((_, Fault::Panic)) => panic!("out of ink"),
                Some((_, Fault::Cancel)) => {
                    AsyncJob::current().expect("a job reads").cancel();
                    return None;
                }
            };
            Some((item, (number + 1, open)))
        });
        Box::pin(RecordBatchStreamAdapter::new(SCHEMA.clone(), rows))
    }
}

struct Open(Arc<Counts>);

impl Open {
    fn new(counts: &Arc<Counts>) -> Open {
        // Ordering: Relaxed. See `Counts::open`.
        counts.open.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(counts))
    }

    fn batch(&self, number: usize) -> RecordBatch {
        // Ordering: Relaxed. See `Counts::batches`.
        self.0.batches.fetch_add(1, Ordering::Relaxed);
        let first = (number * BATCH_ROWS) as i64;
        let numbers = Int64Array::from_iter_values(first..first + BATCH_ROWS as i64);
        RecordBatch::try_new(SCHEMA.clone(), vec![Arc::new(numbers)]).expect("one column")
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // Ordering: Relaxed. See `Counts::open`.
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}
