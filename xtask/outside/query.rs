//! On `query` alone: SQL over a CSV file and over generated rows, as text, and errors that say what and where.

use std::error::Error;
use std::sync::Arc;

use query::output::{OutputFormat, render};
use query::pipeline_exec::PipelineExecutor;
use query::source::{self, JobRunner, ScaleFactor, TpchTable, TpchTableKind};
use query::{Catalog, PipelineBuilder, QueryError, QueryPlanner};

fn answer(sql: &str, tables: &Catalog, executor: &PipelineExecutor) -> Result<String, Box<dyn Error>> {
    let plan = QueryPlanner::plan(sql, tables)?;
    let (job, _run) = PipelineBuilder::new(plan).build();
    let result = executor.run(job)?.output;
    Ok(String::from_utf8(render(&result, OutputFormat::Csv)?)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let executor = PipelineExecutor::new(2)?;
    let mut tables = Catalog::new();

    let path = std::env::temp_dir().join(format!("windlass-outside-{}.csv", std::process::id()));
    std::fs::write(
        &path,
        "city,people,founded\nUlm,128928,\n\"Frankfurt, Oder\",57015,1253\nUlm,1,1240\n",
    )?;
    tables.register(source::open("cities", &path, &executor)?)?;
    tables.register(Arc::new(TpchTable::new(
        TpchTableKind::Orders,
        ScaleFactor::new(0.01)?,
    )))?;

    let sql = "select city, sum(people) as people, count(founded) as known from cities group by city order by city desc";
    assert_eq!(
        answer(sql, &tables, &executor)?,
        "city,people,known\nUlm,128929,1\n\"Frankfurt, Oder\",57015,1\n"
    );
    assert_eq!(
        answer("select count(*) from orders", &tables, &executor)?,
        "count(*)\n15000\n"
    );
    std::fs::remove_file(&path)?;

    let error =
        QueryPlanner::plan("select peeple from cities", &tables).expect_err("there is no such column");
    assert!(
        matches!(&error, QueryError::UnknownColumn { name, .. } if name == "peeple"),
        "{error:?}"
    );
    assert!(error.to_string().contains("people"), "no hint: {error}");
    println!("query: {} tables asked", tables.names().count());
    Ok(())
}
