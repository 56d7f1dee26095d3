//! TPC-H's eight tables, generated at the start and kept in memory.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{RecordBatch, RecordBatchReader};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::catalog::MemTable;
use pipeline_exec::lock;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use super::error::TablesError;
use crate::machine_memory;

const SCALES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// As in DataFusion.
const BATCH_ROWS: usize = 8_192;

/// Of all tables, at scale 1.
const BYTES_AT_1: f64 = 2.0e9;

/// The text that comments are cut from, which the generator keeps at any scale.
const BYTES_OF_TEXT: u64 = 300 << 20;

/// Longer generation logs its progress.
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// Bounds how far threads are ahead of their collector.
const BATCHES_WAITING: usize = 64;

/// With rows at scale 1. The largest is first, so that threads end together.
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

pub(crate) fn is_table(name: &str) -> bool {
    TABLES.iter().any(|(table, _)| *table == name)
}

/// `partitions` bounds each table's partitions; as many threads generate.
pub(crate) fn generate(
    scale: f64,
    partitions: NonZeroUsize,
) -> Result<HashMap<String, Arc<MemTable>>, TablesError> {
    check(scale, machine_memory::available())?;
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

fn check(scale: f64, available: Option<u64>) -> Result<(), TablesError> {
    if !SCALES.contains(&scale) {
        return Err(TablesError::Scale { scale });
    }
    let needed = BYTES_OF_TEXT + (BYTES_AT_1 * scale) as u64;
    match available {
        Some(available) if available < needed => Err(TablesError::Memory {
            scale,
            needed,
            available,
        }),
        _ => Ok(()),
    }
}

#[derive(Clone, Copy, Debug)]
struct Part {
    table: &'static str,
    scale: f64,
    /// From 1.
    number: i32,
    count: i32,
}

impl Part {
    /// Small tables have fewer partitions, each of a batch or more.
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

/// Plain threads, because the pools are idle until the server listens.
fn generate_parts(parts: &[Part], threads: NonZeroUsize) -> Result<Partitions, TablesError> {
    let left = Mutex::new(parts.iter().enumerate());
    let work = |batches: SyncSender<(usize, Result<RecordBatch, ArrowError>)>| {
        loop {
            let next = lock(&left).next();
            let Some((index, part)) = next else {
                return;
            };
            for batch in part.rows() {
                if batches.send((index, batch)).is_err() {
                    return;
                }
            }
        }
    };
    let generated = thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_WAITING);
        for _ in 0..threads.get().min(parts.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        receive(parts, receiver)
    })?;
    let mut partitions = Partitions::new();
    for (part, batches) in parts.iter().zip(generated) {
        let (_, table) = partitions
            .entry(part.table)
            .or_insert_with(|| (part.rows().schema(), Vec::new()));
        table.push(batches);
    }
    Ok(partitions)
}

/// Threads end early if one fails.
fn receive(
    parts: &[Part],
    receiver: Receiver<(usize, Result<RecordBatch, ArrowError>)>,
) -> Result<Vec<Vec<RecordBatch>>, TablesError> {
    let mut generated = vec![Vec::new(); parts.len()];
    let mut rows = 0;
    let mut reported = Instant::now();
    for (index, batch) in receiver {
        let batch = batch.map_err(|error| TablesError::Generate {
            reason: format!("{}: {error}", parts[index].table),
        })?;
        rows += batch.num_rows();
        generated[index].push(batch);
        if reported.elapsed() >= REPORT_EVERY {
            let percent = (100.0 * rows as f64 / rows_of(parts)).min(99.0) as u32;
            tracing::info!(rows, percent, "generating the tables of TPC-H");
            reported = Instant::now();
        }
    }
    Ok(generated)
}

fn rows_of(parts: &[Part]) -> f64 {
    let scale = parts.first().map_or(0.0, |part| part.scale);
    TABLES.iter().map(|(_, rows)| *rows as f64 * scale).sum()
}

#[cfg(test)]
mod tests;
