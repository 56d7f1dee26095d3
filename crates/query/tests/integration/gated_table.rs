//! A table whose morsels open when the test opens a gate, so that a slot runs meanwhile.

use std::sync::{Arc, Condvar, Mutex};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use columnar::{MORSEL_ROWS, MemoryTable, MorselReader, ReadError, TableSource};

/// One column `n`, which counts up from 0.
#[derive(Debug)]
pub(crate) struct GatedTable {
    rows: MemoryTable,
    gate: Mutex<Gate>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    open: bool,
    arrived: usize,
}

impl GatedTable {
    /// Each morsel has several chunks, between which a slot can stop.
    pub(crate) fn new(morsels: usize) -> Arc<Self> {
        let rows = i64::try_from(morsels * MORSEL_ROWS).expect("a small table");
        let values: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let batch = RecordBatch::try_from_iter([("n", values)]).expect("one column");
        Arc::new(Self {
            rows: MemoryTable::try_new("gated", batch.schema(), [batch]).expect("its own types"),
            gate: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    pub(crate) fn wait_for_slots(&self, slots: usize) {
        let gate = self.gate.lock().expect("nobody panics with it");
        drop(self.changed.wait_while(gate, |gate| gate.arrived < slots));
    }

    pub(crate) fn let_pass(&self) {
        self.gate.lock().expect("nobody panics with it").open = true;
        self.changed.notify_all();
    }

    pub(crate) fn slots_begun(&self) -> usize {
        self.gate.lock().expect("nobody panics with it").arrived
    }
}

impl TableSource for GatedTable {
    fn name(&self) -> &str {
        self.rows.name()
    }

    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn morsels(&self) -> usize {
        self.rows.morsels()
    }

    fn rows(&self, morsel: usize) -> usize {
        self.rows.rows(morsel)
    }

    fn open(&self, morsel: usize, projection: &[usize]) -> Result<Box<dyn MorselReader + '_>, ReadError> {
        let mut gate = self.gate.lock().expect("nobody panics with it");
        gate.arrived += 1;
        self.changed.notify_all();
        drop(self.changed.wait_while(gate, |gate| !gate.open));
        self.rows.open(morsel, projection)
    }
}
