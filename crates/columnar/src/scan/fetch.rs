//! Reading what slots need before they run: begun in the order of the slots, done wherever that may wait, for several slots at the same time.
//!
//! ```text
//!   begin_fetch(slot)             charges the slot's bytes
//!   SlotFetch ──► run, run_async  reads them and leaves them, or why not, for the slot
//! ```
//!
//! So what is charged does not depend on which answer comes first.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::stage::ScanStage;
use crate::error::ExecError;
use crate::lock::lock;
use crate::quota::Charge;
use crate::table::{Fetched, ReadError, StoredTable};

/// Reading for a slot failed. The slot has the error, and fails with it when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchFailed;

/// Reading for a slot that is charged and not done yet.
#[must_use = "a slot that nothing was fetched for reads when it runs"]
pub struct SlotFetch {
    /// Goes first: who finds the scan let go finds it given back.
    charge: Charge,
    stage: Arc<ScanStage>,
    slot: usize,
    morsel: usize,
    requests: usize,
}

impl ScanStage {
    /// Charges what `slot` needs to the query's quota; nothing if nothing has to be read, or enough is there without it.
    ///
    /// # Errors
    ///
    /// When the quota refuses it.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    pub fn begin_fetch(self: &Arc<Self>, slot: usize) -> Result<Option<SlotFetch>, FetchFailed> {
        let Some((stored, morsel)) = self.stored_morsel(slot) else {
            return Ok(None);
        };
        let mut charge = Charge::of(self.scan.quota.clone());
        if let Err(refused) = charge.grow(stored.bytes_to_fetch(morsel, &self.projection)) {
            self.keep(slot, Err(refused.into()));
            return Err(FetchFailed);
        }
        Ok(Some(SlotFetch {
            requests: stored.requests(morsel, &self.projection),
            stage: Arc::clone(self),
            slot,
            morsel,
            charge,
        }))
    }

    /// Keeps for `slot` what was read, unless nobody will run it any more.
    fn keep(&self, slot: usize, input: Result<Fetched, ExecError>) {
        if let Ok(fetched) = &input {
            lock(&self.charged).push(fetched.charge());
        }
        let mut place = lock(&self.inputs[slot]);
        // Ordering: Relaxed. See `give_up`.
        if !self.given_up.load(Ordering::Relaxed) {
            *place = Some(input);
        }
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
        self.charge.bytes()
    }

    /// About so many requests are made at the same time.
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

    /// Reads, and leaves for the slot what it has read or why it could not. This waits: it is not for CPU workers.
    ///
    /// # Errors
    ///
    /// When it could not.
    pub fn run(self) -> Result<(), FetchFailed> {
        let (stored, projection) = self.of();
        let read = stored.map(|stored| stored.fetch(self.morsel, projection));
        self.leave(read)
    }

    /// The same for who can await, where that [makes sense](Self::is_awaited). Dropped, it leaves nothing.
    ///
    /// # Errors
    ///
    /// When it could not.
    pub async fn run_async(self) -> Result<(), FetchFailed> {
        let read = {
            let (stored, projection) = self.of();
            match stored.and_then(|stored| stored.fetch_async(self.morsel, projection)) {
                Some(reading) => Some(reading.await),
                None => stored.map(|stored| stored.fetch(self.morsel, projection)),
            }
        };
        self.leave(read)
    }

    fn of(&self) -> (Option<&dyn StoredTable>, &[usize]) {
        (self.stage.scan.table.as_stored(), &self.stage.projection)
    }

    /// Nothing read is a table that was a stored one and is none any more: then the slot reads by itself.
    fn leave(self, read: Option<Result<Fetched, ReadError>>) -> Result<(), FetchFailed> {
        let Some(read) = read else { return Ok(()) };
        let outcome = read.as_ref().map(|_| ()).map_err(|_| FetchFailed);
        let charge = self.charge;
        let input = read
            .map(|fetched| fetched.charged(charge))
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
