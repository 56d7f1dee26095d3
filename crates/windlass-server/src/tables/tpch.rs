//! The eight tables of TPC-H, generated when the server starts and kept in memory.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{RecordBatch, RecordBatchReader};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::MemTable;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use super::error::TablesError;
use super::memory;

/// The scales that are generated.
const SCALES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// Number of rows of a batch, as in DataFusion.
const BATCH_ROWS: usize = 8_192;

/// Number of bytes of all tables at scale 1.
const BYTES_AT_1: f64 = 2.0e9;

/// Generation that takes longer says how far it is, this often.
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// With the number of rows at scale 1; the largest first, so that threads end together.
const TABLES: [(&str, usize); 8] = [
    ("lineitem", 6_001_215),
    ("orders", 1_500_000),
    ("partsupp", 800_000),
    ("part", 200_000),
    ("customer", 150_000),
    ("supplier", 10_000),
    ("nation", 25),
    ("region", 5),
];

/// Whether one of the eight tables has this name.
pub(crate) fn is_table(name: &str) -> bool {
    TABLES.iter().any(|(table, _)| *table == name)
}

/// Generates the tables, each in at most this many partitions, with as many threads.
pub(crate) fn generate(
    scale: f64,
    partitions: NonZeroUsize,
) -> Result<HashMap<String, Arc<MemTable>>, TablesError> {
    if !SCALES.contains(&scale) {
        return Err(TablesError::Scale { scale });
    }
    let needed = (BYTES_AT_1 * scale) as u64;
    if let Some(available) = memory::available().filter(|available| *available < needed) {
        return Err(TablesError::Memory {
            scale,
            needed,
            available,
        });
    }
    let parts: Vec<Part> = TABLES
        .into_iter()
        .flat_map(|(table, rows)| Part::all(table, rows, scale, partitions))
        .collect();
    generate_parts(&parts, partitions)?
        .into_iter()
        .map(|(table, (schema, partitions))| {
            let table_of = |reason: datafusion::error::DataFusionError| TablesError::Generate {
                reason: format!("{table}: {reason}"),
            };
            let memory = MemTable::try_new(schema, partitions).map_err(table_of)?;
            Ok((table.to_owned(), Arc::new(memory)))
        })
        .collect()
}

/// A partition of a table.
#[derive(Clone, Copy, Debug)]
struct Part {
    table: &'static str,
    scale: f64,
    /// From 1.
    number: i32,
    count: i32,
}

impl Part {
    /// Small tables are in fewer partitions, each of at least a batch.
    fn all(
        table: &'static str,
        rows_at_1: usize,
        scale: f64,
        partitions: NonZeroUsize,
    ) -> impl Iterator<Item = Self> {
        let is_scaled = !matches!(table, "nation" | "region");
        let rows = if is_scaled { rows_at_1 as f64 * scale } else { 1.0 };
        let batches = (rows / BATCH_ROWS as f64).ceil().max(1.0) as usize;
        let count = i32::try_from(batches.min(partitions.get())).unwrap_or(i32::MAX);
        (1..=count).map(move |number| Self {
            table,
            scale,
            number,
            count,
        })
    }

    fn rows(&self) -> Box<dyn RecordBatchReader> {
        macro_rules! rows {
            ($arrow:ident, $generator:ident) => {
                Box::new(
                    $arrow::new($generator::new(self.scale, self.number, self.count))
                        .with_batch_size(BATCH_ROWS),
                )
            };
        }
        match self.table {
            "customer" => rows!(CustomerArrow, CustomerGenerator),
            "lineitem" => rows!(LineItemArrow, LineItemGenerator),
            "nation" => rows!(NationArrow, NationGenerator),
            "orders" => rows!(OrderArrow, OrderGenerator),
            "part" => rows!(PartArrow, PartGenerator),
            "partsupp" => rows!(PartSuppArrow, PartSuppGenerator),
            "region" => rows!(RegionArrow, RegionGenerator),
            _ => rows!(SupplierArrow, SupplierGenerator),
        }
    }
}

type Partitions = HashMap<&'static str, (SchemaRef, Vec<Vec<RecordBatch>>)>;

/// Plain threads, since the pools have nothing else to do before the server listens.
fn generate_parts(parts: &[Part], threads: NonZeroUsize) -> Result<Partitions, TablesError> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let rows_done = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let work = |sender: mpsc::Sender<_>| {
        // Ordering: Relaxed, all. The counters order nothing; batches go through the channel.
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let reader = part.rows();
            let schema = reader.schema();
            let mut batches = Vec::new();
            for batch in reader {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(batch) = &batch {
                    rows_done.fetch_add(batch.num_rows(), Ordering::Relaxed);
                }
                batches.push(batch);
            }
            let batches: Result<Vec<RecordBatch>, _> = batches.into_iter().collect();
            if sender.send((*part, schema, batches)).is_err() {
                return;
            }
        }
    };
    let expected: usize = TABLES
        .iter()
        .map(|(_, rows)| (*rows as f64 * parts.first().map_or(0.0, |part| part.scale)) as usize)
        .sum();
    let result = thread::scope(|scope| {
        for _ in 0..threads.get().min(parts.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        let received = receive(&receiver, || {
            // Ordering: Relaxed. Progress.
            let rows = rows_done.load(Ordering::Relaxed);
            let percent = (100 * rows / expected.max(1)).min(99);
            tracing::info!(rows, percent, "generating the tables of TPC-H");
        });
        // Ordering: Relaxed. A hint; the scope joins the threads.
        stop.store(received.is_err(), Ordering::Relaxed);
        received
    });
    let mut received = result?;
    received.sort_by_key(|(part, ..)| part.number);
    let mut partitions = Partitions::new();
    for (part, schema, batches) in received {
        let table = partitions
            .entry(part.table)
            .or_insert_with(|| (schema, Vec::new()));
        table.1.push(batches);
    }
    Ok(partitions)
}

type Message = (
    Part,
    SchemaRef,
    Result<Vec<RecordBatch>, datafusion::arrow::error::ArrowError>,
);

fn receive(
    parts: &mpsc::Receiver<Message>,
    mut report: impl FnMut(),
) -> Result<Vec<(Part, SchemaRef, Vec<RecordBatch>)>, TablesError> {
    let mut received = Vec::new();
    let mut reported = Instant::now();
    loop {
        match parts.recv_timeout(REPORT_EVERY) {
            Ok((part, schema, batches)) => {
                let batches = batches.map_err(|error| TablesError::Generate {
                    reason: format!("{}: {error}", part.table),
                })?;
                received.push((part, schema, batches));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(received),
        }
        if reported.elapsed() >= REPORT_EVERY {
            report();
            reported = Instant::now();
        }
    }
}
