//! Whether a column has few values, as far as a plan can tell.

use std::collections::HashSet;

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, SortField};

use crate::filter::span;
use crate::partition::PARTITIONS;
use crate::table::TableSource;

/// Rows that are looked at of a table in memory.
const SAMPLE_ROWS: usize = 4_096;

/// False if that is not known.
pub(super) fn has_few_values(column: usize, table: &dyn TableSource) -> bool {
    let known = match table.is_loaded(&[column]) && table.morsels() > 0 {
        true => of_sample(column, table),
        false => of_statistics(column, table),
    };
    known.is_some_and(|values| values < PARTITIONS)
}

fn of_sample(column: usize, table: &dyn TableSource) -> Option<usize> {
    let mut reader = table.open(0, &[column]).ok()?;
    if let Some(codes) = reader.codes(column).ok()? {
        return Some(codes.values().len());
    }
    let values = reader.column(column).ok()?;
    let sample = values.slice(0, values.len().min(SAMPLE_ROWS));
    let converter = RowConverter::new(vec![SortField::new(sample.data_type().clone())]).ok()?;
    let rows = converter.convert_columns(&[sample]).ok()?;
    Some(rows.iter().collect::<HashSet<_>>().len())
}

fn of_statistics(column: usize, table: &dyn TableSource) -> Option<usize> {
    let data_type = table.schema().field(column).data_type().clone();
    if data_type.is_integer() || matches!(data_type, DataType::Date32 | DataType::Boolean) {
        let (least, greatest) = span(column, table)?;
        return Some((greatest - least) as usize + 1);
    }
    let is_short = |bound: Option<&ArrayRef>| {
        let text = cast(bound?, &DataType::Utf8).ok()?;
        Some(text.as_string::<i32>().value(0).len() <= 1)
    };
    // A longer text may lie between two letters, but is not likely to.
    let is_one_letter = |morsel| {
        let statistics = table.statistics(morsel, column);
        is_short(statistics.min()) == Some(true) && is_short(statistics.max()) == Some(true)
    };
    (0..table.morsels()).all(is_one_letter).then_some(1)
}
