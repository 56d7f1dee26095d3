//! Fetches for slots before they run. Fetches begin in slot order, several at a time. Each reserves
//! its bytes as it begins, so reservations do not depend on the order of answers.

use std::fmt;
use std::sync::Arc;

use super::stage::ScanStage;
use crate::error::ExecError;
use crate::memory::Reservation;
use crate::table::{Fetched, ReadError, StoredTable};

/// A fetch failed. Its slot fails with the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchFailed;

/// A reserved fetch for a slot.
#[must_use = "a slot that nothing was fetched for reads when it runs"]
pub struct SlotFetch {
    /// Declared before `stage`, so the memory is free once the last `Arc<ScanStage>` drops.
    reservation: Reservation,
    stage: Arc<ScanStage>,
    slot: usize,
    morsel: usize,
    requests: usize,
}

impl ScanStage {
    /// Whether `slot` runs without a fetch: earlier slots have enough rows, or its bytes are at hand.
    /// The slot takes the answer for its own and does not ask the system again.
    ///
    /// # Panics
    ///
    /// If there is no such slot.
    pub fn needs_no_fetch(&self, slot: usize) -> bool {
        let Some((stored, morsel)) = self.stored_morsel(slot) else {
            return true;
        };
        let is_at_hand = stored.is_at_hand(morsel, &self.plan.projection);
        if is_at_hand {
            self.keep(slot, Ok(Fetched::default()));
        }
        is_at_hand
    }

    /// Reserves the fetch of `slot`, which [needs one](Self::needs_no_fetch), from the query's pool.
    /// Returns `None` if earlier slots have enough rows by now.
    ///
    /// # Errors
    ///
    /// When the pool refuses the reservation.
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
    /// The slot of the fetch.
    #[must_use]
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The bytes to read.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.reservation.bytes()
    }

    /// About the number of concurrent requests.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Whether [`run_async`](Self::run_async) works. Otherwise [`run`](Self::run) blocks a thread.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        let (stored, projection) = self.of();
        stored
            .and_then(|stored| stored.fetch_async(self.morsel, projection))
            .is_some()
    }

    /// Reads, and leaves the bytes or the error for the slot. It blocks: CPU workers must not call
    /// it.
    ///
    /// # Errors
    ///
    /// When the read failed.
    pub fn run(self) -> Result<(), FetchFailed> {
        let (stored, projection) = self.of();
        let read = stored.map(|stored| stored.fetch(self.morsel, projection));
        self.leave(read)
    }

    /// [`run`](Self::run) in async code, for a fetch that [can be awaited](Self::is_awaited). It
    /// never blocks, and fails if the table can no longer be awaited. If dropped, it leaves
    /// nothing.
    ///
    /// # Errors
    ///
    /// When the read failed.
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

    /// `None`: the table is no longer stored, so the slot reads by itself.
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
