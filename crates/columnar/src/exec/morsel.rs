//! A morsel of a running slot: columns are read on first use and cut into chunks.
//!
//! The steps run over chunks of [`CHUNK_ROWS`], so each step finds the last one's output in the
//! core's cache. A chunk of a column is a slice, never a copy.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};

use crate::error::ExecError;
use crate::expr::ColumnSource;
use crate::memory::{BorrowedBuffer, MemoryPool, Reservation, RetainedSize};
use crate::table::{Fetched, MorselReader, ReadError, TableSource};

/// Rows of a chunk: 128 KiB of 64-bit values.
pub(crate) const CHUNK_ROWS: usize = 16_384;

pub(crate) struct Morsel<'t> {
    table: &'t dyn TableSource,
    index: usize,
    rows: usize,
    projection: &'t [usize],
    fetched: RefCell<Option<Fetched>>,
    reader: RefCell<Option<Box<dyn MorselReader + 't>>>,
    columns: RefCell<BTreeMap<usize, ArrayRef>>,
    borrowed: RefCell<Vec<BorrowedBuffer>>,
    reservation: RefCell<Reservation>,
}

impl<'t> Morsel<'t> {
    pub(crate) fn new(
        table: &'t dyn TableSource,
        index: usize,
        projection: &'t [usize],
        fetched: Option<Fetched>,
        pool: Option<&Arc<MemoryPool>>,
    ) -> Self {
        let rows = table.rows(index);
        Self {
            borrowed: RefCell::default(),
            reservation: RefCell::new(Reservation::of(pool.cloned())),
            table,
            index,
            rows,
            projection,
            fetched: RefCell::new(fetched),
            reader: RefCell::new(None),
            columns: RefCell::default(),
        }
    }

    pub(crate) fn chunks(&self, rows: Range<usize>) -> impl Iterator<Item = Chunk<'_, 't>> {
        let end = rows.end;
        rows.step_by(CHUNK_ROWS).map(move |start| Chunk {
            morsel: self,
            start,
            rows: CHUNK_ROWS.min(end - start),
        })
    }

    fn column(&self, column: usize) -> Result<ArrayRef, ExecError> {
        if let Some(values) = self.columns.borrow().get(&column) {
            return Ok(values.clone());
        }
        let mut reader = self.reader.borrow_mut();
        let reader = match &mut *reader {
            Some(reader) => reader,
            closed => closed.insert(self.open()?),
        };
        let mut reservation = self.reservation.borrow_mut();
        let before = reservation.bytes();
        let to_read = reader.bytes_to_read(column);
        reservation.grow(to_read)?;
        let values = reader.column(column)?;
        if to_read > 0 {
            reservation.resize(before + RetainedSize::by([&values], &self.borrowed.borrow()).own)?;
        } else if reader.bytes() == 0 {
            self.borrowed
                .borrow_mut()
                .extend(BorrowedBuffer::of_table(&values));
        }
        self.check(column, &values)?;
        self.columns.borrow_mut().insert(column, values.clone());
        Ok(values)
    }

    fn open(&self) -> Result<Box<dyn MorselReader + 't>, ExecError> {
        let Some(stored) = self.table.as_stored() else {
            let reader = self.table.open(self.index, self.projection)?;
            self.reservation.borrow_mut().resize(reader.bytes())?;
            return Ok(reader);
        };
        let mut reservation = self.reservation.borrow_mut();
        reservation.grow(stored.bytes_to_open(self.index, self.projection))?;
        let reader = match self.fetched.take() {
            Some(fetched) => {
                let borrowed: Vec<BorrowedBuffer> = fetched.ranges().map(BorrowedBuffer::fetched).collect();
                let reader = stored.open_fetched(self.index, self.projection, fetched)?;
                // A decoded reader shares nothing with its source.
                if reader.bytes() == 0 {
                    *self.borrowed.borrow_mut() = borrowed;
                }
                reader
            }
            None => self.table.open(self.index, self.projection)?,
        };
        reservation.resize(reader.bytes())?;
        Ok(reader)
    }

    /// Frees the columns that no array shares, and returns their reservation.
    pub(crate) fn into_charge(self) -> Reservation {
        self.reservation.take()
    }

    pub(crate) fn borrowed(&self) -> Ref<'_, Vec<BorrowedBuffer>> {
        self.borrowed.borrow()
    }

    /// A table's wrong column would give wrong results.
    fn check(&self, column: usize, values: &ArrayRef) -> Result<(), ReadError> {
        let schema = self.table.schema();
        let field = schema.field(column);
        let refuse = |message: String| {
            Err(ReadError::new(self.table.name(), message)
                .in_part(format!("morsel {}", self.index))
                .in_column(field.name()))
        };
        if values.len() != self.rows {
            return refuse(format!("{} values for {} rows", values.len(), self.rows));
        }
        if values.data_type() != field.data_type() {
            return refuse(format!(
                "values of type {}, not {}",
                values.data_type(),
                field.data_type()
            ));
        }
        Ok(())
    }
}

pub(crate) struct Chunk<'m, 't> {
    morsel: &'m Morsel<'t>,
    start: usize,
    rows: usize,
}

impl ColumnSource for Chunk<'_, '_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        Ok(self.morsel.column(index)?.slice(self.start, self.rows))
    }
}

/// Finished columns: the groups of an aggregation.
pub(crate) struct Columns<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: &'a [ArrayRef],
}

impl ColumnSource for Columns<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        Ok(self.columns[index].clone())
    }
}
