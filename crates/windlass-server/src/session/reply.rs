//! What an action of a session gives at once.

use crate::rows::Rows;

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
        notice: Option<String>,
    },
}

pub(super) fn done(tag: &'static str) -> Reply {
    done_with(tag, None)
}

pub(super) fn done_with(tag: &'static str, notice: Option<String>) -> Reply {
    Reply::Done { tag, notice }
}
