//! What ends a statement from outside: its client, or the server.

use tokio_util::sync::CancellationToken;

use crate::session::Session;
use crate::wire::SqlError;

/// What ends one statement of a session.
pub(crate) struct Ends {
    pub(crate) cancelled: CancellationToken,
    killed: CancellationToken,
}

impl Ends {
    /// Begins a statement of `session`.
    pub(crate) fn of(session: &Session) -> Self {
        Self {
            cancelled: session.cancel_token(),
            killed: session.shared.killed.clone(),
        }
    }

    /// Waits until the statement is to end, and says why.
    pub(crate) async fn why(&self) -> SqlError {
        tokio::select! {
            biased;
            () = self.killed.cancelled() => SqlError::shutting_down(),
            () = self.cancelled.cancelled() => SqlError::cancelled_by_user(),
        }
    }
}
