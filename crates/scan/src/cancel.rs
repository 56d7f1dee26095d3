//! A flag that ends a scan early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends a scan from any thread, or from a signal's handler.
///
/// Workers look at it between tasks and between blocks of a file. What was found so far is out when
/// the scan returns, in whole lines.
///
/// ```
/// let cancel = scan::CancelToken::default();
/// let elsewhere = cancel.clone();
/// elsewhere.cancel();
/// assert!(cancel.is_cancelled());
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks the scan to end.
    pub fn cancel(&self) {
        // Ordering: Relaxed. Nothing but the flag is handed over.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has been asked.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // Ordering: Relaxed. As above; a worker that sees it late ends late.
        self.0.load(Ordering::Relaxed)
    }
}
