//! Small tables, and scans of them on any number of threads.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, DictionaryArray, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, SchemaRef, UInt32Type};
use columnar::{
    Aggregate, Codes, ExecError, Expr, MemoryTable, MorselReader, Output, ReadError, ScanResult, ScanStage,
    SelectPlan, TableSource,
};
use pipeline_exec::{Job, JobError, JobReport, PipelineExecutor};

pub(crate) fn table(columns: impl IntoIterator<Item = (&'static str, ArrayRef)>) -> Arc<MemoryTable> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, values)| (name, values, true)),
    )
    .unwrap();
    Arc::new(MemoryTable::try_new("t", batch.schema(), [batch]).unwrap())
}

/// The rows of `batch` in morsels of `morsel_rows` rows: small ones make many slots of few rows.
pub(crate) fn table_in_morsels(batch: RecordBatch, morsel_rows: usize) -> Arc<dyn TableSource> {
    with_codes(batch, morsel_rows, |_morsel| false)
}

/// The same, whose texts come as codes in the morsels for which `has_codes` says so.
pub(crate) fn with_codes(
    batch: RecordBatch,
    morsel_rows: usize,
    has_codes: fn(usize) -> bool,
) -> Arc<dyn TableSource> {
    Arc::new(Morsels {
        batch,
        morsel_rows,
        has_codes,
    })
}

#[derive(Debug)]
struct Morsels {
    batch: RecordBatch,
    morsel_rows: usize,
    has_codes: fn(usize) -> bool,
}

impl TableSource for Morsels {
    fn name(&self) -> &str {
        "t"
    }

    fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    fn morsels(&self) -> usize {
        self.batch.num_rows().div_ceil(self.morsel_rows)
    }

    fn rows(&self, morsel: usize) -> usize {
        self.morsel_rows
            .min(self.batch.num_rows() - morsel * self.morsel_rows)
    }

    fn open(&self, morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let rows = self.batch.slice(morsel * self.morsel_rows, self.rows(morsel));
        Ok(Box::new(Reader {
            rows,
            has_codes: (self.has_codes)(morsel),
        }))
    }
}

struct Reader {
    rows: RecordBatch,
    has_codes: bool,
}

impl MorselReader for Reader {
    fn column(&mut self, column: usize) -> Result<ArrayRef, ReadError> {
        Ok(self.rows.column(column).clone())
    }

    fn codes(&mut self, column: usize) -> Result<Option<Codes>, ReadError> {
        let Some(texts) = self
            .rows
            .column(column)
            .as_string_opt::<i32>()
            .filter(|_| self.has_codes)
        else {
            return Ok(None);
        };
        let coded: DictionaryArray<UInt32Type> = texts.iter().collect();
        let values = Arc::clone(coded.values());
        Ok(Some(
            Codes::try_new(Arc::new(coded.keys().clone()), values).unwrap(),
        ))
    }
}

pub(crate) fn integers(values: impl IntoIterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from_iter(values))
}

pub(crate) fn column(table: &dyn TableSource, name: &str) -> Expr {
    let schema = table.schema();
    let index = schema.index_of(name).unwrap();
    Expr::column(index, schema.field(index))
}

pub(crate) fn rows_where(table: &Arc<MemoryTable>, filter: Option<Expr>, columns: &[&str]) -> SelectPlan {
    let columns = columns
        .iter()
        .map(|name| ((*name).to_owned(), column(table.as_ref(), name)))
        .collect();
    scan(table.clone(), filter, Output::Rows { columns })
}

pub(crate) fn scan(table: Arc<dyn TableSource>, filter: Option<Expr>, output: Output) -> SelectPlan {
    SelectPlan {
        filter,
        ..SelectPlan::new(table, output)
    }
}

pub(crate) fn grouped(
    table: Arc<dyn TableSource>,
    keys: Vec<Expr>,
    aggregates: Vec<Aggregate>,
) -> SelectPlan {
    let fields = SelectPlan::group_fields(&keys, &aggregates).unwrap();
    let columns = fields
        .iter()
        .enumerate()
        .map(|(at, field)| (field.name().clone(), Expr::column(at, field)));
    let output = Output::Groups {
        keys,
        aggregates,
        having: None,
        columns: columns.collect(),
    };
    scan(table, None, output)
}

pub(crate) fn run_on(scan: SelectPlan, threads: usize) -> Result<RecordBatch, ExecError> {
    run_stage(ScanStage::new(scan), threads)
}

pub(crate) fn run_stage(stage: ScanStage, threads: usize) -> Result<RecordBatch, ExecError> {
    let executor = PipelineExecutor::new(threads).unwrap();
    let stage = Arc::new(stage);
    let mut job = Job::builder("t").stage(stage.clone());
    for following in stage.following() {
        job = job.stage(following);
    }
    finished(
        executor
            .submit(job.output(move |_| stage.merge()).build())
            .unwrap()
            .wait(),
    )
}

/// Without later stages: the output merges everything.
pub(crate) fn run_alone(scan: SelectPlan) -> Result<RecordBatch, ExecError> {
    let executor = PipelineExecutor::new(1).unwrap();
    let stage = Arc::new(ScanStage::new(scan));
    let job = Job::builder("t").stage(stage.clone());
    finished(
        executor
            .submit(job.output(move |_| stage.merge()).build())
            .unwrap()
            .wait(),
    )
}

fn finished(outcome: Result<JobReport<ScanResult>, JobError>) -> Result<RecordBatch, ExecError> {
    let result = match outcome {
        Ok(report) => report.output,
        Err(error) => {
            return Err(*error
                .source
                .expect("a failed step")
                .downcast()
                .expect("an error of the scan"));
        }
    };
    assert!(
        result.batches.iter().all(|batch| batch.num_rows() > 0),
        "no batch is empty"
    );
    Ok(concat_batches(&result.schema, &result.batches).unwrap())
}

pub(crate) fn run(scan: SelectPlan) -> Result<RecordBatch, ExecError> {
    run_on(scan, 2)
}

pub(crate) fn values(batch: &RecordBatch, column: usize) -> Vec<Option<i64>> {
    batch.column(column).as_primitive::<Int64Type>().iter().collect()
}
