//! LIMIT without an order: the first rows of the input, whatever the threads do, and nothing behind
//! them matters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use columnar::{Arithmetic, ExecError, Expr, MorselReader, Output, ReadError, SelectPlan, TableSource};

use crate::scan::{column, integers, rows_where, run_on, scan, table, values};

#[test]
fn a_limit_takes_the_first_rows_of_the_input() {
    let rows = 300_000i64;
    let table = table([("a", integers((0..rows).map(Some)))]);
    for threads in [1, 2, 8] {
        for (offset, limit) in [(0, 3), (70_000, 2), (299_999, 5), (400_000, 5), (0, 0)] {
            let mut scan = rows_where(&table, None, &["a"]);
            (scan.offset, scan.limit) = (offset, Some(limit));
            let expected: Vec<_> = (0..rows).skip(offset).take(limit).map(Some).collect();
            assert_eq!(values(&run_on(scan, threads).unwrap(), 0), expected);
        }
    }
}

/// 50 morsels of 100 rows; reading the one at `broken` fails.
#[derive(Debug)]
struct Broken {
    broken: usize,
    read: AtomicUsize,
}

impl TableSource for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]))
    }

    fn morsels(&self) -> usize {
        50
    }

    fn rows(&self, _morsel: usize) -> usize {
        100
    }

    fn open(&self, morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        self.read.fetch_add(1, Ordering::Relaxed);
        if morsel == self.broken {
            return Err(ReadError::new("broken.file", "checksum").in_part(format!("morsel {morsel}")));
        }
        let first = morsel as i64 * 100;
        Ok(Box::new(Numbers(integers((first..first + 100).map(Some)))))
    }
}

struct Numbers(ArrayRef);

impl MorselReader for Numbers {
    fn column(&mut self, _column: usize) -> Result<ArrayRef, ReadError> {
        Ok(self.0.clone())
    }
}

fn first_rows(table: Arc<Broken>, limit: usize) -> SelectPlan {
    let a: Expr = column(table.as_ref(), "a");
    let mut scan = scan(
        table,
        None,
        Output::Rows {
            columns: vec![("a".to_owned(), a)],
        },
    );
    scan.limit = Some(limit);
    scan
}

#[test]
fn a_failure_behind_the_last_row_that_is_needed_is_none() {
    for threads in [1, 2, 8] {
        for _ in 0..20 {
            let table = Arc::new(Broken {
                broken: 3,
                read: AtomicUsize::new(0),
            });
            let enough = run_on(first_rows(table.clone(), 300), threads).unwrap();
            assert_eq!(enough.num_rows(), 300);

            let error = run_on(first_rows(table, 301), threads).unwrap_err();
            assert!(
                matches!(&error, ExecError::Read(error) if error.part() == Some("morsel 3")),
                "{error}"
            );
        }
    }
}

#[test]
fn rows_behind_the_last_one_that_is_needed_are_not_computed() {
    let table = table([("a", integers([Some(2), Some(1), Some(0)]))]);
    let inverse = Expr::arithmetic(Arithmetic::Divide, Expr::int64(1), column(table.as_ref(), "a")).unwrap();
    let mut scan = scan(
        table,
        None,
        Output::Rows {
            columns: vec![("q".to_owned(), inverse)],
        },
    );
    scan.limit = Some(2);
    assert_eq!(values(&run_on(scan.clone(), 1).unwrap(), 0), [Some(0), Some(1)]);
    scan.limit = Some(3);
    assert!(matches!(run_on(scan, 1), Err(ExecError::DivisionByZero { .. })));
}

#[test]
fn morsels_behind_the_last_row_that_is_needed_are_not_read() {
    let table = Arc::new(Broken {
        broken: usize::MAX,
        read: AtomicUsize::new(0),
    });
    run_on(first_rows(table.clone(), 150), 1).unwrap();
    assert_eq!(table.read.load(Ordering::Relaxed), 2);
}
