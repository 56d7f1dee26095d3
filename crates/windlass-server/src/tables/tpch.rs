//! TPC-H's eight tables, generated at the start and kept in memory.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{RecordBatch, RecordBatchReader as _};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::catalog::MemTable;
use pipeline_exec::lock;
use tpch_tables::{Piece, Table};

use super::error::TablesError;
use crate::machine_memory;

const SCALES: std::ops::RangeInclusive<f64> = 0.001..=100.0;

/// Of all tables, at scale 1.
const BYTES_AT_1: f64 = 2.0e9;

/// The text that comments are cut from, which the generator keeps at any scale.
const BYTES_OF_TEXT: u64 = 300 << 20;

/// Longer generation logs its progress.
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// Bounds how far threads are ahead of their collector.
const BATCHES_WAITING: usize = 64;

pub(crate) fn is_table(name: &str) -> bool {
    Table::ALL.iter().any(|table| table.name() == name)
}

/// `partitions` bounds each table's partitions; as many threads generate.
pub(crate) fn generate(
    scale: f64,
    partitions: NonZeroUsize,
) -> Result<HashMap<String, Arc<MemTable>>, TablesError> {
    check(scale, machine_memory::available())?;
    let pieces: Vec<Piece> = Table::ALL
        .into_iter()
        .flat_map(|table| table.pieces(scale, partitions))
        .collect();
    generate_pieces(&pieces, scale, partitions)?
        .into_iter()
        .map(|(table, (schema, partitions))| {
            let table_of = |reason: datafusion::error::DataFusionError| TablesError::Generate {
                reason: format!("{}: {reason}", table.name()),
            };
            let memory = MemTable::try_new(schema, partitions).map_err(table_of)?;
            Ok((table.name().to_owned(), Arc::new(memory)))
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

type Partitions = HashMap<Table, (SchemaRef, Vec<Vec<RecordBatch>>)>;

/// Plain threads, because the pools are idle until the server listens.
fn generate_pieces(pieces: &[Piece], scale: f64, threads: NonZeroUsize) -> Result<Partitions, TablesError> {
    let left = Mutex::new(pieces.iter().enumerate());
    let work = |batches: SyncSender<(usize, Result<RecordBatch, ArrowError>)>| {
        loop {
            let next = lock(&left).next();
            let Some((index, piece)) = next else {
                return;
            };
            for batch in piece.rows() {
                if batches.send((index, batch)).is_err() {
                    return;
                }
            }
        }
    };
    let generated = thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_WAITING);
        for _ in 0..threads.get().min(pieces.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        receive(pieces, scale, receiver)
    })?;
    let mut partitions = Partitions::new();
    for (piece, batches) in pieces.iter().zip(generated) {
        let (_, table) = partitions
            .entry(piece.table())
            .or_insert_with(|| (piece.rows().schema(), Vec::new()));
        table.push(batches);
    }
    Ok(partitions)
}

/// Threads end early if one fails.
fn receive(
    pieces: &[Piece],
    scale: f64,
    receiver: Receiver<(usize, Result<RecordBatch, ArrowError>)>,
) -> Result<Vec<Vec<RecordBatch>>, TablesError> {
    let mut generated = vec![Vec::new(); pieces.len()];
    let rows_of_all = scale * Table::ALL.map(Table::rows_at_1).iter().sum::<usize>() as f64;
    let mut rows = 0;
    let mut reported = Instant::now();
    for (index, batch) in receiver {
        let batch = batch.map_err(|error| TablesError::Generate {
            reason: format!("{}: {error}", pieces[index].table().name()),
        })?;
        rows += batch.num_rows();
        generated[index].push(batch);
        if reported.elapsed() >= REPORT_EVERY {
            let percent = (100.0 * rows as f64 / rows_of_all).min(99.0) as u32;
            tracing::info!(rows, percent, "generating the tables of TPC-H");
            reported = Instant::now();
        }
    }
    Ok(generated)
}

#[cfg(test)]
mod tests;
