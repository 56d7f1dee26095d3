//! What an action of a session gives at once.

use crate::rows::Rows;
use crate::settings::Change;

/// Name and value of a setting that changed.
pub(super) type Told = (&'static str, String);

/// What an action gives at once.
pub(crate) enum Reply {
    /// Rows that come one after another.
    Rows(Box<Rows>),
    /// One row of one column of text.
    Row { name: String, value: String },
    /// Up to this number of rows of a cursor.
    Fetch { cursor: String, rows: Option<u64> },
    Done {
        tag: &'static str,
        /// Settings that changed, for the client.
        changed: Vec<Told>,
        notice: Option<String>,
    },
}

pub(super) fn reported(changes: Vec<Change>) -> Vec<Told> {
    let reported = changes.into_iter().filter_map(|change| match change {
        Change::Reported(name, value) => Some((name, value)),
        Change::Silent | Change::Engine => None,
    });
    reported.collect()
}

pub(super) fn done(tag: &'static str) -> Reply {
    done_with(tag, None)
}

pub(super) fn done_telling(tag: &'static str, changed: impl IntoIterator<Item = Told>) -> Reply {
    Reply::Done {
        tag,
        changed: changed.into_iter().collect(),
        notice: None,
    }
}

pub(super) fn done_with(tag: &'static str, notice: Option<String>) -> Reply {
    Reply::Done {
        tag,
        changed: Vec::new(),
        notice,
    }
}
