//! What statistics say of a table's morsels, and a table whose statistics change.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use columnar::{
    Aggregate, AggregateFunction, ColumnStatistics, Comparison, Expr, Fetched, MorselReader, Output,
    ReadError, ScanStage, StoredTable, TableSource,
};
use pipeline_exec::{Job, PipelineExecutor, Stage as _};

use crate::scan::{column, grouped, integers, scan, values};

/// One morsel with the value 10 in `a`. Its statistics rule out `a > 5` either until the stage is
/// made, or from then on.
#[derive(Debug)]
struct Changing {
    rules_out_first: bool,
    has_stage: AtomicBool,
    /// Questions since then.
    asked: AtomicUsize,
    opened: Mutex<Vec<&'static str>>,
}

impl Changing {
    fn new(rules_out_first: bool) -> Arc<Self> {
        Arc::new(Self {
            rules_out_first,
            has_stage: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
            opened: Mutex::default(),
        })
    }
}

impl TableSource for Changing {
    fn name(&self) -> &str {
        "changing"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]))
    }

    fn morsels(&self) -> usize {
        1
    }

    fn rows(&self, _morsel: usize) -> usize {
        1
    }

    fn statistics(&self, _morsel: usize, _column: usize) -> ColumnStatistics {
        let has_stage = self.has_stage.load(Ordering::SeqCst);
        self.asked.fetch_add(usize::from(has_stage), Ordering::SeqCst);
        let rules_out = has_stage != self.rules_out_first;
        let value = if rules_out { 0 } else { 10 };
        let bound = || Some(Arc::new(Int64Array::from(vec![value])) as ArrayRef);
        ColumnStatistics::unknown().with_bounds(bound(), bound())
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn open(&self, _morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.opened.lock().unwrap().push("with a wait");
        Ok(Box::new(Ten))
    }
}

impl StoredTable for Changing {
    fn bytes_to_fetch(&self, _morsel: usize, _projection: &[usize]) -> usize {
        8
    }

    fn fetch(&self, _morsel: usize, _projection: &[usize]) -> Result<Fetched, ReadError> {
        Ok(Fetched::new([(0, "12345678".into())]))
    }

    fn open_fetched(
        &self,
        _morsel: usize,
        _projection: &[usize],
        _fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.opened.lock().unwrap().push("as fetched");
        Ok(Box::new(Ten))
    }
}

struct Ten;

impl MorselReader for Ten {
    fn column(&mut self, _column: usize) -> Result<ArrayRef, ReadError> {
        Ok(Arc::new(Int64Array::from(vec![10])))
    }
}

/// The bytes that were fetched for each slot, and the rows of the result.
fn run(table: &Arc<Changing>) -> (Vec<usize>, usize) {
    let a = column(table.as_ref(), "a");
    let filter = Expr::compare(Comparison::Greater, a.clone(), Expr::int64(5)).unwrap();
    let columns = vec![("a".to_owned(), a)];
    let stage = Arc::new(ScanStage::new(scan(
        table.clone(),
        Some(filter),
        Output::Rows { columns },
    )));
    table.has_stage.store(true, Ordering::SeqCst);
    let mut bytes = Vec::new();
    for slot in 0..stage.slots() {
        bytes.push(stage.bytes_to_fetch(slot));
        let fetch = stage
            .begin_fetch(slot)
            .unwrap()
            .expect("bytes that are not at hand");
        assert_eq!(Some(&fetch.bytes()), bytes.last(), "what was said before");
        fetch.run().unwrap();
    }
    let output = Arc::clone(&stage);
    let job = Job::builder("t")
        .stage(stage)
        .output(move |_| output.merge())
        .build();
    let report = PipelineExecutor::new(1)
        .unwrap()
        .submit(job)
        .unwrap()
        .wait()
        .unwrap();
    let rows = report.output.batches.iter().map(|batch| batch.num_rows()).sum();
    (bytes, rows)
}

#[test]
fn a_morsel_that_statistics_once_let_through_is_fetched_and_run() {
    let table = Changing::new(false);
    assert_eq!(run(&table), (vec![8], 1));
    assert_eq!(*table.opened.lock().unwrap(), ["as fetched"]);
    assert_eq!(table.asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_morsel_that_statistics_once_ruled_out_has_no_slot_and_is_never_opened() {
    let table = Changing::new(true);
    assert_eq!(run(&table), (vec![], 0));
    assert!(table.opened.lock().unwrap().is_empty());
    assert_eq!(table.asked.load(Ordering::SeqCst), 0);
}

/// A table whose statistics say that its two morsels hold 1 to 9 and 3 to 20. Reading it fails.
#[derive(Debug)]
struct Stated;

impl TableSource for Stated {
    fn name(&self) -> &str {
        "stated"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]))
    }

    fn morsels(&self) -> usize {
        2
    }

    fn rows(&self, _morsel: usize) -> usize {
        50_000
    }

    fn statistics(&self, morsel: usize, _column: usize) -> ColumnStatistics {
        let value = |value: i64| Some(integers([Some(value)]));
        let [min, max] = [[1, 9], [3, 20]][morsel];
        ColumnStatistics::unknown().with_extremes(value(min), value(max))
    }

    fn open(&self, _morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Ok(Box::new(Self))
    }
}

impl MorselReader for Stated {
    fn column(&mut self, _column: usize) -> Result<ArrayRef, ReadError> {
        Err(ReadError::new("stated", "it was read"))
    }
}

#[test]
fn least_and_greatest_value_of_all_rows_are_those_stated_and_nothing_is_read() {
    let a = column(&Stated, "a");
    let of = |filter: Option<Expr>, functions: &[AggregateFunction]| {
        let aggregates = functions
            .iter()
            .map(|function| Aggregate::new(*function, Some(a.clone())).unwrap());
        let mut plan = grouped(Arc::new(Stated), vec![], aggregates.collect());
        plan.filter = filter;
        crate::scan::run(plan)
    };
    let extremes = [AggregateFunction::Min, AggregateFunction::Max];
    let known = of(None, &extremes).unwrap();
    assert_eq!(values(&known, 0), [Some(1)]);
    assert_eq!(values(&known, 1), [Some(20)]);
    // Other rows may have other extremes, and other aggregates need all values.
    let filter = Expr::compare(Comparison::Greater, a.clone(), Expr::int64(5)).unwrap();
    assert!(of(Some(filter), &extremes).is_err());
    assert!(of(None, &[AggregateFunction::Sum]).is_err());
}
