//! The generated tables: their rows, their partitions, and how much memory they take.

use datafusion::arrow::compute::concat_batches;
use datafusion::catalog::TableProvider as _;

use super::*;

fn generated(scale: f64, partitions: usize) -> HashMap<String, Arc<MemTable>> {
    generate(scale, NonZeroUsize::new(partitions).unwrap()).unwrap()
}

fn whole(pieces_max: usize, table: Table) -> RecordBatch {
    let pieces_max = NonZeroUsize::new(pieces_max).unwrap();
    let pieces: Vec<_> = table.pieces(0.01, pieces_max).collect();
    let mut tables = generate_pieces(&pieces, 0.01, pieces_max).unwrap();
    let (schema, partitions) = tables.remove(&table).unwrap();
    assert_eq!(partitions.len(), pieces.len());
    concat_batches(&schema, partitions.iter().flatten()).unwrap()
}

#[test]
fn rows_do_not_depend_on_the_partitions() {
    for table in Table::ALL {
        let one = whole(1, table);
        assert_eq!(one, whole(3, table), "{table:?}");
    }
    assert_eq!(whole(2, Table::Orders).num_rows(), 15_000);
}

#[test]
fn scales_outside_are_errors() {
    for scale in [0.0, 0.0009, 101.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = generate(scale, NonZeroUsize::MIN).unwrap_err();
        assert!(matches!(error, TablesError::Scale { .. }), "{error}");
    }
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let error = check(2.0, Some(4 << 30)).unwrap_err();
    assert!(matches!(error, TablesError::Memory { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "TPC-H at scale 2 takes about 4114 MiB of memory, of which 4096 MiB are available"
    );
    assert!(check(1.9, Some(4 << 30)).is_ok());
    assert!(check(100.0, None).is_ok());
}

#[test]
fn the_smallest_scale_has_all_tables() {
    let tables = generated(0.001, 2);
    assert_eq!(tables.len(), 8);
    assert_eq!(tables["lineitem"].schema().fields().len(), 16);
}

#[test]
fn the_estimate_of_memory_is_near_the_truth() {
    let pieces: Vec<_> = Table::ALL
        .into_iter()
        .flat_map(|table| table.pieces(0.05, NonZeroUsize::MIN))
        .collect();
    let tables = generate_pieces(&pieces, 0.05, NonZeroUsize::MIN).unwrap();
    let batches = tables.values().flat_map(|(_, partitions)| partitions).flatten();
    let bytes: usize = batches.map(RecordBatch::get_array_memory_size).sum();
    let estimate = BYTES_AT_1 * 0.05;
    let ratio = bytes as f64 / estimate;
    assert!(
        (0.8..=1.0).contains(&ratio),
        "{bytes} bytes, {ratio} of the estimate"
    );
}
