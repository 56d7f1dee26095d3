//! On `columnar`, its Arrow and its executor alone: a filter and an aggregate over a table in
//! memory.

use std::error::Error;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use columnar::{
    Aggregate, AggregateFunction, Arithmetic, Comparison, Expr, MemoryTable, Output, SelectPlan, ScanStage,
    TableSource,
};
use pipeline_exec::{Job, PipelineExecutor};

const ROWS: i64 = 200_000;

/// `select sum(n * 2) from numbers where n > 10 and n % 2 = 1`
fn scan(table: &Arc<MemoryTable>) -> Result<SelectPlan, Box<dyn Error>> {
    let n = Expr::column(0, table.schema().field(0));
    let above = Expr::compare(Comparison::Greater, n.clone(), Expr::int64(10))?;
    let half = Expr::arithmetic(Arithmetic::Remainder, n.clone(), Expr::int64(2))?;
    let odd = Expr::compare(Comparison::Equal, half, Expr::int64(1))?;
    let double = Expr::arithmetic(Arithmetic::Multiply, n, Expr::int64(2))?;
    let aggregates = vec![Aggregate::new(AggregateFunction::Sum, Some(double))?];
    let fields = SelectPlan::group_fields(&[], &aggregates)?;
    let columns = vec![("total".to_owned(), Expr::column(0, &fields[0]))];
    Ok(SelectPlan {
        table: Arc::clone(table) as Arc<dyn TableSource>,
        filter: Some(Expr::and(above, odd)?),
        output: Output::Groups {
            keys: vec![],
            aggregates,
            having: None,
            columns,
        },
        order: vec![],
        offset: 0,
        limit: None,
        memory_pool: None,
        shard_key: None,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..ROWS).map(|n| (n % 7 > 0).then_some(n))));
    let batch = RecordBatch::try_from_iter([("n", numbers)])?;
    let table = Arc::new(MemoryTable::try_new("numbers", batch.schema(), [batch])?);
    assert!(table.morsels() > 1, "there is something to share out");

    let expected: i64 = (11..ROWS)
        .filter(|n| n % 7 > 0 && n % 2 == 1)
        .map(|n| n * 2)
        .sum();
    for threads in [1, 2, 3] {
        let stage = Arc::new(ScanStage::new(scan(&table)?));
        let executor = PipelineExecutor::new(threads)?;
        let job = Job::builder("numbers").stage(stage.clone()).output(move |_| stage.merge());
        let result = executor.submit(job.build())?.wait()?.output;
        let totals = result.batches[0].column(0).as_primitive::<Int64Type>();
        assert_eq!((totals.len(), totals.value(0)), (1, expected));
    }
    println!("columnar: the same sum on 1, 2 and 3 threads");
    Ok(())
}
