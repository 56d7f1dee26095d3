//! The phases of a scan.
//!
//! ```text
//!   Scanning ──► Merging ──► Ordering ──► Ended (given out)
//!      │            │           │
//!      └────────────┴───────────┴───────► Ended (given up, cancelled, failed)
//! ```
//!
//! A scan of rows ends right after scanning. The next phase is made, and the last one freed,
//! without the phase's lock, so slots and a caller that gives up never wait.

use std::sync::atomic::{AtomicUsize, Ordering as Atomic};
use std::sync::{Arc, Mutex};

use pipeline_exec::{StepError, lock};

use super::collected::Collected;
use super::compiled::{CompiledScan, OutputPlan};
use super::merging::Merging;
use super::ordering::Ordering;
use crate::error::ExecError;
use crate::group_by::SlotGroups;
use crate::table::Fetched;

pub(super) enum Phase {
    Scanning(Arc<Scanning>),
    Merging(Arc<Merging>),
    Ordering(Arc<Merging>, Arc<Ordering>),
    Ended(End),
}

#[derive(Clone, Debug)]
pub(super) enum End {
    GivenOut,
    GivenUp,
    Cancelled,
    Failed(String),
}

impl End {
    pub(super) fn error(&self) -> StepError {
        match self {
            Self::GivenOut => "the result was merged before".into(),
            Self::GivenUp => "the query was given up".into(),
            Self::Cancelled => "the job was cancelled".into(),
            Self::Failed(message) => message.clone().into(),
        }
    }
}

impl Phase {
    pub(super) fn new(plan: &CompiledScan) -> Self {
        let inputs = if plan.stored().is_some() {
            plan.slots.len()
        } else {
            0
        };
        Self::Scanning(Arc::new(Scanning {
            inputs: (0..inputs).map(|_| Mutex::new(None)).collect(),
            cells: plan.slots.iter().map(|_| Mutex::new(None)).collect(),
            complete: Mutex::default(),
            enough_before: AtomicUsize::new(usize::MAX),
        }))
    }

    pub(super) fn scanning(&self) -> Option<Arc<Scanning>> {
        match self {
            Self::Scanning(scanning) => Some(Arc::clone(scanning)),
            _ => None,
        }
    }

    /// The first end keeps its reason. The returned phase is to be [freed](Self::free) without the
    /// lock.
    pub(super) fn end(&mut self, end: End) -> Option<Self> {
        match self {
            Self::Ended(_) => None,
            _ => Some(std::mem::replace(self, Self::Ended(end))),
        }
    }

    /// Keeps memory in use by a running slot.
    pub(super) fn free(self, plan: &CompiledScan) {
        match self {
            Self::Scanning(scanning) => scanning.clear(),
            Self::Merging(merging) => merging.free(),
            Self::Ordering(merging, ordering) => {
                merging.free();
                ordering.free();
            }
            Self::Ended(_) => {}
        }
        if let OutputPlan::Groups(groups) = &plan.output {
            groups.group_by().hand_over().give_up();
        }
    }

    pub(super) fn take(&mut self) -> Result<Self, StepError> {
        match self {
            Self::Ended(end) => Err(end.error()),
            _ => Ok(std::mem::replace(self, Self::Ended(End::GivenOut))),
        }
    }
}

pub(super) type SlotOutcome = Result<Collected, ExecError>;

pub(super) struct Scanning {
    /// Fetched bytes per slot; empty if the table is not stored.
    inputs: Vec<Mutex<Option<Result<Fetched, ExecError>>>>,
    cells: Vec<Mutex<Option<SlotOutcome>>>,
    complete: Mutex<Complete>,
    /// This slot and later ones cannot add to the result.
    enough_before: AtomicUsize,
}

/// The ended slots before the first unfinished one.
#[derive(Debug, Default)]
struct Complete {
    slots: usize,
    rows: usize,
}

impl Scanning {
    pub(super) fn put_input(&self, slot: usize, input: Result<Fetched, ExecError>) {
        *lock(&self.inputs[slot]) = Some(input);
    }

    pub(super) fn take_input(&self, slot: usize) -> Result<Option<Fetched>, ExecError> {
        match self.inputs.get(slot) {
            Some(input) => lock(input).take().transpose(),
            None => Ok(None),
        }
    }

    pub(super) fn leave(&self, slot: usize, outcome: SlotOutcome) {
        *lock(&self.cells[slot]) = Some(outcome);
    }

    pub(super) fn is_enough_before(&self, slot: usize) -> bool {
        // Ordering: Relaxed, see `note_complete`.
        slot >= self.enough_before.load(Atomic::Relaxed)
    }

    pub(super) fn note_complete(&self, needed: usize) {
        let mut complete = lock(&self.complete);
        while complete.rows < needed && complete.slots < self.cells.len() {
            let rows = match &*lock(&self.cells[complete.slots]) {
                Some(Ok(collected)) => collected.rows(),
                Some(Err(_)) => needed,
                None => return,
            };
            complete.slots += 1;
            complete.rows = complete.rows.saturating_add(rows);
        }
        // Ordering: Relaxed. A hint that spares work: a slot that misses it runs, and its rows are
        // not needed. What the cells hold is published by their locks.
        self.enough_before.store(complete.slots, Atomic::Relaxed);
    }

    /// In the order of the input, or the first error in the order in which slots ran.
    pub(super) fn take_cells(&self, plan: &CompiledScan) -> Result<Vec<Collected>, StepError> {
        let mut slots = Vec::with_capacity(self.cells.len());
        let mut rows = 0usize;
        for cell in &self.cells {
            if plan.stops_early() && rows >= plan.scan.rows_needed() {
                break;
            }
            // Empty cells are only behind the last needed row.
            let outcome = lock(cell).take();
            let collected = outcome.ok_or("a part of the scan has not run, or was merged before")??;
            rows = rows.saturating_add(collected.rows());
            slots.push(collected);
        }
        let mut placed: Vec<_> = plan.slots.iter().zip(slots).collect();
        placed.sort_by_key(|(slot, _)| (slot.morsel, slot.rows.start));
        Ok(placed.into_iter().map(|(_, collected)| collected).collect())
    }

    pub(super) fn merging(&self, plan: &CompiledScan) -> Result<Merging, StepError> {
        let cells = self.take_cells(plan)?;
        let mut slots: Vec<SlotGroups> = cells.into_iter().filter_map(Collected::into_groups).collect();
        // Shared tables come last: their sums need no order.
        let group_by = plan.groups().group_by();
        slots.extend(group_by.hand_over().take_all());
        Ok(match plan.groups().are_apart() {
            true => Merging::of_slots(slots),
            false => Merging::new(slots),
        })
    }

    fn clear(&self) {
        for input in &self.inputs {
            let input = lock(input).take();
            drop(input);
        }
        for cell in &self.cells {
            let cell = lock(cell).take();
            drop(cell);
        }
    }
}
