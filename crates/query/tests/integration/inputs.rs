//! Files as tables, and the errors of files that are none.

mod csv;
mod parquet;

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use columnar::TableSource;
use query::{QueryResult, source};

use crate::run::{Row, executor, rows};

pub(crate) fn open(path: &Path) -> Result<Arc<dyn TableSource>, String> {
    source::open("t", path, &executor(2)).map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<(Vec<String>, Vec<Row>), String> {
    let table = open(path)?;
    let schema = table.schema();
    let projection: Vec<usize> = (0..schema.fields().len()).collect();
    let mut batches = Vec::new();
    for morsel in 0..table.morsels() {
        let mut reader = table
            .open(morsel, &projection)
            .map_err(|error| error.to_string())?;
        let columns = projection
            .iter()
            .map(|&column| reader.column(column))
            .collect::<Result<Vec<_>, _>>();
        let columns = columns.map_err(|error| error.to_string())?;
        if columns.is_empty() {
            continue;
        }
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(|error| error.to_string())?;
        assert_eq!(batch.num_rows(), table.rows(morsel));
        batches.push(batch);
    }
    let types = schema
        .fields()
        .iter()
        .map(|field| field.data_type().to_string())
        .collect();
    Ok((types, rows(&QueryResult { schema, batches })))
}

#[test]
fn a_path_that_is_no_table_is_named() {
    let folder = crate::folder::Folder::new();
    let missing = folder.path("nowhere.parquet");
    let error = read(&missing).unwrap_err();
    assert!(
        error.contains("nowhere.parquet") && error.contains("No such file"),
        "{error}"
    );

    let unknown = folder.write("notes.docx", "PK");
    let error = read(&unknown).unwrap_err();
    assert!(
        error.contains("notes.docx") && error.contains("cannot tell what this is"),
        "{error}"
    );
}
