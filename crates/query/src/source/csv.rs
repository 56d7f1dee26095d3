//! CSV files as tables.
//!
//! ```text
//!   pieces   one pass: header, separator, pieces of whole records   (sequential: quotes decide what ends a record)
//!   survey   while the next pieces are read, a slot per piece: rows, and what each column's values look like
//!   infer    merge what the pieces say into one type per column
//!   read     a morsel is a piece; only the columns that a query reads become arrays
//! ```
//!
//! The reader passes over the file twice and never holds it whole. Its rules for types, missing
//! values and quotes:
//!
#![doc = include_str!("csv/rules.md")]

mod columns;
mod infer;
mod layout;
mod record;
mod value;

use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow::datatypes::{DataType, Field as ColumnField, Schema, SchemaRef};
use bytes::Bytes;
use columnar::{Fetched, Fetching, MorselReader, ReadError, StoredTable, TableSource};
use pipeline_exec::{Stage, StepCx, StepError, lock};
use pools::stream::{BatchSource, BatchStream, Weigh};

use self::columns::{ColumnBuilder, ValueFault};
use self::infer::{ColumnFacts, ColumnRule, column_rules};
use self::layout::{Header, PIECE_BYTES, Piece, Pieces, describe};
use self::record::{Field, RecordReader};
use super::byte_source::{self, LocalFile, SharedSource};
use super::opening::Opening;
use super::ready_columns::ReadyColumns;
use crate::error::QueryError;
use crate::windows::{Window, Windows};
use crate::work::Work;

const READ_AHEAD_BYTES: usize = 16 * PIECE_BYTES;

/// A CSV file with a header and inferred types.
#[derive(Debug)]
pub struct CsvTable {
    name: String,
    header: Header,
    schema: SchemaRef,
    /// In the schema's order.
    rules: Vec<ColumnRule>,
    morsels: Vec<Morsel>,
}

#[derive(Debug)]
struct Morsel {
    piece: Piece,
    rows: usize,
    /// The file's line, from 1, where the piece starts.
    first_line: u64,
}

impl CsvTable {
    /// Opens the file at `path` as the table `name`; a job infers types.
    ///
    /// # Errors
    ///
    /// [`QueryError::Read`] with path and line for an unreadable file, a repeated column name, a
    /// record whose field count differs from the header's, and broken quotes; why `work` stops.
    pub fn open(name: &str, path: impl AsRef<Path>, work: &Work) -> Result<Self, QueryError> {
        Self::of(name, LocalFile::shared(path.as_ref())?, &Opening::of(work)?)
    }

    pub(crate) fn of(name: &str, source: SharedSource, opening: &Opening<'_>) -> Result<Self, QueryError> {
        let (header, pieces) = Pieces::of(source, opening)?;
        let survey = Arc::new(Survey::new(header.clone()));
        survey_all(name, &survey, pieces, opening.work)?;
        let seen = std::mem::take(&mut *lock(&survey.pieces));
        let mut morsels = Vec::with_capacity(seen.len());
        let mut first_line = header.first_line;
        for (piece, outcome) in seen {
            let surveyed = match outcome {
                Some(Ok(surveyed)) => surveyed,
                Some(Err(PieceFault { line, message })) => {
                    return Err(header.fault(first_line + line, None, message).into());
                }
                None => {
                    return Err(QueryError::Internal {
                        message: format!("a piece of {name} was not looked at"),
                    });
                }
            };
            morsels.push(Morsel {
                piece,
                rows: surveyed.rows,
                first_line,
            });
            first_line += surveyed.lines;
        }
        let rules = column_rules(&lock(&survey.facts));
        let fields: Vec<ColumnField> = header
            .names
            .iter()
            .zip(&rules)
            .map(|(name, rule)| ColumnField::new(name, rule.data_type.clone(), true))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            header,
            schema: Arc::new(Schema::new(fields)),
            rules,
            morsels,
        })
    }
}

impl TableSource for CsvTable {
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

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.open_fetched(morsel, projection, self.fetch(morsel, projection)?)
    }
}

impl StoredTable for CsvTable {
    fn bytes_to_fetch(&self, morsel: usize, projection: &[usize]) -> usize {
        match projection {
            [] => 0,
            _ => self.morsels[morsel].piece.len,
        }
    }

    fn bytes_to_open(&self, morsel: usize, projection: &[usize]) -> usize {
        let Morsel { piece, rows, .. } = &self.morsels[morsel];
        let columns = projection
            .iter()
            .map(|&column| columns::bytes_ahead(&self.rules[column], *rows));
        // Texts are no longer than the piece, whose buffer doubles as it grows; a copy holds it
        // twice.
        let has_text = projection
            .iter()
            .any(|&column| self.rules[column].data_type == DataType::Utf8);
        let texts = if has_text { piece.len.saturating_mul(3) } else { 0 };
        columns.sum::<usize>().saturating_add(texts)
    }

    fn fetch(&self, morsel: usize, projection: &[usize]) -> Result<Fetched, ReadError> {
        if projection.is_empty() {
            return Ok(Fetched::default());
        }
        byte_source::fetch(self.header.source.as_ref(), &[self.morsels[morsel].piece.range()])
    }

    fn fetch_async<'a>(&'a self, morsel: usize, projection: &'a [usize]) -> Option<Fetching<'a>> {
        let source = self.header.source.as_awaited()?;
        let piece = self.morsels[morsel].piece;
        Some(Box::pin(async move {
            match projection {
                [] => Ok(Fetched::default()),
                _ => byte_source::fetch_async(source, &[piece.range()]).await,
            }
        }))
    }

    fn open_fetched(
        &self,
        morsel: usize,
        projection: &[usize],
        fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let Morsel {
            piece,
            rows,
            first_line,
        } = self.morsels[morsel];
        if projection.is_empty() {
            return Ok(Box::new(ReadyColumns::new(&[], [])));
        }
        let bytes = fetched.range(piece.offset, piece.len);
        let bytes = bytes.ok_or_else(|| self.header.changed())?;
        let mut builders: Vec<(usize, ColumnBuilder)> = projection
            .iter()
            .map(|&column| (column, ColumnBuilder::new(&self.rules[column], rows)))
            .collect();
        let mut records = Records::new(&self.header, &bytes);
        let mut read = 0;
        while let Some((line, fields)) = records
            .next()
            .map_err(|(line, message)| self.header.fault(first_line + line, None, message))?
        {
            read += 1;
            for (column, builder) in &mut builders {
                builder
                    .push(&fields[*column])
                    .map_err(|fault| self.value_fault(first_line + line, *column, &fields[*column], fault))?;
            }
        }
        if read != rows {
            return Err(self.header.changed());
        }
        let values = builders.into_iter().map(|(_, builder)| builder.finish());
        Ok(Box::new(ReadyColumns::made(projection, values)))
    }
}

impl CsvTable {
    fn value_fault(&self, line: u64, column: usize, field: &Field<'_>, fault: ValueFault) -> ReadError {
        let message = match fault {
            ValueFault::NotUtf8 => "the text is not UTF-8 (is the file Latin-1? convert it)".to_owned(),
            ValueFault::DoesNotFit => format!(
                "`{}` is no {}, which every value was when the file was opened; was it written to?",
                String::from_utf8_lossy(&field.content()),
                self.schema.field(column).data_type()
            ),
        };
        self.header.fault(line, Some(column), message)
    }
}

#[derive(Debug)]
struct PieceSurvey {
    rows: usize,
    lines: u64,
}

/// `line` counts from 0 at the piece's start.
#[derive(Debug)]
struct PieceFault {
    line: u64,
    message: String,
}

/// The error is the first faulty line's in any slot order.
#[derive(Debug)]
struct Survey {
    header: Header,
    facts: Mutex<Vec<ColumnFacts>>,
    /// In file order; `None` until the slot has run.
    pieces: Mutex<Vec<(Piece, Option<Looked>)>>,
}

type Looked = Result<PieceSurvey, PieceFault>;

impl Survey {
    fn new(header: Header) -> Self {
        Self {
            facts: Mutex::new(vec![ColumnFacts::default(); header.names.len()]),
            pieces: Mutex::default(),
            header,
        }
    }

    fn look(&self, bytes: &[u8]) -> Result<PieceSurvey, PieceFault> {
        let mut facts = vec![ColumnFacts::default(); self.header.names.len()];
        let mut rows = 0;
        let mut records = Records::new(&self.header, bytes);
        while let Some((_, fields)) = records
            .next()
            .map_err(|(line, message)| PieceFault { line, message })?
        {
            rows += 1;
            for (column, field) in facts.iter_mut().zip(fields) {
                column.add(field);
            }
        }
        for (column, seen) in lock(&self.facts).iter_mut().zip(&facts) {
            column.merge(seen);
        }
        Ok(PieceSurvey {
            rows,
            lines: records.reader.lines(),
        })
    }
}

fn survey_all(name: &str, survey: &Arc<Survey>, pieces: Pieces, work: &Work) -> Result<(), QueryError> {
    let run = work.begin(format!("reading {name}"))?;
    let windows = Windows {
        table: name.to_owned(),
        run: &run,
        bytes_max: READ_AHEAD_BYTES / 2,
    };
    let expected = survey.header.source.bytes().div_ceil(PIECE_BYTES as u64);
    run.progress
        .expect(usize::try_from(expected).unwrap_or(usize::MAX));
    let make = |batches: Vec<ReadPiece>| {
        let cost = batches.iter().map(|read| read.bytes.len() as u64).sum();
        let mut seen = lock(&survey.pieces);
        let first_slot = seen.len();
        seen.extend(batches.iter().map(|read| (read.piece, None)));
        let stage = Arc::new(Look {
            survey: Arc::clone(survey),
            first_slot,
            pieces: batches
                .into_iter()
                .map(|read| Mutex::new(Some(read.bytes)))
                .collect(),
        });
        Window {
            stage,
            first_slot,
            cost,
        }
    };
    work.block_on(async {
        let stream = BatchStream::read(&run.mixed, pieces, READ_AHEAD_BYTES);
        windows.run(stream, |_| 1, make, || false).await?;
        run.stop.check()
    })
}

pub(crate) struct ReadPiece {
    piece: Piece,
    bytes: Bytes,
}

impl Weigh for ReadPiece {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl BatchSource for Pieces {
    type Batch = ReadPiece;
    type Error = ReadError;

    fn next(&mut self) -> Result<Option<ReadPiece>, ReadError> {
        let read = Pieces::next(self)?;
        Ok(read.map(|(piece, bytes)| ReadPiece { piece, bytes }))
    }

    fn expected_bytes(&self) -> Option<usize> {
        Some(PIECE_BYTES)
    }
}

struct Look {
    survey: Arc<Survey>,
    first_slot: usize,
    pieces: Vec<Mutex<Option<Bytes>>>,
}

impl Stage for Look {
    fn name(&self) -> &str {
        "infer types"
    }

    fn slots(&self) -> usize {
        self.pieces.len()
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let bytes = lock(&self.pieces[slot]).take().ok_or("a slot ran twice")?;
        let outcome = self.survey.look(&bytes);
        lock(&self.survey.pieces)[self.first_slot + slot].1 = Some(outcome);
        Ok(())
    }
}

/// The line counts from 0 at the piece's start.
type OnLine<T> = (u64, T);

struct Records<'a> {
    reader: RecordReader<'a>,
    fields: Vec<Field<'a>>,
    width: usize,
}

impl<'a> Records<'a> {
    fn new(header: &Header, bytes: &'a [u8]) -> Self {
        Self {
            reader: RecordReader::new(bytes, header.delimiter, header.names.len()),
            fields: Vec::new(),
            width: header.names.len(),
        }
    }

    fn next(&mut self) -> Result<Option<OnLine<&[Field<'a>]>>, OnLine<String>> {
        loop {
            let line = self.reader.lines();
            let found = match self.reader.next_record(&mut self.fields) {
                Ok(None) => return Ok(None),
                Ok(Some(found)) => found,
                Err(fault) => return Err((line, describe(fault).to_owned())),
            };
            // A file of one column has NULLs as empty lines; others skip them.
            let blank = found == 1 && self.fields[0].raw.is_empty() && !self.fields[0].quoted;
            if blank && self.width > 1 {
                continue;
            }
            if found != self.width {
                let expected = self.width;
                return Err((
                    line,
                    format!("expected {expected} fields as in the header, found {found}"),
                ));
            }
            return Ok(Some((line, &self.fields)));
        }
    }
}
