//! Rows that a filter leaves in a stored table: when the reader is asked for these alone.

use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use columnar::{
    Comparison, Expr, Fetched, MorselReader, Output, ReadError, SelectPlan, SortKey, StoredTable, TableSource,
};

use crate::scan::{column, run_on, scan, values};

const ROWS: i64 = 40_000;

/// Columns whose value in a row is the row's number in its morsel. Some are read alone.
#[derive(Debug)]
struct Stored {
    morsels: usize,
    /// How many of the first columns.
    alone: usize,
    /// Values that are missing where few rows are read.
    missing: usize,
    asked: Mutex<Vec<(&'static str, usize)>>,
    /// Of each time that few rows were read, how many.
    rows_alone: Mutex<Vec<usize>>,
}

impl Stored {
    fn new(alone: usize, missing: usize) -> Arc<Self> {
        Self::of(1, alone, missing)
    }

    fn of(morsels: usize, alone: usize, missing: usize) -> Arc<Self> {
        Arc::new(Self {
            morsels,
            alone,
            missing,
            asked: Mutex::default(),
            rows_alone: Mutex::default(),
        })
    }

    /// The column `b` of rows whose number `a` is less than `end`.
    fn below(self: &Arc<Self>, end: i64) -> SelectPlan {
        let few = Expr::compare(Comparison::Less, column(self.as_ref(), "a"), Expr::int64(end)).unwrap();
        let columns = ["b", "a"].map(|name| (name.to_owned(), column(self.as_ref(), name)));
        let columns = columns.to_vec();
        scan(self.clone(), Some(few), Output::Rows { columns })
    }

    /// Runs a query for the rows below `end`. Returns what was asked for them.
    fn ask(self: &Arc<Self>, end: i64) -> Vec<(&'static str, usize)> {
        let result = run_on(self.below(end), 1).unwrap();
        let rows: Vec<Option<i64>> = (0..end).map(Some).collect();
        assert_eq!(values(&result, 0), rows);
        self.asked.lock().unwrap().clone()
    }
}

impl TableSource for Stored {
    fn name(&self) -> &str {
        "stored"
    }

    fn schema(&self) -> SchemaRef {
        let field = |name| Field::new(name, DataType::Int64, false);
        Arc::new(Schema::new(vec![field("a"), field("b")]))
    }

    fn morsels(&self) -> usize {
        self.morsels
    }

    fn rows(&self, _morsel: usize) -> usize {
        ROWS as usize
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn open(&self, _morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(Reader(self)))
    }
}

impl StoredTable for Stored {
    fn bytes_to_fetch(&self, _morsel: usize, _projection: &[usize]) -> usize {
        0
    }

    fn fetch(&self, _morsel: usize, _projection: &[usize]) -> Result<Fetched, ReadError> {
        Ok(Fetched::default())
    }

    fn open_fetched(
        &self,
        morsel: usize,
        projection: &[usize],
        _fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.open(morsel, projection)
    }
}

struct Reader<'a>(&'a Stored);

impl MorselReader for Reader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        self.0.asked.lock().unwrap().push(("whole", column));
        Ok(Arc::new(Int64Array::from_iter_values(0..ROWS)))
    }

    fn values_at(&mut self, column: usize, rows: &[usize]) -> Result<Option<ArrayRef>, ReadError> {
        self.0.asked.lock().unwrap().push(("alone", column));
        self.0.rows_alone.lock().unwrap().push(rows.len());
        let rows = rows.iter().map(|row| *row as i64).skip(self.0.missing);
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows));
        Ok((column < self.0.alone).then_some(values))
    }
}

#[test]
fn few_rows_are_read_alone() {
    let asked = Stored::new(2, 0).ask(20);
    assert_eq!(asked, [("whole", 0), ("alone", 1)], "the filter has read `a`");
}

#[test]
fn a_column_that_cannot_be_read_alone_is_read_whole() {
    let asked = Stored::new(1, 0).ask(20);
    assert_eq!(asked, [("whole", 0), ("alone", 1), ("whole", 1)]);
}

#[test]
fn a_further_step_reads_few_rows_alone() {
    let table = Stored::new(2, 0);
    let mut plan = table.below(20);
    let least = Expr::compare(
        Comparison::GreaterEqual,
        column(table.as_ref(), "b"),
        Expr::int64(5),
    );
    plan.filter = Some(Expr::and(plan.filter.unwrap(), least.unwrap()).unwrap());
    let result = run_on(plan, 1).unwrap();
    let rows: Vec<Option<i64>> = (5..20).map(Some).collect();
    assert_eq!((values(&result, 0), values(&result, 1)), (rows.clone(), rows));
    let asked = table.asked.lock().unwrap();
    assert_eq!(
        *asked,
        [("whole", 0), ("alone", 1)],
        "the result has what the step read"
    );
}

#[test]
fn many_rows_are_not_read_alone() {
    let asked = Stored::new(2, 0).ask(ROWS / 2);
    assert_eq!(asked, [("whole", 0), ("whole", 1)]);
}

#[test]
fn a_reader_that_gives_fewer_values_than_rows_is_an_error() {
    let error = run_on(Stored::new(2, 1).below(20), 1).unwrap_err().to_string();
    assert!(error.contains("19 values for 20 rows"), "{error}");
}

#[test]
fn an_order_with_a_limit_reads_other_columns_where_rows_are_still_among_the_best() {
    for end in [ROWS, ROWS - 2] {
        let table = Stored::of(3, 2, 0);
        let mut plan = table.below(end);
        plan.order = vec![SortKey::new(column(table.as_ref(), "a"), true, true).unwrap()];
        plan.limit = Some(5);
        let expected: Vec<Option<i64>> = [1, 1, 1, 2, 2].map(|below| Some(end - below)).to_vec();
        let result = run_on(plan, 1).unwrap();
        assert_eq!(
            (values(&result, 0), values(&result, 1)),
            (expected.clone(), expected)
        );
        let asked = table.asked.lock().unwrap();
        let alone = [("whole", 0), ("alone", 1)];
        assert_eq!(*asked, [[("whole", 0), ("whole", 1)], alone, alone].concat());
        // The five best of two morsels are three numbers, and those of three morsels are two.
        assert_eq!(*table.rows_alone.lock().unwrap(), [3, 2]);
    }
}
