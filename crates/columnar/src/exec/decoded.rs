//! What a scan has decoded of a stored table, for people.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::table::{Held, StoredTable};

const MIB: f64 = (1 << 20) as f64;

#[derive(Debug, Default)]
pub(super) struct Decoded {
    pages: AtomicUsize,
    bytes: AtomicUsize,
}

impl Decoded {
    pub(super) fn add(
        &self,
        table: &dyn StoredTable,
        morsel: usize,
        columns: impl Iterator<Item = (usize, Range<usize>)>,
    ) {
        let mut all = Held::default();
        for (column, rows) in columns {
            all.add(table.held(morsel, column, rows));
        }
        // Ordering: Relaxed. Numbers for people.
        self.pages.fetch_add(all.pages.unwrap_or(0), Ordering::Relaxed);
        // Ordering: Relaxed, as above.
        self.bytes.fetch_add(all.bytes, Ordering::Relaxed);
    }

    /// Beside all that `columns` have.
    pub(super) fn write(
        &self,
        f: &mut dyn fmt::Write,
        table: &dyn StoredTable,
        columns: &[usize],
    ) -> fmt::Result {
        // Ordering: Relaxed. Numbers for people.
        let (pages, bytes) = (
            self.pages.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        );
        let mut all = Held::default();
        for morsel in 0..table.morsels() {
            for &column in columns {
                all.add(table.held(morsel, column, 0..table.rows(morsel)));
            }
        }
        f.write_str("decoded ")?;
        if let Some(all) = all.pages {
            write!(f, "{pages} of {all} pages, ")?;
        }
        writeln!(
            f,
            "{:.1} of {:.1} MiB",
            bytes as f64 / MIB,
            all.bytes as f64 / MIB
        )
    }
}
