//! A table whose columns are in memory, cut into morsels of a fixed number of rows.
//!
//! Row numbers alone decide where a morsel begins, so no result depends on the batches (a sum of
//! floats depends on the morsels).

mod column;

use std::fmt;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;

use self::column::Column;
use super::codes::Codes;
use super::read_error::ReadError;
use super::source::{MorselReader, TableSource};
use super::statistics::ColumnStatistics;

/// A table held as Arrow arrays.
///
/// ```
/// use std::sync::Arc;
/// use arrow::array::{ArrayRef, Int64Array, RecordBatch};
/// use columnar::{MemoryTable, TableSource};
///
/// let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
/// let batch = RecordBatch::try_from_iter([("n", values)])?;
/// let table = MemoryTable::try_new("numbers", batch.schema(), [batch])?;
/// assert_eq!(table.morsels(), 2);
/// assert_eq!(table.rows(1), 100_000 - 65_536);
/// # Ok::<(), arrow::error::ArrowError>(())
/// ```
pub struct MemoryTable {
    name: String,
    schema: SchemaRef,
    /// All have `MORSEL_ROWS` rows, except the last, which has at least one.
    morsels: Vec<Morsel>,
    shard_key: Option<Vec<usize>>,
}

struct Morsel {
    rows: usize,
    columns: Vec<Column>,
    /// Empty if nothing is known.
    statistics: Vec<ColumnStatistics>,
}

impl From<RecordBatch> for Morsel {
    fn from(batch: RecordBatch) -> Self {
        Self {
            rows: batch.num_rows(),
            columns: batch.columns().iter().cloned().map(Column::Values).collect(),
            statistics: Vec::new(),
        }
    }
}

impl Morsel {
    fn encoded(batch: RecordBatch) -> Result<Self, ArrowError> {
        let columns: Result<Vec<Column>, _> = batch.columns().iter().map(Column::encoded).collect();
        let columns = columns?;
        let types = batch.schema();
        let types = types.fields().iter().map(|field| field.data_type());
        let statistics = columns.iter().zip(types);
        Ok(Self {
            rows: batch.num_rows(),
            statistics: statistics
                .map(|(column, data_type)| column.statistics(data_type))
                .collect(),
            columns,
        })
    }
}

/// Rows in a morsel of a table in memory: a few columns of it fit in a core's cache.
pub const MORSEL_ROWS: usize = 65_536;

impl MemoryTable {
    /// A table of the rows of `batches`, in order.
    ///
    /// Batches of a multiple of [`MORSEL_ROWS`] rows are never copied.
    ///
    /// # Errors
    ///
    /// When a batch lacks the types of `schema`.
    pub fn try_new(
        name: impl Into<String>,
        schema: SchemaRef,
        batches: impl IntoIterator<Item = RecordBatch>,
    ) -> Result<Self, ArrowError> {
        Self::of(name.into(), schema, batches.into_iter().map(Ok), |batch| {
            Ok(batch.into())
        })
    }

    /// As [`try_new`](Self::try_new), in less memory, for a table that is queried often: decimals of
    /// at most 18 digits have 64 bits, and numbers, days and texts with few values in a morsel become
    /// [codes](super::Codes). The bounds of numbers and days are known, so that morsels can be
    /// skipped. Results are the same, most of them sooner.
    ///
    /// Each morsel is encoded as soon as its batches have come, on this thread, in about 20 ns for
    /// each value. So the rows of a reader are never in memory all at once as they came.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow::array::{ArrayRef, RecordBatch, StringArray};
    /// # use columnar::MemoryTable;
    /// let ways = (0..1_000).map(|n| ["air", "rail"][n % 2]);
    /// let ways: ArrayRef = Arc::new(StringArray::from_iter_values(ways));
    /// let batch = RecordBatch::try_from_iter([("way", ways)])?;
    /// let table = MemoryTable::try_encoded("shipments", batch.schema(), [Ok(batch)])?;
    /// assert_eq!(table.num_rows(), 1_000);
    /// # Ok::<(), arrow::error::ArrowError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error of `batches`. When a batch lacks the types of `schema`, or a morsel's texts
    /// are more than an array holds.
    pub fn try_encoded(
        name: impl Into<String>,
        schema: SchemaRef,
        batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
    ) -> Result<Self, ArrowError> {
        Self::of(name.into(), schema, batches, Morsel::encoded)
    }

    fn of(
        name: String,
        schema: SchemaRef,
        batches: impl IntoIterator<Item = Result<RecordBatch, ArrowError>>,
        morsel: impl Fn(RecordBatch) -> Result<Morsel, ArrowError>,
    ) -> Result<Self, ArrowError> {
        let mut morsels: Vec<Morsel> = Vec::new();
        let mut open: Vec<RecordBatch> = Vec::new();
        let mut open_rows = 0;
        for batch in batches {
            let batch = batch?;
            check_types(&schema, &batch)?;
            let mut start = 0;
            while start < batch.num_rows() {
                let rows = (MORSEL_ROWS - open_rows).min(batch.num_rows() - start);
                open.push(batch.slice(start, rows));
                open_rows += rows;
                start += rows;
                if open_rows == MORSEL_ROWS {
                    morsels.push(morsel(close(&schema, &mut open)?)?);
                    open_rows = 0;
                }
            }
        }
        if open_rows > 0 {
            morsels.push(morsel(close(&schema, &mut open)?)?);
        }
        Ok(Self {
            name,
            schema,
            morsels,
            shard_key: None,
        })
    }

    /// Sets bounds per morsel and column, `statistics[morsel][column]`.
    ///
    /// # Panics
    ///
    /// When `statistics` has not one entry per morsel and column.
    #[must_use]
    pub fn with_statistics(mut self, statistics: Vec<Vec<ColumnStatistics>>) -> Self {
        assert_eq!(statistics.len(), self.morsels.len(), "statistics of every morsel");
        for (columns, morsel) in statistics.into_iter().zip(&mut self.morsels) {
            assert_eq!(
                columns.len(),
                self.schema.fields().len(),
                "statistics of every column"
            );
            morsel.statistics = columns;
        }
        self
    }

    /// Sets the columns by which rows are best split: see [`TableSource::shard_key`].
    ///
    /// # Panics
    ///
    /// When there is no such column.
    #[must_use]
    pub fn with_shard_key(mut self, columns: Vec<usize>) -> Self {
        let count = self.schema.fields().len();
        assert!(
            columns.iter().all(|&column| column < count),
            "a shard key of the table's {count} columns"
        );
        self.shard_key = Some(columns);
        self
    }

    /// The number of rows of the table.
    pub fn num_rows(&self) -> usize {
        self.morsels.iter().map(|morsel| morsel.rows).sum()
    }
}

impl TableSource for MemoryTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn morsels(&self) -> usize {
        self.morsels.len()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.morsels[morsel].rows
    }

    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        let known = self.morsels[morsel].statistics.get(column);
        known.cloned().unwrap_or_default()
    }

    fn shard_key(&self) -> Option<&[usize]> {
        self.shard_key.as_deref()
    }

    fn is_loaded(&self, _projection: &[usize]) -> bool {
        true
    }

    fn open(&self, morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(MemoryReader(&self.morsels[morsel])))
    }
}

impl fmt::Debug for MemoryTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTable")
            .field("name", &self.name)
            .field("rows", &self.num_rows())
            .field("morsels", &self.morsels.len())
            .finish_non_exhaustive()
    }
}

struct MemoryReader<'a>(&'a Morsel);

impl MorselReader for MemoryReader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        match &self.0.columns[column] {
            Column::Values(values) => Ok(values.clone()),
            Column::Codes(_) => unreachable!("codes are asked for before values"),
        }
    }

    fn codes(&mut self, column: usize) -> Result<Option<Codes>, ReadError> {
        Ok(match &self.0.columns[column] {
            Column::Values(_) => None,
            Column::Codes(codes) => Some(codes.clone()),
        })
    }
}

fn check_types(schema: &SchemaRef, batch: &RecordBatch) -> Result<(), ArrowError> {
    let types_agree = schema.fields().len() == batch.num_columns()
        && schema
            .fields()
            .iter()
            .zip(batch.columns())
            .all(|(field, array)| field.data_type() == array.data_type());
    if types_agree {
        return Ok(());
    }
    Err(ArrowError::SchemaError(format!(
        "a batch has the columns {:?}, the table {schema:?}",
        batch.schema()
    )))
}

fn close(schema: &SchemaRef, open: &mut Vec<RecordBatch>) -> Result<RecordBatch, ArrowError> {
    let morsel = match open.as_slice() {
        [piece] => piece.clone(),
        pieces => concat_batches(schema, pieces)?,
    };
    open.clear();
    Ok(morsel)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, AsArray, Int64Array, RecordBatchOptions};
    use arrow::datatypes::{DataType, Field, Int64Type, Schema};

    use super::*;

    fn batch(values: std::ops::Range<i64>) -> RecordBatch {
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
        RecordBatch::try_from_iter([("n", values)]).unwrap()
    }

    fn read(table: &MemoryTable) -> Vec<i64> {
        let mut rows = Vec::new();
        for morsel in 0..table.morsels() {
            let column = table.open(morsel, &[0]).unwrap().column(0).unwrap();
            assert_eq!(column.len(), table.rows(morsel));
            rows.extend(column.as_primitive::<Int64Type>().values());
        }
        rows
    }

    #[test]
    fn morsels_begin_at_the_same_rows_however_the_batches_came() {
        let n = 3 * MORSEL_ROWS as i64 + 17;
        let schema = batch(0..1).schema();
        let one = MemoryTable::try_new("t", schema.clone(), [batch(0..n)]).unwrap();
        let steps = (0..n)
            .step_by(9_999)
            .map(|start| batch(start..(start + 9_999).min(n)));
        let many = MemoryTable::try_new("t", schema, steps).unwrap();
        for table in [&one, &many] {
            assert_eq!(table.morsels(), 4);
            assert_eq!(table.rows(0), MORSEL_ROWS);
            assert_eq!(table.rows(3), 17);
            assert_eq!(read(table), (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_morsel_inside_one_batch_shares_its_memory() {
        let batch = batch(0..2 * MORSEL_ROWS as i64);
        let start = batch.column(0).as_primitive::<Int64Type>().values().as_ptr();
        let table = MemoryTable::try_new("t", batch.schema(), [batch]).unwrap();
        let second = table.open(1, &[0]).unwrap().column(0).unwrap();
        assert_eq!(
            second.as_primitive::<Int64Type>().values().as_ptr(),
            start.wrapping_add(MORSEL_ROWS)
        );
    }

    #[test]
    fn no_rows_are_no_morsels_and_no_columns_still_count() {
        let empty = MemoryTable::try_new("t", batch(0..1).schema(), []).unwrap();
        assert_eq!((empty.morsels(), empty.num_rows()), (0, 0));

        let schema = Arc::new(Schema::empty());
        let options = RecordBatchOptions::new().with_row_count(Some(100_000));
        let rows = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
        let table = MemoryTable::try_new("t", schema, [rows]).unwrap();
        assert_eq!((table.morsels(), table.num_rows()), (2, 100_000));
    }

    #[test]
    fn an_error_of_the_batches_is_that_of_the_table() {
        let failed = ArrowError::ParseError("line 7".to_owned());
        let batches = [Ok(batch(0..5)), Err(failed)];
        let error = MemoryTable::try_encoded("t", batch(0..1).schema(), batches).unwrap_err();
        assert!(error.to_string().contains("line 7"), "{error}");
    }

    #[test]
    fn a_batch_of_other_types_is_an_error() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Utf8, true)]));
        let error = MemoryTable::try_new("t", schema, [batch(0..1)]).unwrap_err();
        assert!(error.to_string().contains("Int64"), "{error}");
    }
}
