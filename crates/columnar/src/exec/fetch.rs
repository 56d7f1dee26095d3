//! Reading what slots need before they run: begun in slot order, done for several slots at a time.
//!
//! ```text
//!   begin_fetch(slot)             reserves the slot's bytes
//!   SlotFetch ──► run, run_async  reads them, and leaves them or the error for the slot
//! ```
//!
//! What is reserved therefore does not depend on which answer comes first.

use std::fmt;
use std::sync::Arc;

use super::stage::ScanStage;
use crate::error::ExecError;
use crate::memory::Reservation;
use crate::table::{Fetched, ReadError, StoredTable};

/// Reading for a slot failed. The slot has the error, and fails with it when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchFailed;

/// Reading for a slot that is reserved and not done yet.
#[must_use = "a slot that nothing was fetched for reads when it runs"]
pub struct SlotFetch {
    /// Declared first, so it is dropped before `stage`: once the last `Arc<ScanStage>` is gone, the
    /// memory is free again.
    reservation: Reservation,
    stage: Arc<ScanStage>,
    slot: usize,
    morsel: usize,
    requests: usize,
}

impl ScanStage {
    /// Reserves what `slot` needs to the query's pool; nothing if nothing has to be read, or enough
    /// is there without it.
    ///
    /// # Errors
    ///
    /// When the pool refuses it.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    pub fn begin_fetch(self: &Arc<Self>, slot: usize) -> Result<Option<SlotFetch>, FetchFailed> {
        let Some((stored, morsel)) = self.stored_morsel(slot) else {
            return Ok(None);
        };
        let mut reservation = Reservation::of(self.plan.scan.memory_pool.clone());
        if let Err(refused) = reservation.grow(stored.bytes_to_fetch(morsel, &self.plan.projection)) {
            self.keep(slot, Err(refused.into()));
            return Err(FetchFailed);
        }
        Ok(Some(SlotFetch {
            requests: stored.requests(morsel, &self.plan.projection),
            stage: Arc::clone(self),
            slot,
            morsel,
            reservation,
        }))
    }
}

impl SlotFetch {
    /// For which slot.
    #[must_use]
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The bytes that it reads.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.reservation.bytes()
    }

    /// The number of requests, about, that are made at the same time.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Whether it can be [awaited](Self::run_async). Else it holds a thread up: [`run`](Self::run).
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        let (stored, projection) = self.of();
        stored
            .and_then(|stored| stored.fetch_async(self.morsel, projection))
            .is_some()
    }

    /// Reads, and leaves for the slot what it has read or why it could not. This waits: it is not
    /// for CPU workers.
    ///
    /// # Errors
    ///
    /// When it could not.
    pub fn run(self) -> Result<(), FetchFailed> {
        let (stored, projection) = self.of();
        let read = stored.map(|stored| stored.fetch(self.morsel, projection));
        self.leave(read)
    }

    /// The same in async code, for a fetch that [can be awaited](Self::is_awaited). Dropped, it
    /// leaves nothing. It never blocks: a table that could be awaited and no longer can is a
    /// failure.
    ///
    /// # Errors
    ///
    /// When it could not.
    pub async fn run_async(self) -> Result<(), FetchFailed> {
        let read = {
            let (stored, projection) = self.of();
            match stored.map(|stored| stored.fetch_async(self.morsel, projection)) {
                Some(Some(reading)) => Some(reading.await),
                Some(None) => Some(Err(ReadError::new(
                    self.stage.plan.scan.table.name(),
                    "the table can be read only by a call that blocks, which async code must not make",
                ))),
                None => None,
            }
        };
        self.leave(read)
    }

    fn of(&self) -> (Option<&dyn StoredTable>, &[usize]) {
        (
            self.stage.plan.scan.table.as_stored(),
            &self.stage.plan.projection,
        )
    }

    /// Nothing read is a table that was a stored one and is none any more: then the slot reads by
    /// itself.
    fn leave(self, read: Option<Result<Fetched, ReadError>>) -> Result<(), FetchFailed> {
        let Some(read) = read else { return Ok(()) };
        let outcome = read.as_ref().map(|_| ()).map_err(|_| FetchFailed);
        let reservation = self.reservation;
        let input = read
            .map(|fetched| fetched.reserved(reservation))
            .map_err(ExecError::from);
        self.stage.keep(self.slot, input);
        outcome
    }
}

impl fmt::Debug for SlotFetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotFetch")
            .field("slot", &self.slot)
            .field("bytes", &self.bytes())
            .field("requests", &self.requests)
            .finish_non_exhaustive()
    }
}
