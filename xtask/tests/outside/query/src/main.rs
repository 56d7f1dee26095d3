//! On `query` alone: SQL over a CSV file and generated rows, as text, and errors with a cause and a
//! place.

use std::error::Error;

use query::output::{OutputFormat, render};
use query::pipeline_exec::PipelineExecutor;
use query::source::ScaleFactor;
use query::{QueryError, Session};

fn answer(sql: &str, session: &Session) -> Result<String, Box<dyn Error>> {
    let report = session.sql(sql)?.run()?;
    Ok(String::from_utf8(render(&report.rows, OutputFormat::Csv)?)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = Session::new(PipelineExecutor::new(2)?);

    let path = std::env::temp_dir().join(format!("windlass-outside-{}.csv", std::process::id()));
    std::fs::write(
        &path,
        "city,people,founded\nUlm,128928,\n\"Frankfurt, Oder\",57015,1253\nUlm,1,1240\n",
    )?;
    session.open("cities", &path)?;
    session.generate(ScaleFactor::new(0.01)?)?;

    let sql = "select city, sum(people) as people, count(founded) as known from cities group by city order by city desc";
    assert_eq!(
        answer(sql, &session)?,
        "city,people,known\nUlm,128929,1\n\"Frankfurt, Oder\",57015,1\n"
    );
    assert_eq!(
        answer("select count(*) from orders", &session)?,
        "count(*)\n15000\n"
    );
    std::fs::remove_file(&path)?;

    let wrong = session.sql("select peeple from cities");
    let error = wrong.expect_err("there is no such column");
    assert!(
        matches!(&error, QueryError::UnknownColumn { name, .. } if name == "peeple"),
        "{error:?}"
    );
    assert!(error.to_string().contains("people"), "no hint: {error}");
    println!("query: {} tables asked", session.tables().names().count());
    Ok(())
}
