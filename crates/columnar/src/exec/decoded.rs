//! What a scan has decoded of a stored table, for people.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::table::StoredTable;

const MIB: f64 = (1 << 20) as f64;

#[derive(Debug, Default)]
pub(super) struct Decoded {
    pages: AtomicUsize,
    bytes: AtomicUsize,
}

impl Decoded {
    pub(super) fn add(&self, table: &dyn StoredTable, morsel: usize, columns: &[usize]) {
        let pages = table.pages(morsel, columns).unwrap_or(0);
        // Ordering: Relaxed. Numbers for people.
        self.pages.fetch_add(pages, Ordering::Relaxed);
        // Ordering: Relaxed, as above.
        self.bytes
            .fetch_add(table.bytes_to_fetch(morsel, columns), Ordering::Relaxed);
    }

    /// Beside all that `columns` have.
    pub(super) fn write(
        &self,
        f: &mut dyn fmt::Write,
        table: &dyn StoredTable,
        columns: &[usize],
    ) -> fmt::Result {
        let morsels = || 0..table.morsels();
        // Ordering: Relaxed. Numbers for people.
        let (pages, bytes) = (
            self.pages.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        );
        f.write_str("decoded ")?;
        let all_pages: Option<usize> = morsels().map(|morsel| table.pages(morsel, columns)).sum();
        if let Some(all) = all_pages {
            write!(f, "{pages} of {all} pages, ")?;
        }
        let all: usize = morsels()
            .map(|morsel| table.bytes_to_fetch(morsel, columns))
            .sum();
        writeln!(f, "{:.1} of {:.1} MiB", bytes as f64 / MIB, all as f64 / MIB)
    }
}
