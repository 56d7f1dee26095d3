//! A morsel of a running slot: columns are read on first use and cut into chunks.
//!
//! The steps run over chunks of [`CHUNK_ROWS`], so each step finds the last one's output in the
//! core's cache. A chunk of a column is a slice, never a copy.

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;

use super::few_rows::FewRows;
use crate::error::ExecError;
use crate::expr::{Answered, ColumnSource, Expr, TextSearch, values_of};
use crate::filter::may_hold;
use crate::memory::{BorrowedBuffer, MemoryPool, Reservation, RetainedSize};
use crate::narrow::is_narrow;
use crate::table::{Codes, Fetched, MorselReader, PassingTexts, ReadError, TableSource};

/// Rows of a chunk: 128 KiB of 64-bit values.
pub(crate) const CHUNK_ROWS: usize = 16_384;

pub(crate) struct Morsel<'t> {
    table: &'t dyn TableSource,
    index: usize,
    rows: usize,
    projection: &'t [usize],
    fetched: RefCell<Option<Fetched>>,
    reader: RefCell<Option<Box<dyn MorselReader + 't>>>,
    /// Rows for which columns are read from now on.
    given: RefCell<Range<usize>>,
    columns: RefCell<BTreeMap<usize, Part<ArrayRef>>>,
    codes: RefCell<BTreeMap<usize, Option<Part<Codes>>>>,
    answered: Answered,
    passing: RefCell<BTreeMap<usize, Passing>>,
    /// One for each step of a filter behind which few rows are left.
    few: RefCell<Vec<FewRows>>,
    borrowed: RefCell<Vec<BorrowedBuffer>>,
    reservation: RefCell<Reservation>,
}

/// Values of some rows.
#[derive(Clone)]
struct Part<T> {
    rows: Range<usize>,
    values: T,
}

impl<T> Part<T> {
    /// Where `rows` of the morsel lie.
    fn place(&self, rows: &Range<usize>) -> Range<usize> {
        debug_assert!(self.rows.start <= rows.start && rows.end <= self.rows.end);
        rows.start - self.rows.start..rows.end - self.rows.start
    }
}

/// What a reader answered to a condition on a column.
struct Passing {
    condition: Expr,
    /// `None` if the column has to be read for it.
    texts: Option<Part<Box<dyn PassingTexts>>>,
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
            given: RefCell::new(0..rows),
            columns: RefCell::default(),
            codes: RefCell::default(),
            answered: Answered::default(),
            passing: RefCell::default(),
            few: RefCell::default(),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn chunks(&self, rows: Range<usize>) -> impl Iterator<Item = Chunk<'_, 't>> {
        let end = rows.end;
        rows.step_by(CHUNK_ROWS).map(move |start| Chunk {
            morsel: self,
            start,
            rows: CHUNK_ROWS.min(end - start),
            decoded: RefCell::default(),
        })
    }

    /// Whether statistics let a row meet `condition`, which cannot fail.
    pub(crate) fn may_meet(&self, condition: &Expr) -> bool {
        !may_hold(condition, self.table, &[self.index]).is_empty()
    }

    /// No other rows are asked for from now on.
    pub(crate) fn need(&self, rows: Range<usize>) {
        let is_known = *self.given.borrow() == rows;
        // A reader that is not open yet has nothing to leave out.
        if !is_known
            && let Some(reader) = &mut *self.reader.borrow_mut()
            && reader.need(rows.clone())
        {
            self.given.replace(rows);
        }
    }

    /// No other rows are likely to be asked for from now on. They ascend, and there are some.
    pub(crate) fn need_few(&self, rows: Vec<usize>) {
        self.few.borrow_mut().push(FewRows::new(rows));
    }

    fn column(&self, column: usize) -> Result<Part<ArrayRef>, ExecError> {
        if let Some(values) = self.columns.borrow().get(&column) {
            return Ok(values.clone());
        }
        let read = self.read(
            column,
            |reader| reader.column(column),
            |values| vec![values.clone()],
        );
        let values = read?;
        self.check_given(column, values.len(), values.data_type())?;
        let values = self.part(values);
        self.columns.borrow_mut().insert(column, values.clone());
        Ok(values)
    }

    fn part<T>(&self, values: T) -> Part<T> {
        let rows = self.given.borrow().clone();
        Part { rows, values }
    }

    fn codes(&self, column: usize) -> Result<Option<Part<Codes>>, ExecError> {
        if let Some(codes) = self.codes.borrow().get(&column) {
            return Ok(codes.clone());
        }
        let arrays = |codes: &Option<Codes>| match codes {
            Some(codes) => vec![codes.values().clone(), codes.rows().clone()],
            None => Vec::new(),
        };
        let codes = self.read(column, |reader| reader.codes(column), arrays)?;
        if let Some(codes) = &codes {
            self.check_given(column, codes.rows().len(), codes.values().data_type())?;
        }
        let codes = codes.map(|codes| self.part(codes));
        self.codes.borrow_mut().insert(column, codes.clone());
        Ok(codes)
    }

    /// The rows of `rows` that meet `condition`, if the reader can tell.
    fn rows_where(
        &self,
        condition: &TextSearch,
        rows: &Range<usize>,
    ) -> Result<Option<BooleanBuffer>, ExecError> {
        let column = condition.column();
        let is_known = |passing: &Passing| passing.condition.is(condition.expr());
        if !self.passing.borrow().get(&column).is_some_and(is_known) {
            let texts = match self.columns.borrow().contains_key(&column) {
                true => None,
                false => self.texts_where(condition)?,
            };
            let condition = condition.expr().clone();
            self.passing
                .borrow_mut()
                .insert(column, Passing { condition, texts });
        }
        let passing = self.passing.borrow();
        Ok(passing[&column].texts.as_ref().map(|part| {
            let place = part.place(rows);
            part.values.rows().slice(place.start, place.len())
        }))
    }

    fn texts_where(&self, condition: &TextSearch) -> Result<Option<Part<Box<dyn PassingTexts>>>, ExecError> {
        let column = condition.column();
        let texts = self.reserving(
            |reader| reader.bytes_to_read(column),
            |reader| reader.texts_where(column, condition),
            |texts, _, _| texts.as_ref().map_or(0, |texts| texts.bytes()),
        )?;
        if let Some(texts) = &texts {
            let field = self.table.schema();
            self.check_given(column, texts.rows().len(), field.field(column).data_type())?;
        }
        Ok(texts.map(|texts| self.part(texts)))
    }

    /// Whether values of a column may be known sooner than all.
    fn may_know_some(&self, column: usize) -> bool {
        !self.few.borrow().is_empty() || self.passing.borrow().contains_key(&column)
    }

    /// The values of a column in those of `rows` whose places are `kept`, if they are known sooner than
    /// the column.
    fn kept<I: Iterator<Item = usize>>(
        &self,
        column: usize,
        rows: &Range<usize>,
        kept: impl Fn() -> I,
    ) -> Result<Option<ArrayRef>, ExecError> {
        match self.passed(column, rows, &mut kept())? {
            Some(texts) => Ok(Some(texts)),
            None => self.few(column, rows, kept()),
        }
    }

    /// The texts of a column in those of `rows` whose places are `kept`, if all of them met a condition.
    fn passed(
        &self,
        column: usize,
        rows: &Range<usize>,
        kept: &mut dyn Iterator<Item = usize>,
    ) -> Result<Option<ArrayRef>, ExecError> {
        let passing = self.passing.borrow();
        let Some(part) = passing.get(&column).and_then(|passing| passing.texts.as_ref()) else {
            return Ok(None);
        };
        let place = part.place(rows);
        let texts = part.values.texts(&mut kept.map(|row| place.start + row));
        if let Some(texts) = &texts {
            let copied = texts.get_buffer_memory_size();
            self.reservation.borrow_mut().grow(copied)?;
        }
        Ok(texts)
    }

    /// The values of a column in those of `rows` whose places are `kept`, if the reader has them alone.
    fn few(
        &self,
        column: usize,
        rows: &Range<usize>,
        kept: impl Iterator<Item = usize>,
    ) -> Result<Option<ArrayRef>, ExecError> {
        let mut few = self.few.borrow_mut();
        let read = few.iter().position(|few| few.has(column));
        match read.or(few.len().checked_sub(1)) {
            Some(place) if !self.is_read(column) => {
                few[place].values(column, rows, kept, |rows| self.values_at(column, rows))
            }
            _ => Ok(None),
        }
    }

    fn is_read(&self, column: usize) -> bool {
        let codes = self.codes.borrow();
        self.columns.borrow().contains_key(&column) || codes.get(&column).is_some_and(Option::is_some)
    }

    fn values_at(&self, column: usize, rows: &[usize]) -> Result<Option<ArrayRef>, ExecError> {
        let values = self.reserving(
            |reader| reader.bytes_to_read_at(column, rows),
            |reader| reader.values_at(column, rows),
            |values, _, _| {
                let arrays: Vec<ArrayRef> = values.iter().cloned().collect();
                RetainedSize::by(&arrays, &self.borrowed.borrow()).own
            },
        )?;
        if let Some(values) = &values {
            self.check(column, rows.len(), values.len(), values.data_type())?;
        }
        Ok(values)
    }

    /// Reads with the most that a column takes reserved, then with what `arrays` keep.
    fn read<R>(
        &self,
        column: usize,
        read: impl FnOnce(&mut dyn MorselReader) -> Result<R, ReadError>,
        arrays: impl FnOnce(&R) -> Vec<ArrayRef>,
    ) -> Result<R, ExecError> {
        let bytes_to_read = |reader: &dyn MorselReader| reader.bytes_to_read(column);
        self.reserving(bytes_to_read, read, |found, reader, to_read| {
            let arrays = arrays(found);
            let mut borrowed = self.borrowed.borrow_mut();
            if to_read > 0 {
                return RetainedSize::by(&arrays, &borrowed).own;
            }
            if reader.bytes() == 0 {
                borrowed.extend(arrays.iter().flat_map(|array| BorrowedBuffer::of_table(array)));
            }
            0
        })
    }

    /// Reads with the most that reading takes reserved, then with the bytes that are `kept`.
    fn reserving<R>(
        &self,
        to_read: impl FnOnce(&dyn MorselReader) -> usize,
        read: impl FnOnce(&mut dyn MorselReader) -> Result<R, ReadError>,
        kept: impl FnOnce(&R, &dyn MorselReader, usize) -> usize,
    ) -> Result<R, ExecError> {
        let mut reader = self.reader()?;
        let mut reservation = self.reservation.borrow_mut();
        let before = reservation.bytes();
        let to_read = to_read(&*reader);
        reservation.grow(to_read)?;
        let found = read(&mut *reader)?;
        reservation.resize(before + kept(&found, &*reader, to_read))?;
        Ok(found)
    }

    /// It is opened on first use.
    fn reader(&self) -> Result<RefMut<'_, dyn MorselReader + 't>, ExecError> {
        let mut reader = self.reader.borrow_mut();
        if reader.is_none() {
            *reader = Some(self.open()?);
        }
        Ok(RefMut::map(reader, |reader| {
            reader.as_deref_mut().expect("it was opened here")
        }))
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

    /// The columns that were read, and their rows.
    pub(crate) fn columns_read(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        let columns = self.columns.borrow();
        let codes = self.codes.borrow();
        let mut read: BTreeMap<usize, Range<usize>> = BTreeMap::new();
        // A column that was read alone first, and then whole, counts as whole.
        read.extend(self.few.borrow().iter().flat_map(FewRows::columns_read));
        read.extend(columns.iter().map(|(column, part)| (*column, part.rows.clone())));
        let coded = codes
            .iter()
            .filter_map(|(column, part)| Some((*column, part.as_ref()?)));
        read.extend(coded.map(|(column, part)| (column, part.rows.clone())));
        let passing = self.passing.borrow();
        let searched = passing
            .iter()
            .filter_map(|(column, passing)| Some((*column, passing.texts.as_ref()?)));
        read.extend(searched.map(|(column, part)| (column, part.rows.clone())));
        read.into_iter()
    }

    /// Frees the columns that no array shares, and returns their reservation.
    pub(crate) fn into_charge(self) -> Reservation {
        self.reservation.take()
    }

    pub(crate) fn borrowed(&self) -> Ref<'_, Vec<BorrowedBuffer>> {
        self.borrowed.borrow()
    }

    fn check_given(&self, column: usize, rows: usize, data_type: &DataType) -> Result<(), ReadError> {
        self.check(column, self.given.borrow().len(), rows, data_type)
    }

    /// A table's wrong column would give wrong results.
    fn check(
        &self,
        column: usize,
        expected: usize,
        rows: usize,
        data_type: &DataType,
    ) -> Result<(), ReadError> {
        let schema = self.table.schema();
        let field = schema.field(column);
        let refuse = |message: String| {
            Err(ReadError::new(self.table.name(), message)
                .in_part(format!("morsel {}", self.index))
                .in_column(field.name()))
        };
        if rows != expected {
            return refuse(format!("{rows} values for {expected} rows"));
        }
        if data_type != field.data_type() && !is_narrow(data_type, field.data_type()) {
            return refuse(format!("values of type {data_type}, not {}", field.data_type()));
        }
        Ok(())
    }
}

pub(crate) struct Chunk<'m, 't> {
    morsel: &'m Morsel<'t>,
    start: usize,
    rows: usize,
    /// The values of a column that the morsel holds as codes, or whose rows all passed.
    decoded: RefCell<BTreeMap<usize, ArrayRef>>,
}

impl Chunk<'_, '_> {
    /// Its rows in the morsel.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.rows
    }

    /// As [`Morsel::may_meet`].
    pub(crate) fn may_meet(&self, condition: &Expr) -> bool {
        self.morsel.may_meet(condition)
    }
}

impl ColumnSource for Chunk<'_, '_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, index: usize) -> Result<ArrayRef, ExecError> {
        if let Some(values) = self.decoded.borrow().get(&index) {
            return Ok(values.clone());
        }
        if let Some(values) = self.morsel.kept(index, &self.range(), || 0..self.rows)? {
            self.decoded.borrow_mut().insert(index, values.clone());
            return Ok(values);
        }
        let Some(codes) = self.codes(index)? else {
            let part = self.morsel.column(index)?;
            let place = part.place(&self.range());
            return Ok(part.values.slice(place.start, place.len()));
        };
        let values = values_of(index, &codes)?;
        self.decoded.borrow_mut().insert(index, values.clone());
        Ok(values)
    }

    fn extremes(&self, index: usize) -> Option<[ArrayRef; 2]> {
        let known = self.morsel.table.statistics(self.morsel.index, index);
        Some(known.extremes()?.map(ArrayRef::clone))
    }

    fn codes(&self, index: usize) -> Result<Option<Codes>, ExecError> {
        let part = self.morsel.codes(index)?;
        Ok(part.map(|part| part.values.slice(part.place(&self.range()))))
    }

    fn answered(&self) -> Option<&Answered> {
        Some(&self.morsel.answered)
    }

    fn rows_where(&self, condition: &TextSearch) -> Result<Option<BooleanBuffer>, ExecError> {
        self.morsel.rows_where(condition, &self.range())
    }

    fn may_know_kept(&self, index: usize) -> bool {
        self.morsel.may_know_some(index)
    }

    fn kept(&self, index: usize, keep: &BooleanArray) -> Result<Option<ArrayRef>, ExecError> {
        let kept = || keep.values().set_indices();
        self.morsel.kept(index, &self.range(), kept)
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
