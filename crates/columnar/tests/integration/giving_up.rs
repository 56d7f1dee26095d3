//! Giving a query up frees what was fetched, and holds up no caller meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::thread;
use std::time::Duration;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use columnar::{Fetched, MorselReader, Output, ReadError, ScanStage, StoredTable, TableSource};

use crate::scan::{column, scan};

const HANG: Duration = Duration::from_secs(120);

/// A table whose fetched bytes ask the stage something when they are freed.
#[derive(Clone, Debug, Default)]
struct Asking(Arc<Answers>);

#[derive(Debug, Default)]
struct Answers {
    stage: OnceLock<Weak<ScanStage>>,
    given: AtomicUsize,
}

impl TableSource for Asking {
    fn name(&self) -> &str {
        "asking"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]))
    }

    fn morsels(&self) -> usize {
        2
    }

    fn rows(&self, _morsel: usize) -> usize {
        1
    }

    fn as_stored(&self) -> Option<&dyn StoredTable> {
        Some(self)
    }

    fn open(&self, _morsel: usize, _projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Err(ReadError::new("asking", "no slot runs"))
    }
}

impl StoredTable for Asking {
    fn bytes_to_fetch(&self, _morsel: usize, _projection: &[usize]) -> usize {
        8
    }

    fn fetch(&self, _morsel: usize, _projection: &[usize]) -> Result<Fetched, ReadError> {
        let bytes = Bytes::from_owner(Asks(Arc::clone(&self.0)));
        Ok(Fetched::new([(0, bytes)]))
    }

    fn open_fetched(
        &self,
        _morsel: usize,
        _projection: &[usize],
        _fetched: Fetched,
    ) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        Err(ReadError::new("asking", "no slot runs"))
    }
}

struct Asks(Arc<Answers>);

impl AsRef<[u8]> for Asks {
    fn as_ref(&self) -> &[u8] {
        b"12345678"
    }
}

impl Drop for Asks {
    fn drop(&mut self) {
        if let Some(stage) = self.0.stage.get().and_then(Weak::upgrade) {
            assert!(stage.is_enough_before(1), "the scan has ended");
            self.0.given.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[test]
fn a_caller_that_asks_while_bytes_are_freed_gets_its_answer() {
    let table = Asking::default();
    let columns = vec![("a".to_owned(), column(&table, "a"))];
    let stage = Arc::new(ScanStage::new(scan(
        Arc::new(table.clone()),
        None,
        Output::Rows { columns },
    )));
    table.0.stage.set(Arc::downgrade(&stage)).expect("the only stage");
    for slot in 0..2 {
        let fetch = stage
            .begin_fetch(slot)
            .expect("no limit")
            .expect("a stored table");
        fetch.run().expect("it can be read");
    }
    let (tell, ended) = mpsc::channel();
    // Not joined: a caller that waits for itself never ends.
    thread::spawn(move || {
        stage.give_up();
        tell.send(()).expect("the test waits");
    });
    ended.recv_timeout(HANG).expect("no caller waits for itself");
    assert_eq!(table.0.given.load(Ordering::SeqCst), 2);
}
