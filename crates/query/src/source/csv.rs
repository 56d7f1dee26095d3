//! CSV files as tables.
//!
//! ```text
//!   layout   one pass: header, separator, pieces of whole records   (sequential: quotes decide what ends a record)
//!   survey   a job, one slot per piece: rows, and what each column's values look like
//!   infer    merge what the pieces say into one type per column
//!   read     a morsel is a piece; only the columns that a query reads become arrays
//! ```
//!
//! The file is read three times and never held as a whole. The rules for types, missing values and quotes:
//!
#![doc = include_str!("csv/rules.md")]

mod columns;
mod infer;
mod layout;
mod record;
mod value;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow::datatypes::{Field as ColumnField, Schema, SchemaRef};
use columnar::{MorselReader, ReadError, TableSource};
use pipeline_exec::{Job, Stage, StepCx, StepError};

use self::columns::{ColumnBuilder, ValueFault};
use self::infer::{ColumnFacts, ColumnRule, column_rules};
use self::layout::{Layout, Piece, describe};
use self::record::{Field, RecordReader};
use super::JobRunner;
use super::ready_columns::ReadyColumns;
use crate::QueryError;

/// A CSV file with a header, its types inferred from every value.
#[derive(Debug)]
pub struct CsvTable {
    name: String,
    layout: Arc<Layout>,
    schema: SchemaRef,
    /// By column, as the schema's fields.
    rules: Vec<ColumnRule>,
    morsels: Vec<Morsel>,
}

#[derive(Debug)]
struct Morsel {
    piece: Piece,
    rows: usize,
    /// The line of the file, from 1, where it starts.
    first_line: u64,
}

impl CsvTable {
    /// Opens the file at `path` as the table `name`: looks at every value of it, as a job that `runner` runs.
    ///
    /// # Errors
    ///
    /// [`QueryError::Read`] with path, line and what was expected and found, for a file that cannot be read, has two columns of
    /// one name, a record with another number of fields than the header, or broken quotes; what `runner` fails
    /// with.
    pub fn open(name: &str, path: impl AsRef<Path>, runner: &impl JobRunner) -> Result<Self, QueryError> {
        let layout = Arc::new(Layout::of(path.as_ref())?);
        let survey = Arc::new(Survey::new(layout.clone()));
        if !layout.pieces.is_empty() {
            runner.run(Job::builder(name.to_owned()).stage(survey.clone()).build())?;
        }
        let mut morsels = Vec::with_capacity(layout.pieces.len());
        let mut first_line = layout.first_line;
        for (cell, &piece) in survey.pieces.iter().zip(&layout.pieces) {
            let Some(outcome) = cell.get() else {
                return Err(QueryError::Internal {
                    message: format!("a piece of {name} was not looked at"),
                });
            };
            let surveyed = match outcome {
                Ok(surveyed) => surveyed,
                Err(PieceFault::Record { line, message }) => {
                    return Err(layout.fault(first_line + line, None, message.clone()).into());
                }
                Err(PieceFault::Read) => {
                    // The error itself cannot be shared; reading again gives it, or the file is back.
                    layout.bytes(piece)?;
                    return Err(layout.changed().into());
                }
            };
            morsels.push(Morsel {
                piece,
                rows: surveyed.rows,
                first_line,
            });
            first_line += surveyed.lines;
        }
        let rules = column_rules(&survey.facts());
        let fields: Vec<ColumnField> = layout
            .names
            .iter()
            .zip(&rules)
            .map(|(name, rule)| ColumnField::new(name, rule.data_type.clone(), true))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            layout,
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

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let Morsel {
            piece,
            rows,
            first_line,
        } = self.morsels[morsel];
        if projection.is_empty() {
            return Ok(Box::new(ReadyColumns::new(&[], [])));
        }
        let bytes = self.layout.bytes(piece)?;
        let mut builders: Vec<(usize, ColumnBuilder)> = projection
            .iter()
            .map(|&column| (column, ColumnBuilder::new(&self.rules[column], rows)))
            .collect();
        let mut records = Records::new(&self.layout, &bytes);
        let mut read = 0;
        while let Some((line, fields)) = records
            .next()
            .map_err(|(line, message)| self.layout.fault(first_line + line, None, message))?
        {
            read += 1;
            for (column, builder) in &mut builders {
                builder
                    .push(&fields[*column])
                    .map_err(|fault| self.value_fault(first_line + line, *column, &fields[*column], fault))?;
            }
        }
        if read != rows {
            return Err(self.layout.changed());
        }
        let values = builders.into_iter().map(|(_, builder)| builder.finish());
        Ok(Box::new(ReadyColumns::new(projection, values)))
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
        self.layout.fault(line, Some(column), message)
    }
}

/// The size of one piece.
#[derive(Debug)]
struct PieceSurvey {
    rows: usize,
    lines: u64,
}

#[derive(Debug)]
enum PieceFault {
    /// A record cannot be read; `line` counts from the start of the piece, from 0.
    Record { line: u64, message: String },
    /// The file cannot be read any more.
    Read,
}

/// Looks at every value, one slot per piece. A fault of the data is kept in its piece's cell, so that the error
/// is always that of the first faulty line, whichever piece was looked at first. What the values look like is the same in
/// whatever order pieces add to it, so it is kept once: a file can have many columns and many pieces.
#[derive(Debug)]
struct Survey {
    layout: Arc<Layout>,
    facts: Mutex<Vec<ColumnFacts>>,
    pieces: Vec<OnceLock<Result<PieceSurvey, PieceFault>>>,
}

impl Survey {
    fn new(layout: Arc<Layout>) -> Self {
        let pieces = layout.pieces.iter().map(|_| OnceLock::new()).collect();
        let facts = Mutex::new(vec![ColumnFacts::default(); layout.names.len()]);
        Self {
            layout,
            facts,
            pieces,
        }
    }

    /// What all pieces that were looked at say about each column.
    fn facts(&self) -> MutexGuard<'_, Vec<ColumnFacts>> {
        // A panic in a slot fails the job, and then nobody asks.
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self, piece: Piece) -> Result<PieceSurvey, PieceFault> {
        let bytes = self.layout.bytes(piece).map_err(|_| PieceFault::Read)?;
        let mut facts = vec![ColumnFacts::default(); self.layout.names.len()];
        let mut rows = 0;
        let mut records = Records::new(&self.layout, &bytes);
        while let Some((_, fields)) = records
            .next()
            .map_err(|(line, message)| PieceFault::Record { line, message })?
        {
            rows += 1;
            for (column, field) in facts.iter_mut().zip(fields) {
                column.add(field);
            }
        }
        for (column, seen) in self.facts().iter_mut().zip(&facts) {
            column.merge(seen);
        }
        Ok(PieceSurvey {
            rows,
            lines: records.reader.lines(),
        })
    }
}

impl Stage for Survey {
    fn name(&self) -> &str {
        "infer types"
    }

    fn slots(&self) -> usize {
        self.pieces.len()
    }

    fn run(&self, slot: usize, _cx: &StepCx<'_>) -> Result<(), StepError> {
        let outcome = self.look(self.layout.pieces[slot]);
        assert!(self.pieces[slot].set(outcome).is_ok(), "each slot runs once");
        Ok(())
    }
}

/// Something and the line where it starts, counted from the start of the piece, from 0.
type OnLine<T> = (u64, T);

/// The records of a piece that are rows, each with as many fields as the header.
struct Records<'a> {
    reader: RecordReader<'a>,
    fields: Vec<Field<'a>>,
    width: usize,
}

impl<'a> Records<'a> {
    fn new(layout: &Layout, bytes: &'a [u8]) -> Self {
        Self {
            reader: RecordReader::new(bytes, layout.delimiter, layout.names.len()),
            fields: Vec::new(),
            width: layout.names.len(),
        }
    }

    /// The next row.
    fn next(&mut self) -> Result<Option<OnLine<&[Field<'a>]>>, OnLine<String>> {
        loop {
            let line = self.reader.lines();
            let found = match self.reader.next_record(&mut self.fields) {
                Ok(None) => return Ok(None),
                Ok(Some(found)) => found,
                Err(fault) => return Err((line, describe(fault).to_owned())),
            };
            // In a file of one column an empty line is a row that holds NULL; elsewhere it is only an empty line.
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
