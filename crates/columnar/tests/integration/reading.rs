//! What is read of a table: only what a step asks for, and nothing of a morsel that its statistics
//! rule out.

use std::sync::Arc;
use std::sync::Mutex;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use columnar::{
    Aggregate, AggregateFunction, ColumnStatistics, Comparison, ExecError, Expr, MorselReader, Output,
    ReadError, SelectPlan, TableSource,
};

use crate::scan::{column, integers, run_on, scan, values};

/// Two columns, `a` ascending over all morsels and `b` the row's number in its morsel; notes every
/// read.
#[derive(Debug)]
struct Noted {
    morsels: Vec<usize>,
    statistics: bool,
    /// Morsel and column, in the order of reading.
    reads: Mutex<Vec<(usize, usize)>>,
    /// Adds a row to what is read of this column.
    liar: Option<usize>,
}

impl Noted {
    fn new(statistics: bool) -> Self {
        Self {
            morsels: vec![10, 10, 10],
            statistics,
            reads: Mutex::default(),
            liar: None,
        }
    }

    fn values(&self, morsel: usize, column: usize) -> Int64Array {
        let first: usize = if column == 0 {
            self.morsels[..morsel].iter().sum()
        } else {
            0
        };
        let rows = self.morsels[morsel] + usize::from(self.liar == Some(column));
        Int64Array::from_iter_values((first..first + rows).map(|value| value as i64))
    }

    fn reads(&self) -> Vec<(usize, usize)> {
        self.reads.lock().unwrap().clone()
    }
}

impl TableSource for Noted {
    fn name(&self) -> &str {
        "noted"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Int64, true),
        ]))
    }

    fn morsels(&self) -> usize {
        self.morsels.len()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.morsels[morsel]
    }

    fn statistics(&self, morsel: usize, column: usize) -> ColumnStatistics {
        if !self.statistics {
            return ColumnStatistics::unknown();
        }
        let values = self.values(morsel, column);
        let bound = |row| Some(Arc::new(values.slice(row, 1)) as ArrayRef);
        ColumnStatistics::unknown()
            .with_bounds(bound(0), bound(values.len() - 1))
            .with_nulls(0)
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(Reader {
            table: self,
            morsel,
            projection: projection.to_vec(),
        }))
    }
}

struct Reader<'t> {
    table: &'t Noted,
    morsel: usize,
    projection: Vec<usize>,
}

impl MorselReader for Reader<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        assert!(
            self.projection.contains(&column),
            "only columns of the projection are asked for"
        );
        self.table.reads.lock().unwrap().push((self.morsel, column));
        Ok(Arc::new(self.table.values(self.morsel, column)))
    }
}

fn select_b(table: &Arc<Noted>, op: Comparison, bound: i64) -> SelectPlan {
    let filter = Expr::compare(op, column(table.as_ref(), "a"), Expr::int64(bound)).unwrap();
    let b = column(table.as_ref(), "b");
    scan(
        table.clone(),
        Some(filter),
        Output::Rows {
            columns: vec![("b".to_owned(), b)],
        },
    )
}

#[test]
fn a_column_is_read_only_if_a_row_survived_until_it_is_needed() {
    let table = Arc::new(Noted::new(false));
    let result = run_on(select_b(&table, Comparison::Equal, 25), 1).unwrap();
    assert_eq!(values(&result, 0), [Some(5)]);
    assert_eq!(table.reads(), [(0, 0), (1, 0), (2, 0), (2, 1)]);
}

#[test]
fn a_morsel_that_its_statistics_rule_out_is_not_read() {
    let table = Arc::new(Noted::new(true));
    let cases = [
        (Comparison::Equal, 25, vec![2]),
        (Comparison::Less, 10, vec![0]),
        (Comparison::LessEqual, 10, vec![0, 1]),
        (Comparison::Greater, 19, vec![2]),
        (Comparison::GreaterEqual, 19, vec![1, 2]),
        (Comparison::Equal, 99, vec![]),
    ];
    for (op, bound, morsels) in cases {
        table.reads.lock().unwrap().clear();
        run_on(select_b(&table, op, bound), 1).unwrap();
        let mut read: Vec<usize> = table.reads().into_iter().map(|(morsel, _)| morsel).collect();
        read.dedup();
        assert_eq!(read, morsels, "a {op} {bound}");
    }
}

#[test]
fn statistics_do_not_rule_out_a_failure_that_the_text_puts_first() {
    let table = Arc::new(Noted::new(true));
    let a = || column(table.as_ref(), "a");
    let quotient = Expr::arithmetic(columnar::Arithmetic::Divide, Expr::int64(1), a()).unwrap();
    let fails = Expr::compare(Comparison::Equal, quotient, Expr::int64(0)).unwrap();
    let nothing = Expr::compare(Comparison::Greater, a(), Expr::int64(1000)).unwrap();
    let output = || Output::Rows {
        columns: vec![("a".to_owned(), a())],
    };

    let first = Expr::and(fails.clone(), nothing.clone()).unwrap();
    let error = run_on(scan(table.clone(), Some(first), output()), 1).unwrap_err();
    assert!(matches!(error, ExecError::DivisionByZero { .. }), "{error}");
    let last = Expr::and(nothing, fails).unwrap();
    assert_eq!(
        run_on(scan(table.clone(), Some(last), output()), 1)
            .unwrap()
            .num_rows(),
        0
    );
}

#[test]
fn counting_rows_reads_no_column() {
    let table = Arc::new(Noted::new(false));
    let aggregates = vec![Aggregate::new(AggregateFunction::Count, None).unwrap()];
    let fields = SelectPlan::group_fields(&[], &aggregates).unwrap();
    let columns = vec![("count".to_owned(), Expr::column(0, &fields[0]))];
    let output = Output::Groups {
        keys: vec![],
        aggregates,
        having: None,
        columns,
    };
    let result = run_on(scan(table.clone(), None, output), 2).unwrap();
    assert_eq!(values(&result, 0), [Some(30)]);
    assert_eq!(table.reads(), []);
}

#[test]
fn a_table_that_gives_the_wrong_number_of_rows_is_an_error() {
    let table = Arc::new(Noted {
        liar: Some(1),
        ..Noted::new(false)
    });
    let error = run_on(select_b(&table, Comparison::Less, 5), 1).unwrap_err();
    let ExecError::Read(error) = error else {
        panic!("{error}")
    };
    assert_eq!((error.origin(), error.column()), ("noted", Some("b")));
    assert!(error.to_string().contains("11 values for 10 rows"), "{error}");
}

#[test]
fn columns_that_no_row_is_dropped_from_are_given_out_without_a_copy() {
    let values = integers((0..100).map(Some));
    let start = values.as_primitive::<Int64Type>().values().as_ptr();
    let table = crate::scan::table([("a", values)]);
    let stage = Arc::new(columnar::ScanStage::new(crate::scan::rows_where(
        &table,
        None,
        &["a"],
    )));
    let executor = pipeline_exec::PipelineExecutor::new(1).unwrap();
    let merged = stage.clone();
    let job = pipeline_exec::Job::builder("t").stage(stage.clone());
    let job = job.output(move |_| merged.merge()).build();
    let result = executor.submit(job).unwrap().wait().unwrap().output;
    let again = stage.merge().unwrap_err().to_string();
    assert!(again.contains("merged before"), "a result is given once: {again}");
    assert_eq!(
        result.batches[0]
            .column(0)
            .as_primitive::<Int64Type>()
            .values()
            .as_ptr(),
        start
    );
}
